"""Adaptive and global pooling: windows made of the size of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike, NDArray

from ..arguments.values import DTypeLike, as_flag
from ..dtypes import average_dtype, native, select_dtype
from ..geometry.window import adaptive_geometry, global_geometry
from ..ops.base import Spec
from ..ops.selection import Argmax, SelectPool
from ..ops.sums import AvgPool
from .call import OpOf, call, parse_dtype, result_dtype
from .types import adaptive_selection, pooling


@adaptive_selection
def adaptive_max_pool(
    x: ArrayLike,
    output_size: int | Sequence[int | None],
    *,
    axes: int | Sequence[int] | None = None,
    return_indices: bool = False,
    out: NDArray[Any] | tuple[NDArray[Any], NDArray[Any]] | None = None,
) -> Any:
    """Maximum of each bin, for a given number of bins.

    Parameters
    ----------
    x : array_like or Tensor
        Input of any rank and memory layout; bool, integer or real floating dtype. A torch tensor or a JAX, dask or
        xarray array gives a result of the same kind.
    output_size : int, tuple of (int or None), or dict
        Number of bins along each pooled axis; None keeps the axis as it is. A tuple applies to the trailing axes, or to
        ``axes``. An int applies to every axis in ``axes``, which is then required. For an xarray object: a dict of
        sizes by dimension name.
    axes : int or sequence of int, optional
        Axes of ``x`` that are pooled, in the order of ``output_size``. Defaults to the trailing axes.
    return_indices : bool, optional
        Also return the index of the selected element of each bin.
    out : ndarray or pair of ndarray, optional
        Array to write the result to, which is then returned; a pair of them with ``return_indices=True``. It must have
        the shape and dtype of the result, may have any strides, and must not share memory with an input. NumPy inputs
        only.

    Returns
    -------
    y : ndarray or Tensor
        The largest element of each bin, in the dtype of ``x``. On an xarray object the keyword ``coord_func`` chooses
        the coordinates along pooled dimensions: "mean", the default, "first", "last", "min", "max" or "center".
    indices : ndarray of int64
        Only with ``return_indices=True``: flat row-major index over the pooled axes of ``x``.

    See Also
    --------
    adaptive_avg_pool : Average of each bin.
    global_max_pool : Maximum over whole axes.
    max_pool : Maximum of each window of a given size.

    Notes
    -----
    Bin ``i`` of ``o`` along an axis of size ``n`` covers the elements from ``floor(i*n/o)`` up to, but not including,
    ``ceil((i+1)*n/o)``. Bins cover the axis and are never empty; they overlap where ``o`` does not divide ``n``, and
    ``o`` may be larger than ``n``. A pooled axis of size 0 is a ValueError.

    NaN propagates. Among equal elements the first in row-major order is selected.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.adaptive_max_pool(np.array([1, 2, 3]), (5,))
    array([1, 2, 2, 3, 3])
    >>> cn.adaptive_max_pool(np.zeros((8, 480, 640, 3)), 7, axes=(1, 2)).shape
    (8, 7, 7, 3)
    """
    outputs = call(largest_of_bins, x, (output_size, axes, return_indices), out)
    return outputs if len(outputs) > 1 else outputs[0]


def largest_of_bins(output_size: Any, axes: Any, return_indices: Any) -> OpOf:
    argmax: Argmax = "indices" if as_flag("return_indices", return_indices) else ""

    def op(spec: Spec) -> SelectPool:
        dtype = select_dtype(spec.dtype)
        return SelectPool(
            adaptive_geometry(spec.shape, output_size, axes), native(spec.dtype), dtype, True, argmax=argmax
        )

    return op


@pooling
def adaptive_avg_pool(
    x: ArrayLike,
    output_size: int | Sequence[int | None],
    *,
    axes: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: NDArray[Any] | None = None,
) -> Any:
    """Average of each bin, for a given number of bins.

    Parameters
    ----------
    x : array_like or Tensor
        Input of any rank and memory layout; bool, integer, floating or complex dtype. A torch tensor or a JAX, dask or
        xarray array gives a result of the same kind.
    output_size : int, tuple of (int or None), or dict
        Number of bins along each pooled axis; None keeps the axis as it is. A tuple applies to the trailing axes, or to
        ``axes``. An int applies to every axis in ``axes``, which is then required. For an xarray object: a dict of
        sizes by dimension name.
    axes : int or sequence of int, optional
        Axes of ``x`` that are pooled, in the order of ``output_size``. Defaults to the trailing axes.
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
        Average of each bin. On an xarray object the keyword ``coord_func`` chooses the coordinates along pooled
        dimensions: "mean", the default, "first", "last", "min", "max" or "center".

    See Also
    --------
    adaptive_max_pool : Maximum of each bin.
    global_avg_pool : Average over whole axes.
    avg_pool : Average of each window of a given size.

    Notes
    -----
    Bin ``i`` of ``o`` along an axis of size ``n`` covers the elements from ``floor(i*n/o)`` up to, but not including,
    ``ceil((i+1)*n/o)``. Bins cover the axis and are never empty; they overlap where ``o`` does not divide ``n``, and
    ``o`` may be larger than ``n``. A pooled axis of size 0 is a ValueError.

    NaN propagates.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.adaptive_avg_pool(np.array([1.0, 2, 3, 4, 5]), (3,))
    array([1.5, 3. , 4.5])
    """
    return call(average_of_bins, x, (output_size, axes, dtype), out)[0]


def average_of_bins(output_size: Any, axes: Any, dtype: Any) -> OpOf:
    wanted = parse_dtype(dtype)

    def op(spec: Spec) -> AvgPool:
        after = result_dtype(average_dtype(spec.dtype), wanted)
        return AvgPool(adaptive_geometry(spec.shape, output_size, axes), native(spec.dtype), after, None, True)

    return op


@pooling
def global_max_pool(x: ArrayLike, *, axes: int | Sequence[int], out: NDArray[Any] | None = None) -> Any:
    """Maximum over whole axes.

    Parameters
    ----------
    x : array_like or Tensor
        Input of any rank and memory layout; bool, integer or real floating dtype. A torch tensor or a JAX, dask or
        xarray array gives a result of the same kind.
    axes : int or sequence of int
        Axes of ``x`` to pool over. For an xarray object: dimension names.
    out : ndarray, optional
        Array to write the result to, which is then returned. It must have the shape and dtype of the result, may have
        any strides, and must not share memory with an input. NumPy inputs only.

    Returns
    -------
    ndarray or Tensor
        Maximum, in the dtype of ``x``. The pooled axes are kept, with length 1. On an xarray object the keyword
        ``coord_func`` chooses the coordinates along pooled dimensions: "mean", the default, "first", "last", "min",
        "max" or "center".

    See Also
    --------
    global_avg_pool : Average over whole axes.
    adaptive_max_pool : Maximum of each of a given number of bins.

    Notes
    -----
    NaN propagates. A pooled axis of size 0 is a ValueError.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.global_max_pool(np.arange(12).reshape(2, 2, 3), axes=(1, 2))
    array([[[ 5]],
    <BLANKLINE>
           [[11]]])
    """
    return call(largest_of_all, x, (axes,), out)[0]


def largest_of_all(axes: Any) -> OpOf:
    def op(spec: Spec) -> SelectPool:
        dtype = select_dtype(spec.dtype)
        return SelectPool(global_geometry(spec.shape, axes), native(spec.dtype), dtype, True)

    return op


@pooling
def global_avg_pool(
    x: ArrayLike,
    *,
    axes: int | Sequence[int],
    dtype: DTypeLike | None = None,
    out: NDArray[Any] | None = None,
) -> Any:
    """Average over whole axes.

    Parameters
    ----------
    x : array_like or Tensor
        Input of any rank and memory layout; bool, integer, floating or complex dtype. A torch tensor or a JAX, dask or
        xarray array gives a result of the same kind.
    axes : int or sequence of int
        Axes of ``x`` to pool over. For an xarray object: dimension names.
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
        Average. The pooled axes are kept, with length 1. On an xarray object the keyword ``coord_func`` chooses the
        coordinates along pooled dimensions: "mean", the default, "first", "last", "min", "max" or "center".

    See Also
    --------
    global_max_pool : Maximum over whole axes.
    adaptive_avg_pool : Average of each of a given number of bins.

    Notes
    -----
    NaN propagates. A pooled axis of size 0 is a ValueError.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.global_avg_pool(np.arange(6.0).reshape(2, 3), axes=-1)
    array([[1.],
           [4.]])
    """
    return call(average_of_all, x, (axes, dtype), out)[0]


def average_of_all(axes: Any, dtype: Any) -> OpOf:
    wanted = parse_dtype(dtype)

    def op(spec: Spec) -> AvgPool:
        after = result_dtype(average_dtype(spec.dtype), wanted)
        return AvgPool(global_geometry(spec.shape, axes), native(spec.dtype), after, None, True)

    return op
