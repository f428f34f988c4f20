"""The generic ``pool``: any binary function folded over windows, on whole arrays."""

from __future__ import annotations

import cmath
import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments.arrays import Array, as_array
from ..arguments.errors import BadType, BadValue, X, describe_type, format_value, hints, pluralize, public
from ..arguments.values import Padding
from ..autodiff import folds as _folds  # noqa: F401  which derives them
from ..backends.dispatch import dispatch
from ..dtypes import DType, has_nan, native
from ..geometry.window import parse_window
from ..ops.fold import Fold, Reducer
from .call import finish
from .types import pooling

# Modules with functions that reduce one array.
REDUCING = ("builtins", "numpy", "numpy.linalg", "statistics", "math", "jax.numpy", "jax.numpy.linalg")


@public
def reducer(
    fn: Callable[[Any, Any], Any], partials: Callable[[Any, Any], tuple[Any, Any]]
) -> Callable[[Any, Any], Any]:
    """Attach partial derivatives to a binary function, for :func:`pool`.

    Parameters
    ----------
    fn : callable
        Function of two arrays, elementwise.
    partials : callable
        ``partials(a, b)`` returns the pair ``(∂fn/∂a, ∂fn/∂b)``.

    Returns
    -------
    callable
        ``fn``, which :func:`pool` can now differentiate in both modes.

    See Also
    --------
    pool : Reduce each window with it.
    check_grads : Test that the partial derivatives are right.

    Notes
    -----
    ``a`` is the result so far, ``b`` the next element. Both functions are called on whole arrays, once per window
    offset. Second derivatives need ``partials`` to be made of NumPy functions that have a derivative.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> squares = cn.reducer(lambda a, b: a + b * b, lambda a, b: (np.ones_like(a), 2 * b))
    >>> cn.grad(lambda x: cn.pool(x, (2,), 0.0, squares).sum())(np.array([3.0, 4.0]))
    array([6., 8.])
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
    window: int | Sequence[int],
    init: Any,
    reduce_fn: Callable[[Any, Any], Any],
    *,
    stride: int | Sequence[int] | None = None,
    padding: Padding = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    axes: int | Sequence[int] | None = None,
    out: NDArray[Any] | None = None,
) -> Any:
    """Reduce each window with any binary function.

    The result is ``reduce_fn(… reduce_fn(reduce_fn(init, x₀), x₁) …, xₖ)`` over the elements of the window in row-major
    order.

    Parameters
    ----------
    x : array_like or Tensor
        Input of any rank and memory layout; bool, integer, floating or complex dtype. A torch tensor or a JAX, dask or
        xarray array gives a result of the same kind.
    window : int, tuple of int, or dict
        Window size along each pooled axis. A tuple applies to the trailing ``len(window)`` axes, or to ``axes``. An int
        applies to every axis in ``axes``, which is then required. For an xarray object: a dict of sizes by dimension
        name.
    init : scalar
        Initial value of each reduction. A Python number takes the dtype of ``x``; a NumPy scalar keeps its own.
    reduce_fn : callable
        NumPy ufunc, function of two arrays, or the result of :func:`reducer`. It is called once per element of the
        window, with whole arrays, never once per element of the array.
    stride : int or tuple of int, optional
        Step between windows: one int for all window axes, or one per axis. Defaults to ``window``, so that windows do
        not overlap.
    padding : int, tuple of int, tuple of (int, int) pairs, or str, optional
        Number of elements added at both ends of every window axis: one int for all, one int per axis, or one
        ``(low, high)`` pair per axis. "valid" adds none. "same" pads for ``ceil(n / stride)`` outputs; if the total is
        odd, the extra element goes to the high end ("same_lower": to the low end). Padding is skipped.
    dilation : int or tuple of int, optional
        Spacing between the elements of a window: one int for all window axes, or one per axis.
    ceil_mode : bool, optional
        Round the output size up: keep a last window that extends past the end, if it starts inside the input or its low
        padding.
    axes : int or sequence of int, optional
        Axes of ``x`` that the window applies to, in the order of ``window``. Defaults to the trailing axes.
    out : ndarray, optional
        Array to write the result to, which is then returned. It must have the shape and dtype of the result, may have
        any strides, and must not share memory with an input. NumPy inputs only.

    Returns
    -------
    ndarray or Tensor
        Reduction of each window, in the dtype that ``reduce_fn`` gives. A window of nothing but padding gives ``init``.
        On an xarray object the keyword ``coord_func`` chooses the coordinates along pooled dimensions: "mean", the
        default, "first", "last", "min", "max" or "center".

    See Also
    --------
    reducer : Attach partial derivatives to a function.
    sum_pool : Sum of each window.
    max_pool : Maximum of each window.

    Notes
    -----
    ``np.maximum``, ``np.minimum`` and ``np.add`` run on the compiled kernels if ``init`` has the dtype of ``x``; a sum
    of floats is then added in the order of :func:`sum_pool`. NumPy ufuncs with a known derivative can be
    differentiated; any other function needs :func:`reducer`.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.pool(np.array([1, 2, 3, 4]), (2,), 1, np.multiply)
    array([ 2, 12])
    >>> cn.pool(np.array([[1, 2], [4, 5]]), (2, 2), 0, lambda a, b: 10 * a + b)
    array([[1245]])
    """
    backend = dispatch(x)
    data = backend.operand(x, "x")
    spec = backend.spec(data)
    shape = parse_window(window, stride, padding, dilation, ceil_mode, axes)
    check_reducer(reduce_fn)
    start = initial(init, spec.dtype)
    scalar: Any = start[()]
    geometry = shape.on(spec.shape)
    if geometry.over_colours:
        hints().warn_of_colours(spec.shape)
    fold = Fold(geometry, spec.dtype, scalar, reduce_fn)
    of_library = getattr(backend, "fold", None) if out is None else None
    return of_library(data, fold) if of_library is not None else finish(backend, fold, (data,), out)[0]


def kernel_of_pool(x: Array, window: Any, init: Any, reduce_fn: Any, out: Any = None, **options: Any) -> None:
    """What the compiled core computes of a call of :func:`pool`: nothing if its function has no kernel."""
    shape = parse_window(window, **options)
    check_reducer(reduce_fn)
    scalar: Any = initial(init, x.dtype)[()]
    fold = Fold(shape.on(x.shape), x.dtype, scalar, reduce_fn)
    if fold.kernel is not None:
        fold.kernel(x, fold.geometry)


def check_reducer(fn: object) -> None:
    """``fn`` may be a function of two arrays. sum(a, b) and np.max(a, b) have another meaning, and no error."""
    if not callable(fn):
        raise BadType(f"reduce_fn={format_value(fn)}: a function of two arrays is needed, not {describe_type(fn)}")
    called = fn.fn if isinstance(fn, Reducer) else fn
    if isinstance(called, np.ufunc) and (called.nin, called.nout) != (2, 1):
        # np.sqrt(a, b) would write into b, the user's own array.
        raise BadType(
            f"reduce_fn={format_value(called)} has {pluralize(called.nin, 'input', 'inputs')} and "
            f"{pluralize(called.nout, 'output', 'outputs')}: a function of two arrays that returns one is needed, such "
            "as np.add"
        )
    if isinstance(fn, (np.ufunc, Reducer)):
        return
    if isinstance(getattr(fn, "__self__", None), np.ufunc) or getattr(fn, "__module__", "") in REDUCING:
        name = hints().reduction_name(fn)
        if name is not None:
            raise BadType(f"reduce_fn={name} reduces one array: a function of two arrays is needed")


def initial(init: object, of_x: DType) -> Array:
    """``init`` as a 0-d array: a Python number in the dtype of ``x``, anything else in its own."""
    dtype = native(of_x)
    if isinstance(init, (bool, int, float, complex)) and not isinstance(init, np.generic):
        with contextlib.suppress(OverflowError, TypeError, ValueError, FloatingPointError):
            with np.errstate(all="ignore"):
                start = np.array(init, dtype)
            # A float may be rounded, but not to infinity; an integer is meant as it is.
            if has_nan(dtype):
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
