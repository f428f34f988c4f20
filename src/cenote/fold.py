"""The generic ``pool``: any binary function folded over windows, on whole arrays."""

from __future__ import annotations

import cmath
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import rules
from .arguments import Ints, Padding
from .arrays import Array, as_array, is_bfloat16, native
from .elementwise import DIFFERENTIABLE, multiplied
from .errors import BadType, BadValue, kind, public, shown
from .geometry import Geometry
from .graph import Linear, Primitive
from .linear import Mask, Put, Take
from .rules import opaque, operand
from .tensor import Tensor, bind, data_of, linear
from .window import parse_window

Binary = Callable[[Any, Any], Any]


def lent(fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``fn`` on copies of its arguments: a function may write into them, and then into arrays of others. A ufunc
    does not."""
    if isinstance(fn, np.ufunc):
        return fn
    return lambda a, b: fn(own(a), own(b))


def own(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


@dataclass(frozen=True)
class Reducer:
    """A binary function on arrays together with its two partial derivatives."""

    fn: Binary
    partials: Callable[[Any, Any], tuple[Any, Any]]

    def __call__(self, a: Any, b: Any) -> Any:
        return self.fn(a, b)

    @property
    def primitive(self) -> Primitive:
        def linearize(wanted: Sequence[bool], a: Any, b: Any) -> tuple[Any, Sequence[Linear]]:
            out = bind(self.primitive, a, b)
            return out, [
                multiplied(a, out, lambda: partials(a, b)[0]),
                multiplied(b, out, lambda: partials(a, b)[1]),
            ]

        partials = lent(self.partials)
        return Primitive("reducer", lent(self.fn), linearize)


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
) -> Any:
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
    data = operand(x)
    start = initial(init, data_of(data))
    geometry = shape.on(data.shape)
    kernel = KERNELS.get(reduce_fn) if isinstance(reduce_fn, np.ufunc) else None
    if kernel is not None and start.dtype == native(data.dtype) and (data.dtype.kind != "c" or reduce_fn is np.add):
        with np.errstate(all="ignore"):
            return reduce_fn(start, kernel(data, geometry))
    if not isinstance(data, Tensor):
        return fold(data.astype(native(data.dtype), copy=False), geometry, start, reduce_fn)
    if isinstance(reduce_fn, Reducer):
        return fold_recorded(data, geometry, start, partial(bind, reduce_fn.primitive))
    if isinstance(reduce_fn, np.ufunc) and reduce_fn in DIFFERENTIABLE:
        return fold_recorded(data, geometry, start, reduce_fn)
    return opaque(data, fold(data_of(data), geometry, start, reduce_fn), getattr(reduce_fn, "__name__", "reduce_fn"))


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


def largest(x: Any, geometry: Geometry) -> Any:
    return rules.pick(x, geometry, True, False, False)[0]


def smallest(x: Any, geometry: Geometry) -> Any:
    return rules.pick(x, geometry, False, False, False)[0]


def added(x: Any, geometry: Geometry) -> Any:
    """Sums in the dtype of ``x``: integers wrap, and a bool sum is a logical or, as ``np.add`` has it."""
    if x.dtype.kind == "b":
        return largest(x, geometry)
    total = rules.sum_pool(x, geometry, False)
    return total if total.dtype == x.dtype else total.astype(native(x.dtype))


KERNELS: dict[object, Callable[[Any, Geometry], Any]] = {
    np.maximum: largest,
    np.minimum: smallest,
    np.add: added,
}


def fold(x: Array, geometry: Geometry, start: Array, fn: Binary) -> Array:
    out = np.full(geometry.out_shape, start, start.dtype)
    plain = isinstance(fn.fn if isinstance(fn, Reducer) else fn, np.ufunc)
    for to, of in geometry.taps():
        held = out[to]
        cells = x[of] if plain else x[of].copy()  # fn may write into them
        new = np.asarray(fn(held, cells))
        if new.shape != held.shape:
            raise BadValue(
                f"reduce_fn gave shape {new.shape} for two arrays of shape {held.shape}: "
                "it must work element by element"
            )
        if new.dtype != out.dtype:
            out = out.astype(np.result_type(new.dtype, out.dtype) if held.shape != out.shape else new.dtype)
        out[to] = new
    return out


def fold_recorded(x: Tensor, geometry: Geometry, start: Array, fn: Binary) -> Any:
    """The same on a Tensor: what is not reached by a tap is kept, what is reached is put in its place."""
    shape = geometry.out_shape
    out: Any = np.full(shape, start, start.dtype)
    for to, of in geometry.taps():
        outside = np.ones(shape, bool)
        outside[to] = False
        new = fn(linear(out, Take(shape, to)), linear(x, Take(geometry.shape, of)))
        out = np.add(linear(new, Put(shape, to)), linear(out, Mask(outside))) if outside.any() else new
    return out if isinstance(out, Tensor) else Tensor(out, constant=True)
