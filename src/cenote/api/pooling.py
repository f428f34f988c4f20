"""The pooling functions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .. import _core, cache
from ..arguments.arrays import Array, is_bfloat16
from ..arguments.errors import BadType, describe_type, format_value, public
from ..arguments.values import Ints, Padding, as_int, as_sequence
from ..geometry.window import parse_window
from .call import call
from .types import NaN, Ties, pooling
from .types import selection as typed_selection
from .windows import average, norm, selection, smooth, total

# What a call was given, and what came of it: an array of the same shape and dtype goes straight to the core.
LARGEST, SMALLEST, TOTAL, AVERAGE = (_core.CallCache(np.ndarray) for _ in range(4))
cache.last_calls += [LARGEST, SMALLEST, TOTAL, AVERAGE]


def remember(calls: _core.CallCache, x: Any, given: tuple[Any, ...], op: Any) -> None:
    """The next call with the same arguments on such an array goes straight to the core."""
    if type(x) is not np.ndarray or is_bfloat16(x.dtype) or is_bfloat16(op.after) or x.dtype.kind == "c":
        return  # handed over as something else
    result, plan = op.plan_for(x.dtype)
    calls.insert(x, given, plan, op.geometry.out_shape, result)


def select(x: ArrayLike, largest: bool, calls: _core.CallCache, given: tuple[Any, ...], out: Any) -> Any:
    """max_pool and min_pool: the same selection, by opposite orders."""
    outputs, op, data = call(("select", largest), x, given, partial(selection, largest), out)
    if op.argmax:
        return outputs
    remember(calls, data, given, op)
    return outputs[0]


@typed_selection
def max_pool(
    x: ArrayLike,
    window: Ints,
    *,
    stride: Ints | None = None,
    padding: Padding = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    axes: Ints | None = None,
    nan: NaN = "propagate",
    ties: Ties = "first",
    return_indices: bool = False,
    out: Any = None,
) -> Any:
    """The largest cell of each window.

    Parameters
    ----------
    x : array_like
        The data: bool, any integer, float16, bfloat16, float32 or float64, of any rank and memory layout.
    window : tuple of int, or int
        The size of the window on each pooled axis. A tuple lies on the trailing axes, or on ``axes``; an int
        is that size on each axis of ``axes``, which must then be given.
    stride : int or one int per window axis
        The step from one window to the next; the window's size by default, so that windows tile the array.
    padding : int, one int per axis, one (low, high) pair per axis, "valid", "same" or "same_lower"
        Cells added around the array, which are never chosen.
    dilation : int or one int per axis
        The distance between neighbouring cells of a window.
    ceil_mode : bool
        Round the output size up: a last window that starts inside the array, or in its low padding, counts
        although it reaches past the end.
    axes : int or sequence of int
        The axes that the window lies on, in the window's order.
    nan : {"propagate", "omit"}
        A NaN in a window is its result, or NaN cells are left out; a window of nothing but NaN is NaN.
    ties : {"first", "split"}
        Which of several largest cells a derivative follows: the first in row-major order, or all in equal
        parts. Values and indices do not depend on it.
    return_indices : bool
        Also return the flat index of the chosen cell, row-major over the pooled axes of the unpadded array,
        −1 for a window without a cell.
    out : ndarray, or a pair of them with ``return_indices``
        Where the result goes: an array of its shape and dtype, with any strides, that shares no memory with ``x``.
        It is returned.

    Returns
    -------
    ndarray, or (ndarray, ndarray of int64) with ``return_indices``
        The dtype of ``x`` is kept. A window without a real cell gives −inf, or the least integer.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> x = np.array([[0, 10, 8], [2, 7, 3], [5, 7, 20]])
    >>> cn.max_pool(x, (2, 2), stride=1)
    array([[10, 10],
           [ 7, 20]])
    >>> cn.max_pool(x, (3,))                        # the last axis only
    array([[10],
           [ 7],
           [20]])
    >>> cn.max_pool(x, 2, axes=0, stride=1)         # the first axis only
    array([[ 2, 10,  8],
           [ 5,  7, 20]])
    >>> values, indices = cn.max_pool(x, (2, 2), ceil_mode=True, return_indices=True)
    >>> values
    array([[10,  8],
           [ 7, 20]])
    >>> indices
    array([[1, 2],
           [7, 8]])
    """
    given = (window, stride, padding, dilation, ceil_mode, axes, nan, ties, return_indices)
    known = LARGEST.lookup(x, given) if out is None else None
    return select(x, True, LARGEST, given, out) if known is None else known


@typed_selection
def min_pool(
    x: ArrayLike,
    window: Ints,
    *,
    stride: Ints | None = None,
    padding: Padding = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    axes: Ints | None = None,
    nan: NaN = "propagate",
    ties: Ties = "first",
    return_indices: bool = False,
    out: Any = None,
) -> Any:
    """The smallest cell of each window: the mirror image of :func:`max_pool`, with the same arguments.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.min_pool(np.array([3.0, 1.0, np.nan, 2.0]), (2,))
    array([ 1., nan])
    >>> cn.min_pool(np.array([3.0, 1.0, np.nan, 2.0]), (2,), nan="omit")
    array([1., 2.])
    """
    given = (window, stride, padding, dilation, ceil_mode, axes, nan, ties, return_indices)
    known = SMALLEST.lookup(x, given) if out is None else None
    return select(x, False, SMALLEST, given, out) if known is None else known


@pooling
def sum_pool(
    x: ArrayLike,
    window: Ints,
    *,
    stride: Ints | None = None,
    padding: Padding = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    axes: Ints | None = None,
    nan: NaN = "propagate",
    dtype: DTypeLike | None = None,
    out: Array | None = None,
) -> Any:
    """The sum of each window; padding counts as zero.

    The window arguments are those of :func:`max_pool`. Integers and bool are summed in 64 bits as NumPy does,
    float16 and bfloat16 in float32; complex numbers work. With ``nan="omit"`` NaN cells are left out, and a
    window of nothing but NaN is NaN. ``dtype`` and ``out`` are those of :func:`avg_pool`.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.sum_pool(np.arange(6), (2,))
    array([1, 5, 9])
    >>> cn.sum_pool(np.arange(6), (3,), stride=2, padding="same")
    array([3, 9, 9])
    """
    given = (window, stride, padding, dilation, ceil_mode, axes, nan, dtype)
    known = TOTAL.lookup(x, given) if out is None else None
    if known is not None:
        return known
    outputs, op, data = call("sum", x, given, total, out)
    remember(TOTAL, data, given, op)
    return outputs[0]


@pooling
def avg_pool(
    x: ArrayLike,
    window: Ints,
    *,
    stride: Ints | None = None,
    padding: Padding = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    axes: Ints | None = None,
    count_include_pad: bool = True,
    divisor: float | None = None,
    nan: NaN = "propagate",
    dtype: DTypeLike | None = None,
    out: Array | None = None,
) -> Any:
    """The average of each window.

    The window arguments are those of :func:`max_pool`.

    Parameters
    ----------
    count_include_pad : bool
        Divide by the number of cells of the padded array in the window, or by the number of real ones. What
        ``ceil_mode`` makes a window reach past the padding is never counted. A window without a real cell is
        0 in the first case and NaN in the second.
    divisor : float, optional
        Divide by this instead: any finite number but 0.
    nan : {"propagate", "omit"}
        With "omit", NaN cells are neither added nor counted; a window of nothing but NaN is NaN.
    dtype : dtype, optional
        Of the result. An integer dtype gets the exact average rounded to nearest, ties to even, and clipped to its
        range; NaN becomes 0 there. A complex ``x`` needs a complex dtype. An integer result has no derivative.
    out : ndarray, optional
        Where the result goes, as for :func:`max_pool`.

    Returns
    -------
    ndarray
        Floats and complex numbers keep their dtype; integers and bool give float64.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> x = np.arange(1.0, 6.0)
    >>> cn.avg_pool(x, (2,), ceil_mode=True)
    array([1.5, 3.5, 5. ])
    >>> cn.avg_pool(x, (3,), stride=2, padding=1)
    array([1., 3., 3.])
    >>> cn.avg_pool(x, (3,), stride=2, padding=1, count_include_pad=False)
    array([1.5, 3. , 4.5])
    >>> cn.avg_pool(np.array([1, 2, 254, 255], np.uint8), (2,), dtype=np.uint8)
    array([  2, 254], dtype=uint8)
    """
    given = (window, stride, padding, dilation, ceil_mode, axes, count_include_pad, divisor, nan, dtype)
    known = AVERAGE.lookup(x, given) if out is None else None
    if known is not None:
        return known
    outputs, op, data = call("avg", x, given, average, out)
    remember(AVERAGE, data, given, op)
    return outputs[0]


@pooling
def lp_pool(
    x: ArrayLike,
    window: Ints,
    *,
    p: float = 2.0,
    stride: Ints | None = None,
    padding: Padding = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    axes: Ints | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
) -> Any:
    """The p-norm of each window, (Σ|x|ᵖ)^(1/p); padding counts as zero.

    The window arguments are those of :func:`max_pool`. ``p`` is any real number above 0; ``inf`` is the
    largest magnitude. Computed in double precision, or single where that will do, and scaled, so that it
    neither overflows nor underflows unless its result does. Floats keep their dtype, integers give float64.
    ``dtype`` and ``out`` are those of :func:`avg_pool`.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.lp_pool(np.array([3.0, -4.0, 1e200, 1e200]), (2,))
    array([5.00000000e+000, 1.41421356e+200])
    """
    return call("lp", x, (window, stride, padding, dilation, ceil_mode, axes, p, dtype), norm, out)[0][0]


@pooling
def smooth_max_pool(
    x: ArrayLike,
    window: Ints,
    *,
    beta: float = 1.0,
    pad_value: float | None = 0.0,
    stride: Ints | None = None,
    padding: Padding = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    axes: Ints | None = None,
    dtype: DTypeLike | None = None,
    out: Array | None = None,
) -> Any:
    """The smooth maximum of each window, (1/β)·log Σ exp(β·x).

    The window arguments are those of :func:`max_pool`. It lies between the maximum and the maximum +
    log(cells)/β; a negative ``beta`` gives a smooth minimum. Any finite β·x is safe. ``dtype`` and ``out`` are those of
    :func:`avg_pool`.

    Parameters
    ----------
    beta : float
        How sharp: any finite number but 0.
    pad_value : float or None
        What padded cells hold: they are part of the sum. None leaves them out, and a window without a real
        cell is then −inf (+inf for a negative ``beta``).

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.smooth_max_pool(np.array([0.0, 0.0, 1000.0, 999.0]), (2,))
    array([6.93147181e-01, 1.00031326e+03])
    >>> cn.smooth_max_pool(np.array([0.0, 0.0, 1000.0, 999.0]), (2,), beta=-50.0).round(3)
    array([-1.40e-02,  9.99e+02])
    """
    given = (window, stride, padding, dilation, ceil_mode, axes, beta, pad_value, dtype)
    return call("smooth_max", x, given, smooth, out)[0][0]


@public
def output_shape(
    shape: Ints,
    window: Ints,
    *,
    stride: Ints | None = None,
    padding: Padding = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    axes: Ints | None = None,
) -> tuple[int, ...]:
    """The shape that a pooling function gives for an array of ``shape``: no data needed.

    Examples
    --------
    >>> import cenote as cn
    >>> cn.output_shape((8, 3, 32, 33), (3, 3), stride=2, padding="same")
    (8, 3, 16, 17)
    """
    laid = parse_window(window, stride, padding, dilation, ceil_mode, axes)
    entries = as_sequence(shape)
    if entries is None:
        raise BadType(f"shape={format_value(shape)}: a tuple of ints is needed, not {describe_type(shape)}")
    return laid.on(tuple(as_int("shape", shape, entry, 0) for entry in entries)).out_shape
