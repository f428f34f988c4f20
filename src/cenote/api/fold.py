"""The generic ``pool``: any binary function folded over windows, on whole arrays."""

from __future__ import annotations

import cmath
import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments.arrays import Array, DType, as_array, has_nan, is_bfloat16, native
from ..arguments.errors import BadType, BadValue, X, describe_type, format_value, public
from ..arguments.values import Ints, Padding
from ..autodiff.elementwise import DIFFERENTIABLE, multiplied
from ..autodiff.graph import LinearFunction, Primitive
from ..autodiff.linear import Gather, Mask, ScatterAdd
from ..autodiff.opaque import opaque
from ..autodiff.tensor import Tensor, apply, bind, data_of, linear
from ..backends.dispatch import dispatch
from ..geometry.axes import Geometry
from ..geometry.window import parse_window
from ..ops.base import Op
from ..ops.fold import Binary, Fold, Reducer
from ..ops.selection import SelectPool
from ..ops.sums import SumPool
from .call import finish
from .types import pooling


def lent(fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``fn`` on copies of its arguments: a function may write into them, and then into arrays of others. A ufunc
    does not."""
    if isinstance(fn, np.ufunc):
        return fn
    return lambda a, b: fn(own(a), own(b))


def own(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def primitive_of(reducer: Reducer) -> Primitive:
    """The function as something that can be recorded."""

    def linearize(wanted: Sequence[bool], a: Any, b: Any) -> tuple[Any, Sequence[LinearFunction]]:
        out = bind(primitive_of(reducer), a, b)
        return out, [
            multiplied(a, out, lambda: partials(a, b)[0]),
            multiplied(b, out, lambda: partials(a, b)[1]),
        ]

    partials = lent(reducer.partials)
    return Primitive("reducer", lent(reducer.fn), linearize)


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
            raise BadType(
                f"{name}={format_value(function)}: a function of two arrays is needed, not {describe_type(function)}"
            )
    return Reducer(fn, partials)


@pooling
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
    out: Array | None = None,
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
    out : ndarray, optional
        Where the result goes, as for :func:`max_pool`.

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
        raise BadType(
            f"reduce_fn={format_value(reduce_fn)}: a function of two arrays is needed, not {describe_type(reduce_fn)}"
        )
    backend = dispatch(x)
    data = backend.operand(x, "x")
    spec = backend.spec(data)
    start = initial(init, spec.dtype)
    scalar: Any = start[()]
    fold = Fold(shape.on(spec.shape), spec.dtype, scalar, reduce_fn)
    if out is not None or not isinstance(data, Tensor):
        return finish(backend, fold, (data,), out)[0]
    return fold_tensor(data, fold)


def fold_tensor(x: Tensor, fold: Fold) -> Any:
    """The same on a Tensor, recorded if the function has a derivative."""
    geometry, fn = fold.geometry, fold.fn
    if not has_nan(fold.dtype):
        return apply(fold, x)[0]
    if fold.kernel is not None:
        with np.errstate(all="ignore"):
            return fn(fold.init, apply(kernel_op(fold), x)[0])
    if isinstance(fn, Reducer):
        return fold_recorded(x, geometry, fold.init, partial(bind, primitive_of(fn)))
    if isinstance(fn, np.ufunc) and fn in DIFFERENTIABLE:
        return fold_recorded(x, geometry, fold.init, fn)
    return opaque(x, fold.evaluate(data_of(x))[0], getattr(fn, "__name__", "reduce_fn"))


def kernel_op(fold: Fold) -> Op:
    if fold.fn is np.add and fold.dtype.kind != "b":
        return SumPool(fold.geometry, native(fold.dtype), native(fold.dtype))
    return SelectPool(fold.geometry, native(fold.dtype), native(fold.dtype), fold.fn is not np.minimum)


def initial(init: object, of_x: DType) -> Array:
    """``init`` as a 0-d array: a Python number in the dtype of ``x``, anything else in its own."""
    dtype = native(of_x)
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
            f"init={format_value(init)} does not fit the dtype of ",
            X,
            f", which is {dtype}: give a number that does, convert ",
            X,
            ", or give a NumPy scalar, which keeps its own dtype",
        )
    start = as_array(init, "init", "a number")
    if start.ndim:
        raise BadValue(f"init has shape {start.shape}: one number is needed")
    return start


def is_inexact(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "fc" or is_bfloat16(dtype)


def fold_recorded(x: Tensor, geometry: Geometry, start: np.generic, fn: Binary) -> Any:
    """The same on a Tensor: what is not reached by a tap is kept, what is reached is put in its place."""
    shape = geometry.out_shape
    out: Any = np.full(shape, start)
    for to, of in geometry.taps():
        outside = np.ones(shape, bool)
        outside[to] = False
        new = fn(linear(out, Gather(shape, to)), linear(x, Gather(geometry.shape, of)))
        out = np.add(linear(new, ScatterAdd(shape, to)), linear(out, Mask(outside))) if outside.any() else new
    return out if isinstance(out, Tensor) else Tensor(out, constant=True)
