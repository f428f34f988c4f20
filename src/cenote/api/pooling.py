"""max_pool, min_pool and output_shape."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import cache
from ..arguments.errors import BadType, describe_type, format_value, hints
from ..arguments.values import Padding, as_int, as_sequence
from ..core import CallCache
from ..geometry.window import parse_window
from .call import call
from .types import selection as typed_selection
from .types import sizes
from .windows import selection

LARGEST, SMALLEST = CallCache(np.ndarray), CallCache(np.ndarray)
cache.last_calls += [LARGEST, SMALLEST]
largest, smallest = partial(selection, True), partial(selection, False)


@typed_selection
def max_pool(
    x: ArrayLike,
    window: int | Sequence[int],
    *,
    stride: int | Sequence[int] | None = None,
    padding: Padding = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    axes: int | Sequence[int] | None = None,
    nan: Literal["propagate", "omit"] = "propagate",
    ties: Literal["first", "split"] = "first",
    return_indices: bool = False,
    out: NDArray[Any] | tuple[NDArray[Any], NDArray[Any]] | None = None,
) -> Any:
    """Maximum of each window.

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
        odd, the extra element goes to the high end ("same_lower": to the low end). Padding is never selected.
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
    ties : {"first", "split"}, optional
        How a derivative treats several equal largest elements: it goes to the first in row-major order, or is split
        equally among them. Values and indices do not depend on it.
    return_indices : bool, optional
        Also return the index of the selected element of each window.
    out : ndarray or pair of ndarray, optional
        Array to write the result to, which is then returned; a pair of them with ``return_indices=True``. It must have
        the shape and dtype of the result, may have any strides, and must not share memory with an input. NumPy inputs
        only.

    Returns
    -------
    y : ndarray or Tensor
        The largest element of each window, in the dtype of ``x``. A window of nothing but padding gives −inf for
        floats, the smallest value of an integer dtype, or False. On an xarray object the keyword ``coord_func`` chooses
        the coordinates along pooled dimensions: "mean", the default, "first", "last", "min", "max" or "center".
    indices : ndarray of int64
        Only with ``return_indices=True``: flat row-major index over the pooled axes of the unpadded input; −1 for a
        window without an element.

    See Also
    --------
    min_pool : Minimum of each window.
    adaptive_max_pool : Maximum of each of a given number of bins.
    global_max_pool : Maximum over whole axes.
    max_unpool : Partial inverse: put values back at their indices.
    smooth_max_pool : Differentiable approximation of the maximum.
    output_shape : Shape of the result, without data.

    Notes
    -----
    Among equal elements the first in row-major order over the window is selected, in the value, the index and the
    derivative alike; −0.0 and +0.0 are equal. With ``nan="propagate"`` the index is that of the first NaN of the
    window.

    Along an axis of size ``n`` there are ``(n + low + high - ke) // stride + 1`` windows, with
    ``ke = dilation * (k - 1) + 1`` for a window of size ``k``. A window that does not fit is a ValueError.

    The result has the same bits for every number of threads, SIMD level and memory layout.

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
    if known is not None:
        return known
    outputs = call(largest, x, given, out, LARGEST)
    return outputs if len(outputs) > 1 else outputs[0]


@typed_selection
def min_pool(
    x: ArrayLike,
    window: int | Sequence[int],
    *,
    stride: int | Sequence[int] | None = None,
    padding: Padding = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    axes: int | Sequence[int] | None = None,
    nan: Literal["propagate", "omit"] = "propagate",
    ties: Literal["first", "split"] = "first",
    return_indices: bool = False,
    out: NDArray[Any] | tuple[NDArray[Any], NDArray[Any]] | None = None,
) -> Any:
    """Minimum of each window.

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
        odd, the extra element goes to the high end ("same_lower": to the low end). Padding is never selected.
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
    ties : {"first", "split"}, optional
        How a derivative treats several equal smallest elements: it goes to the first in row-major order, or is split
        equally among them. Values and indices do not depend on it.
    return_indices : bool, optional
        Also return the index of the selected element of each window.
    out : ndarray or pair of ndarray, optional
        Array to write the result to, which is then returned; a pair of them with ``return_indices=True``. It must have
        the shape and dtype of the result, may have any strides, and must not share memory with an input. NumPy inputs
        only.

    Returns
    -------
    y : ndarray or Tensor
        The smallest element of each window, in the dtype of ``x``. A window of nothing but padding gives +inf for
        floats, the largest value of an integer dtype, or True. On an xarray object the keyword ``coord_func`` chooses
        the coordinates along pooled dimensions: "mean", the default, "first", "last", "min", "max" or "center".
    indices : ndarray of int64
        Only with ``return_indices=True``: flat row-major index over the pooled axes of the unpadded input; −1 for a
        window without an element.

    See Also
    --------
    max_pool : Maximum of each window.
    adaptive_max_pool : Maximum of each of a given number of bins.
    global_max_pool : Maximum over whole axes.
    max_unpool : Partial inverse: put values back at their indices.
    smooth_max_pool : Differentiable approximation of the maximum.
    output_shape : Shape of the result, without data.

    Notes
    -----
    Among equal elements the first in row-major order over the window is selected, in the value, the index and the
    derivative alike; −0.0 and +0.0 are equal. With ``nan="propagate"`` the index is that of the first NaN of the
    window.

    Along an axis of size ``n`` there are ``(n + low + high - ke) // stride + 1`` windows, with
    ``ke = dilation * (k - 1) + 1`` for a window of size ``k``. A window that does not fit is a ValueError.

    The result has the same bits for every number of threads, SIMD level and memory layout.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> x = np.array([3.0, 1.0, np.nan, 2.0])
    >>> cn.min_pool(x, (2,))
    array([ 1., nan])
    >>> cn.min_pool(x, (2,), nan="omit", return_indices=True)
    (array([1., 2.]), array([1, 3]))
    """
    given = (window, stride, padding, dilation, ceil_mode, axes, nan, ties, return_indices)
    known = SMALLEST.lookup(x, given) if out is None else None
    if known is not None:
        return known
    outputs = call(smallest, x, given, out, SMALLEST)
    return outputs if len(outputs) > 1 else outputs[0]


@sizes
def output_shape(
    shape: int | Sequence[int],
    window: int | Sequence[int],
    *,
    stride: int | Sequence[int] | None = None,
    padding: Padding = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    axes: int | Sequence[int] | None = None,
) -> tuple[int, ...]:
    """Shape of the result of a pooling function, without data.

    Parameters
    ----------
    shape : tuple of int
        Shape of the input, or an xarray object.
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
        odd, the extra element goes to the high end ("same_lower": to the low end).
    dilation : int or tuple of int, optional
        Spacing between the elements of a window: one int for all window axes, or one per axis.
    ceil_mode : bool, optional
        Round the output size up: keep a last window that extends past the end, if it starts inside the input or its low
        padding.
    axes : int or sequence of int, optional
        Axes of the input that the window applies to, in the order of ``window``. Defaults to the trailing axes.

    Returns
    -------
    tuple of int
        Shape that every pooling function gives for these arguments.

    See Also
    --------
    max_pool : A function with these arguments.
    conv : Has the same size rules, with stride 1 by default.

    Notes
    -----
    Along an axis of size ``n`` there are ``(n + low + high - ke) // stride + 1`` windows, with
    ``ke = dilation * (k - 1) + 1`` for a window of size ``k``. A window that does not fit is a ValueError. With
    ``ceil_mode`` it is ``-(-(n + low + high - ke) // stride) + 1``, less one if the last window would start in the high
    padding.

    Examples
    --------
    >>> import cenote as cn
    >>> cn.output_shape((8, 3, 32, 33), (3, 3), stride=2, padding="same")
    (8, 3, 16, 17)
    >>> cn.output_shape((7,), (2,)), cn.output_shape((7,), (2,), ceil_mode=True)
    ((3,), (4,))
    """
    parsed = parse_window(window, stride, padding, dilation, ceil_mode, axes)
    entries = as_sequence(shape)
    if entries is None:
        raise BadType(f"shape={format_value(shape)}: a tuple of ints is needed, not {describe_type(shape)}")
    geometry = parsed.on(tuple(as_int("shape", shape, entry, 0) for entry in entries))
    if geometry.over_colours:
        hints().warn_of_colours(geometry.shape)
    return geometry.out_shape
