"""`NKIObject`: the base class of kernels' configuration classes."""

from __future__ import annotations

import dataclasses
from typing import Any

__all__ = ["NKIObject"]


def _is_field(name: str, value: Any) -> bool:
    plain = not callable(value) and not hasattr(value, "__get__") and not isinstance(value, (list, dict, set))
    return not name.startswith("_") and plain


class _Meta(type):
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        fields = getattr(cls, "__dataclass_fields__", None)
        if fields is not None and _dataclass_init(cls):
            given = list(fields)[: len(args)]
            for name, field in fields.items():
                missing = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
                if field.init and missing and name not in kwargs and name not in given:
                    kwargs[name] = None
        return super().__call__(*args, **kwargs)


def _dataclass_init(cls: type) -> bool:
    """`@dataclass` wrote the `__init__`."""
    for base in cls.__mro__:
        if "__init__" in base.__dict__:
            return "__dataclass_fields__" in base.__dict__ and getattr(base.__dict__["__init__"], "__qualname__", "").endswith("__create_fn__.<locals>.__init__") or (
                "__dataclass_fields__" in base.__dict__ and base.__dict__["__init__"].__code__.co_filename == "<string>"
            )
    return False


class NKIObject(metaclass=_Meta):
    """Takes its annotated attributes as arguments; what is not given is its class attribute or None."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        notes = cls.__dict__.get("__annotations__")
        if notes is None:
            notes = {}
            try:
                notes = dict(cls.__annotations__) if "__annotations__" in cls.__dict__ else {}
            except AttributeError:
                pass
            cls.__annotations__ = notes
        for name, value in list(cls.__dict__.items()):
            if name not in notes and _is_field(name, value):
                notes[name] = Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names: list[str] = []
        for base in reversed(type(self).__mro__):
            names += [n for n in base.__dict__.get("__annotations__", {}) if n not in names]
        if len(args) > len(names):
            raise TypeError(f"{type(self).__name__} takes {len(names)} arguments, not {len(args)}")
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"{type(self).__name__} has no attribute {name!r}")
            given[name] = value
        for name in names:
            object.__setattr__(self, name, given.get(name, getattr(type(self), name, None)))
        after = getattr(self, "__post_init__", None)
        if after is not None:
            after()
