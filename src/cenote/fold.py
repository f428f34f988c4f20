"""The generic ``pool``: any binary function folded over windows, on whole arrays."""

from __future__ import annotations

import cmath
import contextlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import primitives
from .arguments import Ints, Padding
from .arrays import Array, as_array, is_bfloat16, native
from .errors import BadType, BadValue, kind, public, shown
from .window import Axis, Geometry, parse_window

Binary = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Reducer:
    """A binary function on arrays together with its two partial derivatives."""

    fn: Binary
    partials: Callable[[Any, Any], tuple[Any, Any]]

    def __call__(self, a: Any, b: Any) -> Any:
        return self.fn(a, b)


@public
def reducer(fn: Binary, partials: Callable[[Any, Any], tuple[Any, Any]]) -> Reducer:
    """Give a function for :func:`pool` its derivative: ``partials(a, b)`` → (∂fn/∂a, ∂fn/∂b).

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> hypot = cn.reducer(np.hypot, lambda a, b: (a / np.hypot(a, b), b / np.hypot(a, b)))
    >>> cn.pool(np.array([3.0, 4.0]), (2,), 0.0, hypot)
    array([5.])
    """
    for name, function in (("fn", fn), ("partials", partials)):
        if not callable(function):
            raise BadType(f"{name}={shown(function)}: a function of two arrays is needed, not {kind(function)}")
    return Reducer(fn, partials)


@public
def pool(
    x: ArrayLike,
    window: Ints,
    init: Any,
    reduce_fn: Binary,
    *,
    stride: Ints | None = None,
    padding: Padding = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    axes: Ints | None = None,
) -> Array:
    """Fold any binary function over each window: ``reduce_fn(… reduce_fn(reduce_fn(init, x₀), x₁) …, xₖ)``.

    The window arguments are those of :func:`max_pool`.

    Parameters
    ----------
    init : scalar
        Where each fold starts: used once per window. A Python number takes the dtype of ``x``; from there on
        NumPy's promotion holds.
    reduce_fn : callable
        A NumPy ufunc, a function on arrays, or :func:`reducer`. It is called once for each cell of the window,
        with whole arrays, never once per element. Cells are taken in row-major order and padded ones skipped,
        so a window without a real cell gives ``init``. ``np.maximum``, ``np.minimum`` and ``np.add`` run on
        the compiled kernels; a float sum is then associated as in :func:`sum_pool`.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.pool(np.array([1, 2, 3, 4]), (2,), 1, np.multiply)
    array([ 2, 12])
    >>> cn.pool(np.array([[1, 2], [4, 5]]), (2, 2), 0, lambda a, b: 10 * a + b)
    array([[1245]])
    """
    shape = parse_window(window, stride, padding, dilation, ceil_mode, axes)
    if not callable(reduce_fn):
        raise BadType(f"reduce_fn={shown(reduce_fn)}: a function of two arrays is needed, not {kind(reduce_fn)}")
    data = as_array(x)
    start = initial(init, data)
    geometry = shape.on(data.shape)
    if start.dtype == native(data.dtype):
        fast = KERNELS.get(reduce_fn) if isinstance(reduce_fn, np.ufunc) else None
        if fast is not None and (data.dtype.kind != "c" or reduce_fn is np.add):
            with np.errstate(all="ignore"):
                return np.asarray(reduce_fn(start, fast(data, geometry)), start.dtype)
    return fold(data.astype(native(data.dtype), copy=False), geometry, start, reduce_fn)


def initial(init: object, x: Array) -> Array:
    """``init`` as a 0-d array: a Python number in the dtype of ``x``, anything else in its own."""
    dtype = native(x.dtype)
    if isinstance(init, (bool, int, float, complex)) and not isinstance(init, np.generic):
        with contextlib.suppress(OverflowError, TypeError, ValueError, FloatingPointError):
            with np.errstate(all="ignore"):
                start = np.array(init, dtype)
            # A float may be rounded, but not to infinity; an integer is meant as it is.
            if is_inexact(dtype):
                fits = cmath.isfinite(complex(start)) or not cmath.isfinite(init)
            else:
                fits = start.item() == init
            if fits:
                return start
        raise BadValue(
            f"init={shown(init)} does not fit the dtype of x, which is {dtype}: give a number that does, convert x, "
            "or give a NumPy scalar, which keeps its own dtype"
        )
    start = as_array(init, "init", "a number")
    if start.ndim:
        raise BadValue(f"init has shape {start.shape}: one number is needed")
    return start


def is_inexact(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "fc" or is_bfloat16(dtype)


def largest(x: Array, geometry: Geometry) -> Array:
    return primitives.pick(x, geometry, True, False, False)[0]


def smallest(x: Array, geometry: Geometry) -> Array:
    return primitives.pick(x, geometry, False, False, False)[0]


def added(x: Array, geometry: Geometry) -> Array:
    """Sums in the dtype of ``x``: integers wrap, and a bool sum is a logical or, as ``np.add`` has it."""
    if x.dtype.kind == "b":
        return largest(x, geometry)
    return primitives.sum_pool(x, geometry, False).astype(native(x.dtype), copy=False)


KERNELS: dict[object, Callable[[Array, Geometry], Array]] = {
    np.maximum: largest,
    np.minimum: smallest,
    np.add: added,
}


def live_taps(axis: Axis) -> range:
    """The taps that may be a real cell of some window: however large the padding is, they are few."""
    first = -(((axis.o - 1) * axis.s - axis.low) // axis.d) if axis.o else 0
    return range(max(0, first), min(axis.k, (axis.n - 1 + axis.low) // axis.d + 1))


def tap_slices(axis: Axis, tap: int) -> tuple[slice, slice]:
    """The outputs for which ``tap`` is a real cell, and those cells."""
    start = tap * axis.d - axis.low  # what it is of window 0
    lo = max(0, -(start // axis.s))
    hi = min(axis.o, (axis.n - 1 - start) // axis.s + 1)
    if hi <= lo:
        return slice(0, 0), slice(0, 0)
    first = start + lo * axis.s
    return slice(lo, hi), slice(first, first + (hi - lo - 1) * axis.s + 1, axis.s)


def fold(x: Array, geometry: Geometry, start: Array, fn: Binary) -> Array:
    out = np.full(geometry.out_shape, start, start.dtype)
    for taps in itertools.product(*map(live_taps, geometry.axes)):
        to: list[slice] = [slice(None)] * x.ndim
        of: list[slice] = [slice(None)] * x.ndim
        for axis, tap in zip(geometry.axes, taps, strict=True):
            to[axis.position], of[axis.position] = tap_slices(axis, tap)
        held = out[tuple(to)]
        if not held.size and out.size:
            continue
        new = np.asarray(fn(held, x[tuple(of)]))
        if new.shape != held.shape:
            raise BadValue(
                f"reduce_fn gave shape {new.shape} for two arrays of shape {held.shape}: "
                "it must work element by element"
            )
        if new.dtype != out.dtype:
            out = out.astype(np.result_type(new.dtype, out.dtype) if held.shape != out.shape else new.dtype)
        out[tuple(to)] = new
    return out
