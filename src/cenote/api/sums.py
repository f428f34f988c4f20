"""sum_pool and avg_pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import cache
from ..arguments.values import DTypeLike, Padding
from ..core import CallCache
from .call import call
from .types import pooling
from .windows import average, total

TOTAL, AVERAGE = CallCache(np.ndarray), CallCache(np.ndarray)
cache.last_calls += [TOTAL, AVERAGE]


@pooling
def sum_pool(
    x: ArrayLike,
    window: int | Sequence[int],
    *,
    stride: int | Sequence[int] | None = None,
    padding: Padding = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    axes: int | Sequence[int] | None = None,
    nan: Literal["propagate", "omit"] = "propagate",
    dtype: DTypeLike | None = None,
    out: NDArray[Any] | None = None,
) -> Any:
    """Sum of each window.

    Parameters
    ----------
    x : array_like or Tensor
        Input of any rank and memory layout; bool, integer, floating or complex dtype. A torch tensor or a JAX, dask or
        xarray array gives a result of the same kind.
    window : int, tuple of int, or dict
        Window size along each pooled axis. A tuple applies to the trailing ``len(window)`` axes, or to ``axes``. An int
        applies to every axis in ``axes``, which is then required. For an xarray object: a dict of sizes by dimension
        name.
    stride : int or tuple of int, optional
        Step between windows: one int for all window axes, or one per axis. Defaults to ``window``, so that windows do
        not overlap.
    padding : int, tuple of int, tuple of (int, int) pairs, or str, optional
        Number of elements added at both ends of every window axis: one int for all, one int per axis, or one
        ``(low, high)`` pair per axis. "valid" adds none. "same" pads for ``ceil(n / stride)`` outputs; if the total is
        odd, the extra element goes to the high end ("same_lower": to the low end). Padding counts as zero.
    dilation : int or tuple of int, optional
        Spacing between the elements of a window: one int for all window axes, or one per axis.
    ceil_mode : bool, optional
        Round the output size up: keep a last window that extends past the end, if it starts inside the input or its low
        padding.
    axes : int or sequence of int, optional
        Axes of ``x`` that the window applies to, in the order of ``window``. Defaults to the trailing axes.
    nan : {"propagate", "omit"}, optional
        "propagate": a window that contains NaN gives NaN. "omit": NaN are ignored, and only a window that contains
        nothing else gives NaN.
    dtype : dtype, optional
        Dtype of the result. Floats and complex numbers keep theirs by default; integers and bool give int64 or uint64,
        as ``np.sum`` does. An integer dtype gets the value rounded to nearest, ties to even, and clipped to its range;
        NaN becomes 0. An integer result has no derivative. A complex ``x`` needs a complex dtype.
    out : ndarray, optional
        Array to write the result to, which is then returned. It must have the shape and dtype of the result, may have
        any strides, and must not share memory with an input. NumPy inputs only.

    Returns
    -------
    ndarray or Tensor
        Sum of each window. A window of nothing but padding gives 0; with ``nan="omit"``, NaN. On an xarray object the
        keyword ``coord_func`` chooses the coordinates along pooled dimensions: "mean", the default, "first", "last",
        "min", "max" or "center".

    See Also
    --------
    avg_pool : Average of each window.
    lp_pool : p-norm of each window.
    pool : Any other reduction.
    correlate : Weighted sums.

    Notes
    -----
    Every window is summed on its own, pairwise and in an order that depends on its size only: there are no running
    sums, and no drift along an axis. The result has the same bits for every number of threads, SIMD level and memory
    layout.

    float16 and bfloat16 are accumulated in float32. Integer sums wrap around in 64 bits.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.sum_pool(np.arange(6), (2,))
    array([1, 5, 9])
    >>> cn.sum_pool(np.arange(6), (3,), stride=2, padding="same")
    array([3, 9, 9])
    >>> cn.sum_pool(np.array([200, 100], np.uint8), (2,), dtype=np.uint8)
    array([255], dtype=uint8)
    """
    given = (window, stride, padding, dilation, ceil_mode, axes, nan, dtype)
    known = TOTAL.lookup(x, given) if out is None else None
    if known is not None:
        return known
    return call(total, x, given, out, TOTAL)[0]


@pooling
def avg_pool(
    x: ArrayLike,
    window: int | Sequence[int],
    *,
    stride: int | Sequence[int] | None = None,
    padding: Padding = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    axes: int | Sequence[int] | None = None,
    count_include_pad: bool = True,
    divisor: float | None = None,
    nan: Literal["propagate", "omit"] = "propagate",
    dtype: DTypeLike | None = None,
    out: NDArray[Any] | None = None,
) -> Any:
    """Average of each window.

    Parameters
    ----------
    x : array_like or Tensor
        Input of any rank and memory layout; bool, integer, floating or complex dtype. A torch tensor or a JAX, dask or
        xarray array gives a result of the same kind.
    window : int, tuple of int, or dict
        Window size along each pooled axis. A tuple applies to the trailing ``len(window)`` axes, or to ``axes``. An int
        applies to every axis in ``axes``, which is then required. For an xarray object: a dict of sizes by dimension
        name.
    stride : int or tuple of int, optional
        Step between windows: one int for all window axes, or one per axis. Defaults to ``window``, so that windows do
        not overlap.
    padding : int, tuple of int, tuple of (int, int) pairs, or str, optional
        Number of elements added at both ends of every window axis: one int for all, one int per axis, or one
        ``(low, high)`` pair per axis. "valid" adds none. "same" pads for ``ceil(n / stride)`` outputs; if the total is
        odd, the extra element goes to the high end ("same_lower": to the low end). Padding counts as zero.
    dilation : int or tuple of int, optional
        Spacing between the elements of a window: one int for all window axes, or one per axis.
    ceil_mode : bool, optional
        Round the output size up: keep a last window that extends past the end, if it starts inside the input or its low
        padding.
    axes : int or sequence of int, optional
        Axes of ``x`` that the window applies to, in the order of ``window``. Defaults to the trailing axes.
    count_include_pad : bool, optional
        Divide by the number of elements of the padded input in the window, or, if False, by the number of elements of
        the unpadded input. What ``ceil_mode`` adds beyond the padding is never counted.
    divisor : float, optional
        Divide by this number instead, which may be any finite number other than 0.
    nan : {"propagate", "omit"}, optional
        "propagate": a window that contains NaN gives NaN. "omit": NaN are neither added nor counted, and only a window
        that contains nothing else gives NaN.
    dtype : dtype, optional
        Dtype of the result. Floats and complex numbers keep theirs by default; integers and bool give float64. An
        integer dtype gets the value rounded to nearest, ties to even, and clipped to its range; NaN becomes 0. An
        integer result has no derivative. A complex ``x`` needs a complex dtype.
    out : ndarray, optional
        Array to write the result to, which is then returned. It must have the shape and dtype of the result, may have
        any strides, and must not share memory with an input. NumPy inputs only.

    Returns
    -------
    ndarray or Tensor
        Average of each window. A window of nothing but padding gives 0, or NaN with ``count_include_pad=False`` or
        ``nan="omit"``. On an xarray object the keyword ``coord_func`` chooses the coordinates along pooled dimensions:
        "mean", the default, "first", "last", "min", "max" or "center".

    See Also
    --------
    sum_pool : Sum of each window.
    adaptive_avg_pool : Average of each of a given number of bins.
    global_avg_pool : Average over whole axes.

    Notes
    -----
    Every window is summed on its own, pairwise and in an order that depends on its size only: there are no running
    sums, and no drift along an axis. The result has the same bits for every number of threads, SIMD level and memory
    layout.

    float16 and bfloat16 are accumulated in float32. With an integer ``dtype``, averages of integers are exact before
    they are rounded.

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
    return call(average, x, given, out, AVERAGE)[0]
