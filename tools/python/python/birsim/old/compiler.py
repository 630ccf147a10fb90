"""`neuronxcc.nki.compiler`: allocation hints, which a simulator without a schedule accepts and needs not."""

from ..nki.compiler import enable_stack_allocator, force_auto_alloc, no_reorder, psum, sbuf, skip_middle_end_transformations

__all__ = ["enable_stack_allocator", "force_auto_alloc", "no_reorder", "psum", "sbuf", "skip_middle_end_transformations"]
