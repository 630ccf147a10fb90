"""`nki.meta`."""

from .. import tensor
