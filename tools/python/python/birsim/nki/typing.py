"""`nki.typing`: annotations of kernels."""

from __future__ import annotations

from typing import Any

__all__ = ["mutable", "mutable_tensor", "scalar", "tensor"]


class _Annotation:
    """A name for annotations; brackets declare a shape."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getitem__(self, shape: Any) -> "_Annotation":
        return self

    def __call__(self, *_args: Any, **_kwargs: Any) -> "_Annotation":
        return self

    def __or__(self, other: Any) -> Any:
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return f"nki.typing.{self._name}"


tensor, mutable_tensor, mutable, scalar = map(_Annotation, ("tensor", "mutable_tensor", "mutable", "scalar"))
