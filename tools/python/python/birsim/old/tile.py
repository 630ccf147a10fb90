"""Tensors of the 0.1 style: storage seen through index expressions.

A `Tile` is a storage tensor and one affine form per storage dimension over the axes of the tile. Indexing composes forms; only
when an instruction takes the tile do the forms become an access pattern (partition pair first, then steps and counts). Storage
of a tile with block dimensions is one tensor of P partitions: the blocks lie one after another in the free dimension.

The result of a value-returning call is a `Tile` without storage until it is used or assigned, so that `out[...] = call(..)`
writes into `out` directly.
"""

from __future__ import annotations

import numbers
from typing import Any, Callable

import numpy as np

from .. import _native
from ..nki import language as nl
from ..nki.dtype import as_dtype
from . import state
from .index import IndexExpr, MGrid, broadcast_shapes
from .masks import Mask, boxes

__all__ = ["ParDim", "Root", "Tile", "allocate", "as_tile", "flush"]


class ParDim(int):
    """A size that is the partition dimension of its shape."""


class Root:
    """Storage: a tensor of the machine and how its dimensions lie in it."""

    __slots__ = ("base", "buffer", "dtype", "mixed", "par", "pitch", "shape", "strides")

    def __init__(self, base: Any, shape: tuple[int, ...], par: int | None, dtype: Any, buffer: Any, strides: Any = None) -> None:
        self.base, self.shape, self.par, self.dtype, self.buffer = base, shape, par, dtype, buffer
        # PSUM that holds anything but zeros and matrix products: such values must be added to, not accumulated onto.
        self.mixed = False
        if strides is not None:
            self.pitch = strides[par] if par is not None else 1
            self.strides = [0 if d == par else s for d, s in enumerate(strides)]
            return
        strides, step = [0] * len(shape), 1
        for d in reversed(range(len(shape))):
            if d != par:
                strides[d] = step
                step *= shape[d]
        self.pitch = step
        self.strides = strides


def _identity(shape: tuple[int, ...]) -> tuple[IndexExpr, ...]:
    return tuple(IndexExpr(shape, tuple(int(j == k) for j in range(len(shape)))) for k in range(len(shape)))


def is_hbm(buffer: Any) -> bool:
    """The buffer is off chip."""
    return buffer in (nl.hbm, nl.shared_hbm, nl.private_hbm)


class Tile:
    """A view of storage, or the pending result of a call."""

    __slots__ = ("_forms", "_place", "_root", "_run", "buffer", "dtype", "rows", "shape", "where")
    __array_ufunc__ = None

    def __init__(self, root: Root | None, forms: tuple[IndexExpr, ...], shape: tuple[int, ...], rows: Any = None) -> None:
        self._root, self._forms, self.shape, self.rows = root, forms, shape, rows
        self._run: Callable[[Tile], None] | None = None
        self._place = 0
        # Of a pending result: the part of it that its call writes, as a mask.
        self.where: Any = None
        if root is not None:
            self.dtype, self.buffer = root.dtype, root.buffer

    @classmethod
    def whole(cls, root: Root) -> "Tile":
        """All of a storage tensor."""
        return cls(root, _identity(root.shape), root.shape)

    @classmethod
    def pending(cls, shape: tuple[int, ...], dtype: Any, buffer: Any, run: Callable[["Tile"], None], where: Any = None) -> "Tile":
        """The result of a call that `run` writes, where the mask holds, into the tile it is given, at first use."""
        flush()
        tile = cls(None, (), tuple(int(n) for n in shape))
        tile.dtype, tile.buffer, tile._run, tile.where = as_dtype(dtype), buffer, run, where
        tile._place = _native.mark()
        state.current().pending = tile
        if state.eager():
            flush()
        return tile

    # ---- storage

    @property
    def root(self) -> Root:
        """The storage; a pending result gets its own now."""
        if self._root is None:
            self._settle(None)
        return self._root  # type: ignore[return-value]

    @property
    def forms(self) -> tuple[IndexExpr, ...]:
        """One index expression per storage dimension."""
        if self._root is None:
            self._settle(None)
        return self._forms

    def _settle(self, into: "Tile | None") -> None:
        """Runs the pending call, into storage of its own or into `into`."""
        run, self._run = self._run, None
        st = state.current()
        if st.pending is self:
            st.pending = None
        else:
            flush()
        before = _native.pin(self._place)
        try:
            self._write(into, run)
        finally:
            _native.pin(before)

    def _write(self, into: "Tile | None", run: Callable[["Tile"], None] | None) -> None:
        if into is None:
            own = allocate(self.shape, self.dtype, self.buffer)
            self._root, self._forms = own._root, own._forms
        else:
            self._root, self._forms = into.root, into.forms
            self.shape, self.rows, self.dtype, self.buffer = into.shape, into.rows, into.dtype, into.buffer
        if run is not None:
            run(self)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def on_chip(self) -> bool:
        """The tile lies in SBUF or PSUM."""
        return not is_hbm(self.buffer)

    @property
    def name(self) -> str:
        """The name of the storage."""
        return str(self.root.base.name)

    def partition_axis(self) -> int | None:
        """The axis along which the partition changes; None when the tile lies in one partition."""
        par = self.root.par
        if par is None:
            return None
        form = self.forms[par]
        axes = [k for k, c in enumerate(form.coefs) if c and form.shape[k] > 1] or [k for k, c in enumerate(form.coefs) if c][:1]
        if len(axes) > 1:
            raise ValueError(f"the partition index {self.forms[par]!r} depends on {len(axes)} axes; it can depend on one")
        if axes:
            return axes[0]
        return None

    def narrowed(self, box: Any) -> "Tile":
        """The part of the tile inside of `box`."""
        if all(first == 0 and end == n for (first, end), n in zip(box, self.shape)):
            return self
        rows = self.rows
        if rows is not None:
            d, index = rows
            rows = (d, index.narrowed(box[: index.ndim]) if index.shape[0] > 1 else index)
        return Tile(self.root, tuple(f.narrowed(box) for f in self.forms), tuple(e - f for f, e in box), rows)

    def normal(self) -> "Tile":
        """The same elements with the partition as axis 0 and at least one free axis."""
        if not self.on_chip:
            return self
        k = self.partition_axis()
        shape = self.shape
        if k is None:
            # One partition: axis 0 is the partition already when it has size 1.
            if len(shape) >= 2 and shape[0] == 1:
                return self
            order: list[int | None] = [None, *range(len(shape))]
        else:
            order = [k, *(j for j in range(len(shape)) if j != k and (j > k or shape[j] != 1))]
        if len(order) == 1:
            order.append(None)
        if order == list(range(len(shape))):
            return self
        new = tuple(1 if j is None else shape[j] for j in order)
        forms = tuple(IndexExpr(new, tuple(0 if j is None else f.coefs[j] for j in order), f.const) for f in self.forms)
        return Tile(self.root, forms, new, self.rows)

    def over(self, shape: tuple[int, ...]) -> "Tile":
        """The tile broadcast to `shape` by steps of zero; the partitions must be there already."""
        if shape == self.shape:
            return self
        return Tile(self.root, tuple(f.over(shape) for f in self.forms), shape, self.rows)

    # ---- access patterns

    def nki(self) -> Any:
        """The view of the machine's tensor that the forms describe."""
        flush()
        root, forms = self.root, self.forms
        for d, f in enumerate(forms):
            low, high = f.bounds()
            if low < 0 or high >= root.shape[d]:
                raise IndexError(
                    f"index {low if low < 0 else high} of dimension {d} is outside of {root.base.name or 'the tensor'} of shape {tuple(root.shape)}"
                )
        steps = [0] * len(self.shape)
        offset = 0
        for d, f in enumerate(forms):
            if d != root.par:
                offset += f.const * root.strides[d]
                for k, c in enumerate(f.coefs):
                    steps[k] += c * root.strides[d]
        if root.par is None:
            return self._hbm_view(root, steps, offset)
        par = forms[root.par]
        k = self.partition_axis()
        offset += par.const * root.pitch
        if k is None:
            pattern = [[root.pitch, 1]]
        else:
            if steps[k] and self.shape[k] > 1:
                raise ValueError(f"axis {k} moves the partition and the free position at once; one access pattern cannot do both")
            pattern = [[root.pitch * par.coefs[k], self.shape[k]]]
        free = [[s, n] for j, (s, n) in enumerate(zip(steps, self.shape)) if j != k]
        if k is None and free and free[0][1] == 1:
            free = free[1:]
        return root.base.ap(pattern=pattern + _few(free or [[1, 1]], 4), offset=offset)

    def out(self) -> Any:
        """`nki` for a destination of anything but a matrix product."""
        self.root.mixed = True
        return self.nki()

    def _hbm_view(self, root: Root, steps: list[int], offset: int) -> Any:
        pattern = [[s, n] for s, n in zip(steps, self.shape)] or [[1, 1]]
        if self.rows is None:
            return root.base.ap(pattern=_few(pattern, 5), offset=offset)
        d, index = self.rows
        table = root.base
        if d:
            # Only the outermost dimension can be looked up: the dimensions before it become rows of one table.
            lead = int(np.prod(root.shape[: d + 1]))
            table = root.base.reshape((lead, *root.shape[d + 1 :]))
        where = index.normal()
        if where.shape[0] == 1 and self.shape[0] > 1:
            return table.ap(pattern=pattern, offset=offset, scalar_offset=where.nki(), indirect_dim=0)
        pattern[0][0] = root.strides[d]
        return table.ap(pattern=pattern, offset=offset, vector_offset=where.nki(), indirect_dim=0)

    # ---- indexing

    def _where(self, mask: Any) -> "Tile":
        """The part of the tile in which a mask holds, as an operand: `t[i < n]`."""
        parts = list(boxes(mask, self.shape))
        if len(parts) != 1:
            raise IndexError(f"a mask as an index must leave one box of the tile, not {len(parts)}")
        if any(first for first, _ in parts[0]):
            raise IndexError("a mask as an index must leave the beginning of every axis")
        return self.narrowed(parts[0])

    def __getitem__(self, key: Any) -> "Tile":
        if isinstance(key, (Mask, bool)):
            return self._where(key)
        key = list(key) if isinstance(key, tuple) else [key]
        key = [a for k in key for a in (list(k) if isinstance(k, MGrid) else [k])]
        given = sum(k is not None and k is not Ellipsis for k in key)
        dots = [n for n, k in enumerate(key) if k is Ellipsis]
        if len(dots) > 1:
            raise IndexError("an index can have one ellipsis")
        if given > len(self.shape):
            raise IndexError(f"{given} indices for a tensor of shape {self.shape}")
        fill = [slice(None)] * (len(self.shape) - given)
        at = dots[0] if dots else len(key)
        key = key[:at] + fill + key[at + len(dots) :]
        return self._compose(key)

    def _compose(self, key: list[Any]) -> "Tile":
        """The view for a full key: slices and None give axes of their own, index expressions share theirs."""
        advanced = [n for n, k in enumerate(key) if isinstance(k, (IndexExpr, Tile))]
        shapes = [key[n].shape for n in advanced]
        common = broadcast_shapes(*shapes)
        together = not advanced or all(not isinstance(k, slice) and k is not None for k in key[advanced[0] : advanced[-1] + 1])
        start = advanced[0] if advanced and together else 0
        # Axes of the result, in order: (position in the key) for a slice or None; the common axes at their place.
        own: list[tuple[int, int]] = []
        before = 0
        source = 0
        axes: dict[int, tuple[int, int, int]] = {}
        for n, k in enumerate(key):
            if k is None:
                own.append((n, 1))
            elif isinstance(k, slice):
                size = self.shape[source]
                first, end, step = _plain_slice(k, size)
                count = max(0, -(-(end - first) // step))
                if count == 0:
                    raise IndexError(f"the slice {k.start}:{k.stop} of dimension {source} of size {size} is empty")
                axes[n] = (first, step, count)
                own.append((n, count))
            if k is not None:
                source += 1
            if n < start:
                before = len(own)
        shape = tuple(c for _, c in own[:before]) + common + tuple(c for _, c in own[before:])
        place = {n: (j if j < before else j + len(common)) for j, (n, _) in enumerate(own)}
        parts: list[IndexExpr] = []
        rows = None
        source = 0
        for n, k in enumerate(key):
            if k is None:
                continue
            if isinstance(k, slice):
                first, step, _ = axes[n]
                parts.append(IndexExpr(shape, tuple(step if j == place[n] else 0 for j in range(len(shape))), first))
            elif isinstance(k, IndexExpr):
                wide = k.over(common)
                coefs = (0,) * before + wide.coefs + (0,) * (len(shape) - before - len(common))
                parts.append(IndexExpr(shape, coefs, k.const))
            elif isinstance(k, Tile):
                if rows is not None:
                    raise TypeError("one dimension of an access can be looked up in a tile")
                rows = (source, k)
                parts.append(IndexExpr.constant(0, shape))
            elif isinstance(k, numbers.Integral):
                i = int(k)
                parts.append(IndexExpr.constant(i + self.shape[source] if i < 0 else i, shape))
            else:
                raise TypeError(
                    f"{type(k).__name__} cannot index a tensor: use integers, slices, nl.ds, nl.arange, nl.mgrid or an SBUF tile of row numbers"
                )
            source += 1
        forms = []
        for f in self.forms:
            total = IndexExpr.constant(f.const, shape)
            for c, part in zip(f.coefs, parts):
                if c:
                    total = total + part * c
            forms.append(total.over(shape))
        if rows is None:
            return Tile(self.root, tuple(forms), shape, self.rows)
        d = next(d for d, f in enumerate(self.forms) if f.coefs[rows[0]])
        return Tile(self.root, tuple(forms), shape, (d, rows[1]))

    def __setitem__(self, key: Any, value: Any) -> None:
        from .emit import assign

        target = self[key]
        if isinstance(value, Tile) and value._root is not None and value._root is target._root and value.shape == target.shape:
            if all(a.coefs == b.coefs and a.const == b.const for a, b in zip(value.forms, target.forms)):
                return  # what `t[key] += x` leaves to be assigned
        assign(target, value)

    def __iter__(self) -> Any:
        raise TypeError("a tensor is not iterable; loop over range(t.shape[0]) and index it")

    def __len__(self) -> int:
        return self.shape[0]

    # ---- methods of 0.1

    def reshape(self, shape: Any) -> "Tile":
        """The same storage with another shape; only a whole tensor has one."""
        root = self.root
        shape = tuple(int(n) for n in (shape if isinstance(shape, (tuple, list)) else (shape,)))
        if -1 in shape:
            known = -int(np.prod(shape))
            shape = tuple(int(np.prod(self.shape)) // known if n == -1 else n for n in shape)
        if int(np.prod(shape)) != int(np.prod(self.shape)):
            raise ValueError(
                f"a tensor of shape {self.shape} cannot become {shape}: {int(np.prod(self.shape))} and {int(np.prod(shape))} elements"
            )
        if any(f.const or f.coefs != g.coefs for f, g in zip(self.forms, _identity(root.shape))):
            raise ValueError("only a whole tensor can be reshaped, not a part of one")
        if root.par is None:
            return Tile.whole(Root(root.base, shape, None, root.dtype, root.buffer))
        parts = root.shape[root.par]
        if root.par or shape[0] != parts:
            raise ValueError(f"reshape of an on-chip tensor must keep the {parts} partitions as dimension 0")
        return Tile.whole(Root(root.base, shape, 0, root.dtype, root.buffer))

    def view(self, dtype: Any) -> "Tile":
        """The bits of a whole tensor as another element type."""
        root, dtype = self.root, as_dtype(dtype)
        if self.shape != root.shape or any(f.const for f in self.forms):
            raise ValueError("only a whole tensor can be viewed as another type, not a part of one")
        if root.dtype == dtype:
            return self
        if as_dtype(root.base.dtype) != root.dtype:
            raise ValueError(f"the bits of a {root.dtype} tensor on chip are not kept in this style: set NKI_PRECISE_FP=1 to view them as {dtype}")
        last = root.shape[-1] * root.dtype.itemsize
        if last % dtype.itemsize:
            raise ValueError(f"the last dimension has {last} bytes, which is no multiple of the {dtype.itemsize} of {dtype}")
        return Tile.whole(Root(root.base.view(dtype), (*root.shape[:-1], last // dtype.itemsize), root.par, dtype, root.buffer))

    def broadcast_to(self, shape: Any) -> "Tile":
        """The tile repeated to `shape`, as `nl.broadcast_to`."""
        from .language.shapes import broadcast_to

        return broadcast_to(self, shape=shape)

    def astype(self, dtype: Any) -> "Tile":
        """A copy with another element type."""
        from .language.memory import copy

        return copy(self, dtype=dtype)

    def __repr__(self) -> str:
        return f"tensor {self.shape} {self.dtype} in {self.buffer}\n{self.numpy()!r}"

    def numpy(self) -> Any:
        """The values now: runs what is pending."""
        flush()
        tile = self
        if self.on_chip:
            tile = self.normal()
        values = np.asarray(tile.nki())
        return values.reshape(self.shape)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        values = self.numpy()
        return values if dtype is None else values.astype(dtype)

    # ---- operators

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        if not self.on_chip:
            # `if tensor:` asks whether an optional argument was given.
            return True
        raise TypeError("a tile has no truth value; compare with None by `is`, or read one element with int(np.asarray(t))")


def _operator(name: str, swap: bool = False) -> Callable[[Tile, Any], Any]:
    def method(self: Tile, other: Any) -> Any:
        from . import language

        if not isinstance(other, (Tile, numbers.Number, np.generic)):
            return NotImplemented
        f = getattr(language, name)
        return f(other, self) if swap else f(self, other)

    method.__name__ = name
    return method


def _in_place(name: str) -> Callable[[Tile, Any], Tile]:
    def method(self: Tile, other: Any) -> Tile:
        from .emit import update

        if not isinstance(other, (Tile, numbers.Number, np.generic)):
            return NotImplemented
        update(self, name, other)
        return self

    method.__name__ = name
    return method


for _method, _name in (
    ("add", "add"),
    ("sub", "subtract"),
    ("mul", "multiply"),
    ("truediv", "divide"),
    ("pow", "power"),
    ("and", "bitwise_and"),
    ("or", "bitwise_or"),
    ("xor", "bitwise_xor"),
    ("lshift", "left_shift"),
    ("rshift", "right_shift"),
):
    setattr(Tile, f"__{_method}__", _operator(_name))
    setattr(Tile, f"__r{_method}__", _operator(_name, swap=True))
    setattr(Tile, f"__i{_method}__", _in_place(_name))
for _method, _name in (("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal")):
    setattr(Tile, f"__{_method}__", _operator(_name))


def _unary(name: str) -> Callable[[Tile], Any]:
    def method(self: Tile) -> Any:
        from . import language

        return getattr(language, name)(self)

    return method


setattr(Tile, "__neg__", _unary("negative"))
setattr(Tile, "__invert__", _unary("invert"))
setattr(Tile, "__abs__", _unary("abs"))


def _plain_slice(s: slice, size: int) -> tuple[int, int, int]:
    """(first, end, step) of a slice, without clipping: what is outside is an error when it is used."""
    step = 1 if s.step is None else int(s.step)
    if step < 1:
        raise IndexError(f"slice step {step}: steps of a tensor slice are at least 1")
    first = 0 if s.start is None else int(s.start)
    end = size if s.stop is None else int(s.stop)
    return (first + size if first < 0 else first), (end + size if end < 0 else end), step


def _few(pattern: list[list[int]], limit: int) -> list[list[int]]:
    """The same walk with at most `limit` dimensions, where neighbours can be joined."""
    if len(pattern) <= limit:
        return pattern
    out: list[list[int]] = []
    for step, count in pattern:
        if count == 1:
            continue
        if out and out[-1][0] == step * count:
            out[-1] = [step, out[-1][1] * count]
        else:
            out.append([step, count])
    return out or [[1, 1]]


def flush() -> None:
    """Runs the pending call, if there is one."""
    tile = state.current().pending
    if tile is not None:
        tile._settle(None)


def allocate(shape: Any, dtype: Any, buffer: Any = None, name: str = "") -> Tile:
    """A new tensor. A `ParDim` of the shape is its partition dimension; without one the first dimension is."""
    buffer = nl.sbuf if buffer is None else getattr(buffer, "region", buffer)
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    par = next((k for k, n in enumerate(sizes) if isinstance(n, ParDim)), 0)
    shape = tuple(int(n) for n in sizes)
    dtype = as_dtype(dtype)
    if is_hbm(buffer):
        return state.current().hbm(shape, dtype, buffer, name)
    free = int(np.prod([n for k, n in enumerate(shape) if k != par])) if len(shape) > 1 else 1
    stored = "float32" if dtype in ("bfloat16", "float16") and not state.current().precise else dtype
    base = nl.ndarray((shape[par] if shape else 1, free), dtype=stored, buffer=buffer, name=name)
    return Tile.whole(Root(base, shape, par, dtype, buffer))


def as_tile(tensor: Any) -> Tile:
    """The tile of a tensor of the machine, such as an argument of the kernel."""
    shape = tuple(tensor.shape)
    par = None if is_hbm(tensor.buffer) else 0
    return Tile.whole(Root(tensor, shape, par, as_dtype(tensor.dtype), tensor.buffer, [step for step, _ in tensor.get_pattern()]))
