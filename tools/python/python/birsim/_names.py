"""Errors about names, with the nearest one that exists."""

from __future__ import annotations

from typing import Iterable

__all__ = ["nearest", "unexpected"]


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean X?`, or nothing when no name is near."""
    import difflib

    near = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""


def unexpected(function: str, key: str, known: Iterable[str]) -> TypeError:
    """The error of a keyword that a function does not take."""
    return TypeError(f"{function}() got an unexpected keyword argument '{key}'{nearest(key, known)}")
