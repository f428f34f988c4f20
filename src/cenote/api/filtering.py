"""correlate and convolve: filtering without channel axes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from numpy.typing import ArrayLike

from ..arguments.arrays import Array
from ..arguments.errors import Argument, BadValue, X, format_value
from ..arguments.values import MOST_AXES, Ints, addressable, choice, per_axis
from ..backends.dispatch import dispatch
from ..conv_core import promoted
from ..geometry.conv import ConvGeometry, check_extent
from ..geometry.window import by_arguments, output_size, padded_axis, parse_axes, resolve_axes
from ..ops.base import Spec
from ..ops.conv import Contract
from ..ops.filtering import Filter
from .call import finish
from .types import convolution

Mode = Literal["full", "same", "valid"]
MODES = ("full", "same", "valid")
K = Argument("k")
Shape = tuple[int, ...]


@convolution
def correlate(
    x: ArrayLike,
    k: ArrayLike,
    *,
    mode: Mode = "full",
    axes: Ints | None = None,
    stride: Ints = 1,
    dilation: Ints = 1,
    out: Array | None = None,
) -> Any:
    """Correlate ``x`` with the filter ``k``: ``y[i] = Σ x[i + t]·k[t]``, along the last axes or along ``axes``.

    There are no channel axes: all other axes of ``x`` are filtered alike. :func:`conv` has channels and padding.

    Parameters
    ----------
    x : array_like
        The data, of any rank.
    k : array_like
        The filter, with as many axes as are filtered.
    mode : {"full", "same", "valid"}
        All positions at which ``k`` and ``x`` overlap; as many as ``x`` has, centred as in
        scipy.signal.correlate; or those at which ``k`` lies inside of ``x``. Elements outside of ``x`` are zero.
    axes : int or sequence of int
        The axes of ``x`` that are filtered, in the order of the filter's; the last ones by default.
    stride : int or one int per filtered axis
        Keep every so many results.
    dilation : int or one int per filtered axis
        The distance between neighbouring elements of the filter.
    out : ndarray, optional
        Where the result goes, as for :func:`max_pool`.

    Returns
    -------
    ndarray
        The dtype is what NumPy's promotion makes of ``x`` and ``k``, as for :func:`conv`. Complex filters are not
        conjugated.

    See Also
    --------
    convolve : the same with the filter flipped, as np.convolve and scipy.signal.convolve have it.
    conv : filters over channels, as in a neural network.

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
    mode: Mode = "full",
    axes: Ints | None = None,
    stride: Ints = 1,
    dilation: Ints = 1,
    out: Array | None = None,
) -> Any:
    """Convolve ``x`` with the filter ``k``: :func:`correlate` with the filter flipped, ``y[i] = Σ x[i − t]·k[t]``.

    The arguments are those of :func:`correlate`.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> cn.convolve([1, 2, 3], [0, 1, 10])
    array([ 0,  1, 12, 23, 30])
    """
    return filtered(x, k, (mode, axes, stride, dilation), True, out)


def filtered(x: Any, k: Any, given: tuple[Any, ...], flip: bool, out: Any) -> Any:
    backend = dispatch(x, k)
    data, taps = backend.operand(x, "x"), backend.operand(k, "k")
    of_x, of_k = backend.spec(data), backend.spec(taps)
    op = by_arguments(("filter", flip, of_x, of_k), given, lambda: filter_op(of_x, of_k, flip, *given))
    return finish(backend, op, (data, taps), out)[0]


def filter_op(of_x: Spec, of_k: Spec, flip: bool, mode: Any, axes: Any, stride: Any, dilation: Any) -> Filter:
    positions = filtered_axes(of_x.shape, of_k.shape, axes)
    frame = filter_geometry(of_x.shape, of_k.shape, positions, choice("mode", mode, MODES), stride, dilation)
    dtype = promoted({"x": of_x.dtype, "k": of_k.dtype})
    return Filter(Contract(frame, "y", ("x", "w"), (of_x.dtype, of_k.dtype), dtype, dtype), positions, flip)


def filtered_axes(x: Shape, k: Shape, axes: Any) -> tuple[int, ...]:
    if not k:
        raise BadValue("k is a number: a filter has at least one axis, multiply by x instead")
    if 0 in k:
        raise BadValue(f"k has shape {format_value(k)}: a filter has at least one element")
    if len(x) >= MOST_AXES:
        raise BadValue(f"x has {len(x)} axes: at most {MOST_AXES - 1} are possible")
    where = None if axes is None else parse_axes(axes)
    return resolve_axes(where, len(k), x, (K, f" has shape {format_value(k)}, which"))


def filter_geometry(x: Shape, k: Shape, axes: tuple[int, ...], mode: str, stride: Any, dilation: Any) -> ConvGeometry:
    """The geometry of the convolution with one channel: batch axes, filtered axes, channel."""
    strides, dilations = per_axis("stride", stride, len(k), 1), per_axis("dilation", dilation, len(k), 1)
    batch = tuple(n for i, n in enumerate(x) if i not in axes)
    filtered_sizes = tuple(x[i] for i in axes)
    what = (K, f" has shape {format_value(k)}, which with mode={mode!r} on ", X, f" of shape {format_value(x)}")
    out = []
    for q, (n, taps, s, d) in enumerate(zip(filtered_sizes, k, strides, dilations, strict=True)):
        reach = (taps - 1) * d
        if n == 0:
            raise BadValue(f"x has shape {format_value(x)}: axis {axes[q]} has size 0, there is nothing to filter")
        pads = {"full": (reach, reach), "same": ((reach + 1) // 2, reach // 2), "valid": (0, 0)}[mode]
        axis = padded_axis(axes[q], n, taps, s, d, pads)
        check_extent(axis, k)
        axis = replace(axis, o=output_size(axis, False, what))
        out.append(replace(axis, position=len(batch) + q))
    y = (*batch, *(axis.o for axis in out), 1)
    addressable((K, f" has shape {format_value(k)}, ", X, f" has {format_value(x)}: the result"), y)
    return ConvGeometry(tuple(out), 1, False, (*batch, *filtered_sizes, 1), (*k, 1, 1), y)
