"""median_pool and mode_pool."""

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
from .windows import median, mode

MEDIAN, MODE = CallCache(np.ndarray), CallCache(np.ndarray)
cache.last_calls += [MEDIAN, MODE]


@pooling
def median_pool(
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
    """Median of each window.

    Parameters
    ----------
    x : array_like or Tensor
        Input of any rank and memory layout; bool, integer or real floating dtype. A torch tensor or a JAX, dask or
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
        odd, the extra element goes to the high end ("same_lower": to the low end). Padding is not part of
        a window: the median is that of the elements of ``x``.
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
        Dtype of the result. Floats keep theirs by default; integers and bool give float64. An integer dtype gets the
        value rounded to nearest, ties to even, and clipped to its range; NaN becomes 0. An integer result has no
        derivative.
    out : ndarray, optional
        Array to write the result to, which is then returned. It must have the shape and dtype of the result, may have
        any strides, and must not share memory with an input. NumPy inputs only.

    Returns
    -------
    ndarray or Tensor
        Middle element of each window, or the mean of the two middle ones. A window of nothing but padding gives NaN. On
        an xarray object the keyword ``coord_func`` chooses the coordinates along pooled dimensions: "mean", the
        default, "first", "last", "min", "max" or "center".

    See Also
    --------
    mode_pool : Most frequent element of each window.
    avg_pool : Average of each window.

    Notes
    -----
    The mean of two elements is exact and rounded once; it does not overflow. -0.0 sorts before +0.0.

    The derivative goes to the middle element, or half of it to each of the two; among equal elements to the first in
    row-major order. In a window that contains NaN it goes to the first NaN.

    Small windows are sorted by networks of vector minima and maxima. The time of large ones of stride 1 does not depend
    on their size.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> x = np.array([[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8]])
    >>> cn.median_pool(x, (3, 3), stride=1)
    array([[4., 4.]])
    >>> cn.median_pool(x, (2, 2))
    array([[4., 3.]])
    >>> cn.median_pool(x, (3, 3), stride=1, padding="same", dtype=np.int64)
    array([[4, 4, 3, 3],
           [4, 4, 4, 4],
           [5, 5, 6, 6]])
    >>> cn.median_pool(np.array([1.0, np.nan, 5.0, 2.0, 7.0, 3.0]), (3,), nan="omit")
    array([3., 3.])
    """
    given = (window, stride, padding, dilation, ceil_mode, axes, nan, dtype)
    known = MEDIAN.lookup(x, given) if out is None else None
    if known is not None:
        return known
    return call(median, x, given, out, MEDIAN)[0]


@pooling
def mode_pool(
    x: ArrayLike,
    window: int | Sequence[int],
    *,
    stride: int | Sequence[int] | None = None,
    padding: Padding = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    axes: int | Sequence[int] | None = None,
    out: NDArray[Any] | None = None,
) -> Any:
    """Mode of each window: its most frequent element, as for the labels of a segmentation.

    Parameters
    ----------
    x : array_like or Tensor
        Input of any rank and memory layout; bool or integer dtype. A torch tensor or a JAX, dask or xarray array gives
        a result of the same kind.
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
        odd, the extra element goes to the high end ("same_lower": to the low end). Padding is not part of
        a window: the mode is that of the elements of ``x``.
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
        Most frequent element of each window, in the dtype of ``x``; the smallest, if several are equally frequent. A
        window of nothing but padding gives 0, or False. It has no derivative. On an xarray object the keyword
        ``coord_func`` chooses the coordinates along pooled dimensions: "mean", the default, "first", "last", "min",
        "max" or "center".

    See Also
    --------
    median_pool : Median of each window, also of floats.

    Notes
    -----
    Labels are counted, never averaged: every result is an element of its window. Of several elements that are equally
    frequent the smallest is the mode.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> labels = np.array([[7, 7, 0, 2], [7, 3, 0, 2], [1, 1, 5, 5]], np.uint32)
    >>> cn.mode_pool(labels, (2, 2), ceil_mode=True)
    array([[7, 0],
           [1, 5]], dtype=uint32)
    """
    given = (window, stride, padding, dilation, ceil_mode, axes)
    known = MODE.lookup(x, given) if out is None else None
    if known is not None:
        return known
    return call(mode, x, given, out, MODE)[0]
