"""`assert_close`: compares arrays and says where and how they differ."""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np

__all__ = ["Comparison", "assert_close", "compare"]

_BARS = " ▁▂▃▄▅▆▇█"


class Comparison:
    """The differences of one pair of arrays."""

    def __init__(self, got: np.ndarray, want: np.ndarray, rtol: float, atol: float, equal_nan: bool) -> None:
        self.rtol, self.atol = rtol, atol
        self.size = want.size
        with np.errstate(all="ignore"):
            exact = got == want
            same_nan = np.isnan(got) & np.isnan(want) if equal_nan else np.zeros(want.shape, bool)
            self.abs = np.where(exact | same_nan, 0.0, np.abs(got - want))
            # A NaN or an infinity on one side only is as wrong as can be.
            self.abs = np.where(np.isnan(self.abs), np.inf, self.abs)
            magnitude = np.abs(want)
            self.rel = np.where(self.abs == 0, 0.0, np.where(magnitude > 0, self.abs / magnitude, np.inf))
            self.rel = np.where(np.isnan(self.rel), np.inf, self.rel)
            self.wrong = ~(exact | same_nan | (self.abs <= atol + rtol * np.where(np.isfinite(magnitude), magnitude, 0)))
        self.count = int(self.wrong.sum())
        self.got, self.want = got, want

    @property
    def ok(self) -> bool:
        """Every element lies within the tolerance."""
        return self.count == 0

    def _at(self, flat: int) -> str:
        index = tuple(int(i) for i in np.unravel_index(flat, self.want.shape))
        place = f"[{', '.join(map(str, index))}]" if index else "the value"
        return (
            f"{place}: got {_show(self.got[index])}, want {_show(self.want[index])}, abs {self.abs[index]:.3g}, rel {self.rel[index]:.3g}"
        )

    def report(self) -> str:
        """What differs: how many, the first and the worst, the region, and a histogram of the errors."""
        wrong = self.wrong
        worst = int(np.argmax(np.where(wrong, self.abs, -1.0)))
        lines = [
            f"{self.count} of {self.size} elements differ ({100 * self.count / max(self.size, 1):.3g} %), rtol {self.rtol:g}, atol {self.atol:g}",
            f"  max abs {self.abs.max(initial=0):.4g}, max rel {self.rel.max(initial=0):.4g}",
            f"  first {self._at(int(np.argmax(wrong)))}",
            f"  worst {self._at(worst)}",
        ]
        if wrong.ndim:
            lines.append(f"  region {_region(wrong)}")
        nans = int((np.isnan(self.got) & wrong).sum())
        if nans:
            lines.append(f"  {nans} of the wrong elements are NaN: memory that was never written, or an invalid operation")
        lines.append("  relative error of all elements:")
        lines.extend(f"    {line}" for line in _histogram(self.rel))
        return "\n".join(lines)


def _show(value: Any) -> str:
    return f"{value:.7g}" if isinstance(value, (float, np.floating)) else str(value)


def _region(wrong: np.ndarray) -> str:
    """The smallest box with all wrong elements, and how full it is."""
    parts, box = [], 1
    for axis in range(wrong.ndim):
        hit = np.flatnonzero(wrong.any(axis=tuple(a for a in range(wrong.ndim) if a != axis)))
        first, last = int(hit[0]), int(hit[-1]) + 1
        steps = np.diff(hit)
        step = int(steps[0]) if len(steps) and (steps == steps[0]).all() and steps[0] > 1 else 1
        whole = first == 0 and last == wrong.shape[axis] and step == 1
        parts.append(":" if whole else f"{first}:{last}" + (f":{step}" if step > 1 else ""))
        box *= len(range(first, last, step))
    return f"[{', '.join(parts)}], {100 * int(wrong.sum()) / box:.3g} % of it"


def _histogram(rel: np.ndarray) -> list[str]:
    """Counts by decade of the relative error."""
    edges = [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0]
    labels = ["equal", "< 1e-7", *(f"< {e:.0e}".replace("e-0", "e-") for e in edges[1:-1]), "< 1", ">= 1", "inf"]
    flat = rel.ravel()
    counts = [int((flat == 0).sum())]
    below = 0.0
    for e in edges:
        counts.append(int(((flat >= below) & (flat < e) & (flat > 0)).sum()))
        below = e
    counts.append(int(((flat >= 1.0) & np.isfinite(flat)).sum()))
    counts.append(int(np.isinf(flat).sum()))
    top = max(counts) or 1
    return [f"{label:>7} {count:>10} {_BARS[min(8, -(-8 * count // top))]}" for label, count in zip(labels, counts) if count]


def _array(value: Any) -> np.ndarray:
    detach = getattr(value, "detach", None)
    if detach is not None:
        value = detach().cpu()
        if str(value.dtype) in ("torch.bfloat16", "torch.float8_e4m3fn", "torch.float8_e5m2"):
            value = value.float()
        value = value.numpy()
    return np.asarray(value)


def _numbers(a: np.ndarray) -> np.ndarray:
    """The values as float64; packed elements as their bits."""
    if str(a.dtype).endswith("_x4"):
        a = a.view(np.uint16 if a.dtype.itemsize == 2 else np.uint32)
    if a.dtype.kind == "c":
        raise TypeError("complex arrays are not compared")
    return a.astype(np.float64)


def _pairs(got: Any, want: Any, name: str) -> Iterator[tuple[Any, Any, str]]:
    if isinstance(want, dict):
        if not isinstance(got, dict) or got.keys() != want.keys():
            raise AssertionError(
                f"{name}: got the keys {sorted(got) if isinstance(got, dict) else type(got).__name__}, want {sorted(want)}"
            )
        for key in want:
            yield from _pairs(got[key], want[key], f"{name}[{key!r}]")
    elif isinstance(want, (list, tuple)) and any(hasattr(w, "shape") or isinstance(w, (list, tuple)) for w in want):
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            raise AssertionError(f"{name}: got {len(got) if isinstance(got, (list, tuple)) else 'one'} result(s), want {len(want)}")
        for k, (g, w) in enumerate(zip(got, want)):
            yield from _pairs(g, w, f"{name}[{k}]")
    else:
        yield got, want, name


def compare(got: Any, want: Any, *, rtol: float = 1e-2, atol: float = 1e-5, equal_nan: bool = False) -> Comparison:
    """The differences of two arrays of one shape. An element is right when `|got - want| <= atol + rtol * |want|`."""
    return Comparison(_numbers(_array(got)), _numbers(_array(want)), rtol, atol, equal_nan)


def assert_close(got: Any, want: Any, *, rtol: float = 1e-2, atol: float = 1e-5, equal_nan: bool = False, name: str = "result") -> None:
    """Raises AssertionError unless every `|got - want| <= atol + rtol * |want|`.

    Takes arrays of NumPy, ml_dtypes or torch, and lists, tuples and dicts of them. The message names how many elements differ, the
    largest absolute and relative error, the first and the worst element, the region, and a histogram of the errors.
    """
    __tracebackhide__ = True
    failures = []
    for g, w, label in _pairs(got, want, name):
        a, b = _array(g), _array(w)
        if a.shape != b.shape:
            failures.append(f"{label}: got shape {a.shape}, want {b.shape}")
            continue
        found = compare(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
        if not found.ok:
            failures.append(f"{label}: {found.report()}")
    if failures:
        raise AssertionError("\n".join(failures))
