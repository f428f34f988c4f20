"""correlate and convolve: filtering without channel axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from numpy.typing import ArrayLike, NDArray

from ..arguments.errors import Argument, BadValue, X, format_value, hints
from ..arguments.values import MOST_AXES, addressable, choice, per_axis
from ..backends.dispatch import dispatch
from ..dtypes import promote
from ..geometry.conv import ConvGeometry, check_extent
from ..geometry.window import by_arguments, output_size, over_colours, padded_axis, parse_axes, resolve_axes
from ..ops.base import Spec
from ..ops.conv import Contract
from ..ops.filtering import Filter
from .call import finish
from .types import convolution

MODES = ("full", "same", "valid")
K = Argument("k")
Shape = tuple[int, ...]


@convolution
def correlate(
    x: ArrayLike,
    k: ArrayLike,
    *,
    mode: Literal["full", "same", "valid"] = "full",
    axes: int | Sequence[int] | None = None,
    stride: int | Sequence[int] = 1,
    dilation: int | Sequence[int] = 1,
    out: NDArray[Any] | None = None,
) -> Any:
    """Cross-correlation with a filter, without channel axes: ``y[i] = Σ x[i + t]·k[t]``.

    Parameters
    ----------
    x : array_like or Tensor
        Input of any rank. Axes that are not filtered are batch axes. A torch tensor or a JAX, dask or xarray array
        gives a result of the same kind.
    k : array_like or Tensor
        Filter with one axis for each filtered axis of ``x``.
    mode : {"full", "same", "valid"}, optional
        "full": every position at which ``k`` and ``x`` overlap. "same": as many outputs as ``x`` has elements, centred
        as in ``scipy.signal``. "valid": positions at which ``k`` lies inside ``x``. Elements outside ``x`` are zero.
    axes : int or sequence of int, optional
        Axes of ``x`` to filter along, in the order of the axes of ``k``. Defaults to the trailing axes. For an xarray
        object: dimension names.
    stride : int or tuple of int, optional
        Step between outputs: one int for all filtered axes, or one per axis.
    dilation : int or tuple of int, optional
        Spacing between the elements of the filter: one int for all filtered axes, or one per axis.
    out : ndarray, optional
        Array to write the result to, which is then returned. It must have the shape and dtype of the result, may have
        any strides, and must not share memory with an input. NumPy inputs only.

    Returns
    -------
    ndarray or Tensor
        Filtered array, in the promoted dtype of ``x`` and ``k``.

    See Also
    --------
    convolve : The same with the filter flipped.
    conv : Filters over channels, with padding, as in a neural network.
    avg_pool : Moving average.

    Notes
    -----
    A complex filter is not conjugated: for the complex correlation of ``np.correlate`` and ``scipy.signal.correlate``
    pass ``k.conj()``.

    If ``k`` is longer than ``x``, NumPy swaps the two for "same" and "valid", and SciPy for "valid". cenote does not:
    "same" has the size of ``x``, and "valid" is a ValueError.

    Long filters are applied by FFT where that is faster. Integers wrap around in the promoted dtype; bool is a
    TypeError.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> x = np.array([1, 2, 3, 4])
    >>> cn.correlate(x, [1, 0, -1], mode="valid")
    array([-2, -2])
    >>> cn.correlate(x, [1, 10], mode="same")
    array([10, 21, 32, 43])
    >>> cn.correlate(np.eye(3), np.ones((2, 2)), mode="valid")
    array([[2., 1.],
           [1., 2.]])
    """
    return filtered(x, k, (mode, axes, stride, dilation), False, out)


@convolution
def convolve(
    x: ArrayLike,
    k: ArrayLike,
    *,
    mode: Literal["full", "same", "valid"] = "full",
    axes: int | Sequence[int] | None = None,
    stride: int | Sequence[int] = 1,
    dilation: int | Sequence[int] = 1,
    out: NDArray[Any] | None = None,
) -> Any:
    """Convolution with a filter, without channel axes: ``y[i] = Σ x[i − t]·k[t]``.

    The filter is flipped, as in ``np.convolve`` and ``scipy.signal.convolve``.

    Parameters
    ----------
    x : array_like or Tensor
        Input of any rank. Axes that are not filtered are batch axes. A torch tensor or a JAX, dask or xarray array
        gives a result of the same kind.
    k : array_like or Tensor
        Filter with one axis for each filtered axis of ``x``.
    mode : {"full", "same", "valid"}, optional
        "full": every position at which ``k`` and ``x`` overlap. "same": as many outputs as ``x`` has elements, centred
        as in ``scipy.signal``. "valid": positions at which ``k`` lies inside ``x``. Elements outside ``x`` are zero.
    axes : int or sequence of int, optional
        Axes of ``x`` to filter along, in the order of the axes of ``k``. Defaults to the trailing axes. For an xarray
        object: dimension names.
    stride : int or tuple of int, optional
        Step between outputs: one int for all filtered axes, or one per axis.
    dilation : int or tuple of int, optional
        Spacing between the elements of the filter: one int for all filtered axes, or one per axis.
    out : ndarray, optional
        Array to write the result to, which is then returned. It must have the shape and dtype of the result, may have
        any strides, and must not share memory with an input. NumPy inputs only.

    Returns
    -------
    ndarray or Tensor
        Filtered array, in the promoted dtype of ``x`` and ``k``.

    See Also
    --------
    correlate : The same without the flip.
    conv : Filters over channels, with padding, as in a neural network.

    Notes
    -----
    If ``k`` is longer than ``x``, NumPy swaps the two for "same" and "valid", and SciPy for "valid". cenote does not:
    "same" has the size of ``x``, and "valid" is a ValueError.

    Long filters are applied by FFT where that is faster. Integers wrap around in the promoted dtype; bool is a
    TypeError.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.convolve([1, 2, 3], [0, 1, 10])
    array([ 0,  1, 12, 23, 30])
    >>> cn.convolve(np.ones((2, 5)), [1, 2, 1], mode="same", axes=1)
    array([[3., 4., 4., 4., 3.],
           [3., 4., 4., 4., 3.]])
    """
    return filtered(x, k, (mode, axes, stride, dilation), True, out)


def filtered(x: Any, k: Any, given: tuple[Any, ...], flip: bool, out: Any) -> Any:
    backend = dispatch(x, k)
    data, taps = backend.operand(x, "x"), backend.operand(k, "k")
    of_x, of_k = backend.spec(data), backend.spec(taps)
    op = by_arguments(filter_op, (of_x, of_k, flip), given)
    if given[1] is None and over_colours(None, of_k.shape, of_x.shape):
        hints().warn_of_colours(of_x.shape)
    return finish(backend, op, (data, taps), out)[0]


def filter_op(of_x: Spec, of_k: Spec, flip: bool, mode: Any, axes: Any, stride: Any, dilation: Any) -> Filter:
    positions = filtered_axes(of_x.shape, of_k.shape, axes)
    geometry = filter_geometry(of_x.shape, of_k.shape, positions, choice("mode", mode, MODES), stride, dilation)
    dtype = promote({"x": of_x.dtype, "k": of_k.dtype})
    return Filter(Contract(geometry, "y", ("x", "w"), (of_x.dtype, of_k.dtype), dtype, dtype), positions, flip)


def filtered_axes(x: Shape, k: Shape, axes: Any) -> tuple[int, ...]:
    if not k:
        raise BadValue("k is a number: a filter has at least one axis, multiply by x instead")
    if 0 in k:
        raise BadValue(f"k has shape {format_value(k)}: a filter has at least one element")
    if len(x) >= MOST_AXES:
        raise BadValue(f"x has {len(x)} axes: at most {MOST_AXES - 1} are possible")
    where = None if axes is None else parse_axes(axes)
    return resolve_axes(where, len(k), x, lambda: (K, f" has shape {format_value(k)}, which"))


def filter_geometry(x: Shape, k: Shape, axes: tuple[int, ...], mode: str, stride: Any, dilation: Any) -> ConvGeometry:
    """The geometry of the convolution with one channel: batch axes, filtered axes, channel."""
    strides, dilations = per_axis("stride", stride, len(k), 1), per_axis("dilation", dilation, len(k), 1)
    batch = tuple(n for i, n in enumerate(x) if i not in axes)
    filtered_sizes = tuple(x[i] for i in axes)

    def what() -> tuple[str, ...]:
        return K, f" has shape {format_value(k)}, which with mode={mode!r} on ", X, f" of shape {format_value(x)}"

    out = []
    for q, (n, taps, s, d) in enumerate(zip(filtered_sizes, k, strides, dilations, strict=True)):
        span = (taps - 1) * d
        if n == 0:
            raise BadValue(f"x has shape {format_value(x)}: axis {axes[q]} has size 0, there is nothing to filter")
        pads = {"full": (span, span), "same": ((span + 1) // 2, span // 2), "valid": (0, 0)}[mode]
        axis = padded_axis(axes[q], n, taps, s, d, pads)
        check_extent(axis, k)
        axis = replace(axis, o=output_size(axis, False, what))
        out.append(replace(axis, position=len(batch) + q))
    y = (*batch, *(axis.o for axis in out), 1)
    addressable(lambda: (K, f" has shape {format_value(k)}, ", X, f" has {format_value(x)}: the result"), y)
    return ConvGeometry(tuple(out), 1, False, (*batch, *filtered_sizes, 1), (*k, 1, 1), y)
