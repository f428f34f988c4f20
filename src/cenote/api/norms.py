"""lp_pool and smooth_max_pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike, NDArray

from ..arguments.values import DTypeLike, Padding
from .call import call
from .types import pooling
from .windows import norm, smooth


@pooling
def lp_pool(
    x: ArrayLike,
    window: int | Sequence[int],
    *,
    p: float = 2.0,
    stride: int | Sequence[int] | None = None,
    padding: Padding = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    axes: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: NDArray[Any] | None = None,
) -> Any:
    """p-norm of each window, (Σ|x|ᵖ)^(1/p).

    Parameters
    ----------
    x : array_like or Tensor
        Input of any rank and memory layout; bool, integer or real floating dtype. A torch tensor or a JAX, dask or
        xarray array gives a result of the same kind.
    window : int, tuple of int, or dict
        Window size along each pooled axis. A tuple applies to the trailing ``len(window)`` axes, or to ``axes``. An int
        applies to every axis in ``axes``, which is then required. For an xarray object: a dict of sizes by dimension
        name.
    p : float, optional
        Order of the norm: any number above 0, or ``inf`` for the largest magnitude.
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
        p-norm of each window. A window of nothing but padding gives 0. On an xarray object the keyword ``coord_func``
        chooses the coordinates along pooled dimensions: "mean", the default, "first", "last", "min", "max" or "center".

    See Also
    --------
    sum_pool : Sum of each window.
    smooth_max_pool : Log-sum-exp of each window.
    max_pool : Maximum of each window.

    Notes
    -----
    Powers are scaled by the largest element of the window, so that nothing overflows or underflows unless the result
    does. They are computed in double precision, or in single precision where that is accurate enough. NaN propagates.
    The derivative at a window of zeros is 0.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> x = np.array([3.0, -4.0, 1e200, 1e200])
    >>> cn.lp_pool(x, (2,))
    array([5.00000000e+000, 1.41421356e+200])
    >>> cn.lp_pool(x, (2,), p=1)
    array([7.e+000, 2.e+200])
    """
    return call(norm, x, (window, stride, padding, dilation, ceil_mode, axes, p, dtype), out)[0]


@pooling
def smooth_max_pool(
    x: ArrayLike,
    window: int | Sequence[int],
    *,
    beta: float = 1.0,
    pad_value: float | None = 0.0,
    stride: int | Sequence[int] | None = None,
    padding: Padding = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    axes: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: NDArray[Any] | None = None,
) -> Any:
    """Smooth maximum (log-sum-exp) of each window, (1/β)·log Σ exp(β·x).

    Parameters
    ----------
    x : array_like or Tensor
        Input of any rank and memory layout; bool, integer or real floating dtype. A torch tensor or a JAX, dask or
        xarray array gives a result of the same kind.
    window : int, tuple of int, or dict
        Window size along each pooled axis. A tuple applies to the trailing ``len(window)`` axes, or to ``axes``. An int
        applies to every axis in ``axes``, which is then required. For an xarray object: a dict of sizes by dimension
        name.
    beta : float, optional
        Sharpness β: any finite number other than 0. The larger, the closer to the maximum; negative gives a smooth
        minimum.
    pad_value : float or None, optional
        Value of padded elements, which are part of the sum. None excludes them.
    stride : int or tuple of int, optional
        Step between windows: one int for all window axes, or one per axis. Defaults to ``window``, so that windows do
        not overlap.
    padding : int, tuple of int, tuple of (int, int) pairs, or str, optional
        Number of elements added at both ends of every window axis: one int for all, one int per axis, or one
        ``(low, high)`` pair per axis. "valid" adds none. "same" pads for ``ceil(n / stride)`` outputs; if the total is
        odd, the extra element goes to the high end ("same_lower": to the low end). Padding counts as ``pad_value``.
    dilation : int or tuple of int, optional
        Spacing between the elements of a window: one int for all window axes, or one per axis.
    ceil_mode : bool, optional
        Round the output size up: keep a last window that extends past the end, if it starts inside the input or its low
        padding.
    axes : int or sequence of int, optional
        Axes of ``x`` that the window applies to, in the order of ``window``. Defaults to the trailing axes.
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
        Smooth maximum of each window. With ``pad_value=None`` a window of nothing but padding gives −inf, or +inf for a
        negative ``beta``. On an xarray object the keyword ``coord_func`` chooses the coordinates along pooled
        dimensions: "mean", the default, "first", "last", "min", "max" or "center".

    See Also
    --------
    max_pool : Maximum of each window.
    min_pool : Minimum of each window.
    lp_pool : p-norm of each window.

    Notes
    -----
    For positive β the result lies between ``m`` and ``m + log(N)/β``, where ``m`` is the maximum of the ``N`` elements
    of the window. It does not overflow for any finite β·x: the maximum is subtracted before ``exp``. Its derivative is
    the softmax of β·x. NaN propagates.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> x = np.array([0.0, 0.0, 1000.0, 999.0])
    >>> cn.smooth_max_pool(x, (2,))
    array([6.93147181e-01, 1.00031326e+03])
    >>> cn.smooth_max_pool(x, (2,), beta=-50.0).round(3)
    array([-1.40e-02,  9.99e+02])
    """
    given = (window, stride, padding, dilation, ceil_mode, axes, beta, pad_value, dtype)
    return call(smooth, x, given, out)[0]
