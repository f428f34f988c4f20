"""conv and conv_transpose: read the arguments, build the geometry, compute the Op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import cache
from ..arguments.errors import BadValue, format_value
from ..arguments.values import DTypeLike, Padding
from ..backends.dispatch import dispatch
from ..core import FORMS, ConvCallCache
from ..dtypes import DType, accumulator, code_of, has_nan, is_integer, promote, sum_dtype
from ..geometry.conv import ConvGeometry, conv_geometry, transpose_geometry
from ..ops.conv import Contract, Role
from .call import finish, parse_dtype, result_dtype
from .types import convolution

# The last calls, by value: the same arguments on arrays of the same shapes and dtype go straight to the core.
CONV, TRANSPOSE = ConvCallCache(), ConvCallCache()
cache.last_calls += [CONV, TRANSPOSE]


@convolution
def conv(
    x: ArrayLike,
    w: ArrayLike,
    *,
    bias: ArrayLike | None = None,
    stride: int | Sequence[int] = 1,
    padding: Padding = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    layout: Literal["channels_last", "channels_first"] = "channels_last",
    dtype: DTypeLike | None = None,
    out: NDArray[Any] | None = None,
) -> Any:
    """Convolution with channels, as in a neural network.

    Each output is the sum of products of a window of ``x`` with a filter of ``w``. The filters are not flipped:
    strictly, this is a cross-correlation.

    Parameters
    ----------
    x : array_like or Tensor
        Input of shape ``(*batch, *spatial, C)``, or ``(*batch, C, *spatial)`` with channels first. It has as many
        spatial axes as ``w``, at least one, and any number of batch axes, including none. A torch tensor or a JAX, dask
        or xarray array gives a result of the same kind.
    w : array_like or Tensor
        Filters of shape ``(*k, C/groups, O)``, or ``(O, C/groups, *k)`` with channels first.
    bias : array_like or Tensor, optional
        Added to the result: one number per output channel, shape ``(O,)``.
    stride : int or tuple of int, optional
        Step between windows: one int for all spatial axes, or one per axis.
    padding : int, tuple of int, tuple of (int, int) pairs, or str, optional
        Number of elements added at both ends of every spatial axis: one int for all, one int per axis, or one
        ``(low, high)`` pair per axis. "valid" adds none. "same" pads for ``ceil(n / stride)`` outputs; if the total is
        odd, the extra element goes to the high end ("same_lower": to the low end). Padding is zero.
    dilation : int or tuple of int, optional
        Spacing between the elements of a filter: one int for all spatial axes, or one per axis.
    groups : int, optional
        Number of groups that the channels are divided into, in order. Each group of output channels sees only the input
        channels of its own group; as many groups as channels is a depthwise convolution.
    layout : {"channels_last", "channels_first"}, optional
        Position of the channel axis in ``x``, ``w`` and the result.
    dtype : dtype, optional
        Dtype of the result; by default the promoted dtype of the operands. If it is given, integers are accumulated in
        64 bits, and floats in the wider of their own dtype and this one. An integer dtype gets the value rounded to
        nearest, ties to even, and clipped to its range; NaN becomes 0. An integer result has no derivative. A complex
        operand needs a complex dtype.
    out : ndarray, optional
        Array to write the result to, which is then returned. It must have the shape and dtype of the result, may have
        any strides, and must not share memory with an input. NumPy inputs only.

    Returns
    -------
    ndarray or Tensor
        Array of shape ``(*batch, *out, O)``, or ``(*batch, O, *out)`` with channels first, where the sizes ``out``
        follow from the rules of :func:`output_shape`.

    See Also
    --------
    conv_transpose : Transpose (adjoint) of this operation.
    correlate : Filtering without channel axes.
    convolve : The same with the filter flipped.
    output_shape : The size rules.

    Notes
    -----
    Integers wrap around in the promoted dtype; bool is a TypeError. float16 and bfloat16 are accumulated in float32.
    The algorithm (direct, Winograd or FFT) is chosen by cost; :func:`which_kernel` names it. The result does not depend
    on the number of threads.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> x = np.array([1, 2, 3, 4, 5]).reshape(5, 1)
    >>> w = np.array([1, 10, 100]).reshape(3, 1, 1)
    >>> cn.conv(x, w).ravel()
    array([321, 432, 543])
    >>> cn.conv(x, w, stride=2, padding="same", bias=[7]).ravel()
    array([217, 439,  61])
    >>> cn.conv(np.zeros((8, 3, 32, 32)), np.zeros((16, 3, 5, 5)), padding=2, layout="channels_first").shape
    (8, 16, 32, 32)
    """
    given = (stride, padding, dilation, groups, layout)
    again = CONV.lookup(x, w, bias, given) if dtype is None and out is None else None
    if again is not None:
        return again
    geometry = partial(conv_geometry, stride=stride, padding=padding, dilation=dilation, groups=groups, layout=layout)
    return contract(CONV, "y", x, w, bias, given, geometry, dtype, out)


@convolution
def conv_transpose(
    x: ArrayLike,
    w: ArrayLike,
    *,
    bias: ArrayLike | None = None,
    stride: int | Sequence[int] = 1,
    padding: Padding = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    output_padding: int | Sequence[int] = 0,
    output_shape: int | Sequence[int] | None = None,
    layout: Literal["channels_last", "channels_first"] = "channels_last",
    dtype: DTypeLike | None = None,
    out: NDArray[Any] | None = None,
) -> Any:
    """Transposed convolution: the adjoint of :func:`conv` with the same arguments.

    With the same array ``w``, ⟨conv(a, w), b⟩ = ⟨a, conv_transpose(b, w)⟩.

    Parameters
    ----------
    x : array_like or Tensor
        Input of shape ``(*batch, *spatial, C)``, or ``(*batch, C, *spatial)`` with channels first. A torch tensor or a
        JAX, dask or xarray array gives a result of the same kind.
    w : array_like or Tensor
        Filters of the :func:`conv` that it transposes: ``(*k, O/groups, C)``, or ``(C, O/groups, *k)`` with channels
        first.
    bias : array_like or Tensor, optional
        Added to the result: one number per output channel, shape ``(O,)``.
    stride : int or tuple of int, optional
        Spacing of the elements of ``x`` in the result: one int for all spatial axes, or one per axis.
    padding : int, tuple of int, tuple of (int, int) pairs, or str, optional
        Padding of the :func:`conv` that it transposes: that many elements are cropped from both ends of every spatial
        axis. One int for all, one int per axis, or one ``(low, high)`` pair per axis. "valid" crops none. "same" and
        "same_lower" give an output size of ``n * stride``.
    dilation : int or tuple of int, optional
        Spacing between the elements of a filter: one int for all spatial axes, or one per axis.
    groups : int, optional
        Number of groups that the channels are divided into, in order. Each group of output channels sees only the input
        channels of its own group; as many groups as channels is a depthwise convolution.
    output_padding : int or tuple of int, optional
        Additional output elements at the high end, fewer than ``max(stride, dilation)``. For a stride above 1,
        :func:`conv` maps several input sizes to one output size: this selects among them.
    output_shape : sequence of int, optional
        Spatial sizes of the result, instead of ``output_padding``. They may exceed the smallest size,
        ``(n - 1) * stride - low - high + dilation * (k - 1) + 1``, by up to ``max(stride, dilation) - 1``; with "same",
        any size that :func:`conv` maps to ``n``.
    layout : {"channels_last", "channels_first"}, optional
        Position of the channel axis in ``x``, ``w`` and the result.
    dtype : dtype, optional
        Dtype of the result; by default the promoted dtype of the operands. If it is given, integers are accumulated in
        64 bits, and floats in the wider of their own dtype and this one. An integer dtype gets the value rounded to
        nearest, ties to even, and clipped to its range; NaN becomes 0. An integer result has no derivative. A complex
        operand needs a complex dtype.
    out : ndarray, optional
        Array to write the result to, which is then returned. It must have the shape and dtype of the result, may have
        any strides, and must not share memory with an input. NumPy inputs only.

    Returns
    -------
    ndarray or Tensor
        Array of shape ``(*batch, *out, O)``, or ``(*batch, O, *out)`` with channels first.

    See Also
    --------
    conv : The operation that it transposes.
    max_unpool : Partial inverse of max pooling.

    Notes
    -----
    Elements that ``output_padding`` or ``output_shape`` add are ordinary outputs: filters that reach them contribute,
    and so does the bias. Dtypes follow the rules of :func:`conv`.

    Examples
    --------
    >>> import numpy as np, cenote as cn
    >>> x = np.array([1, 2, 3]).reshape(3, 1)
    >>> w = np.array([1, 10, 100]).reshape(3, 1, 1)
    >>> cn.conv_transpose(x, w, stride=2).ravel()
    array([  1,  10, 102,  20, 203,  30, 300])
    >>> cn.conv_transpose(x, w, stride=2, padding=1, output_padding=1).ravel()
    array([ 10, 102,  20, 203,  30, 300])
    >>> cn.conv_transpose(x, w, stride=2, padding="same").shape
    (6, 1)
    """
    given = (stride, padding, dilation, groups, output_padding, output_shape, layout)
    again = TRANSPOSE.lookup(x, w, bias, given) if dtype is None and out is None else None
    if again is not None:
        return again
    geometry = partial(
        transpose_geometry, stride=stride, padding=padding, dilation=dilation, groups=groups,
        output_padding=output_padding, output_shape=output_shape, layout=layout,
    )  # fmt: skip
    return contract(TRANSPOSE, "x", x, w, bias, given, geometry, dtype, out)


def wide_accumulator(natural: DType, result: DType) -> DType:
    """What a convolution is computed in if a dtype for its result is given: integers in 64 bits, floats in the wider of
    the two, half precision in single."""
    if is_integer(natural):
        return sum_dtype(natural)
    wide = accumulator(natural)
    return np.result_type(wide, accumulator(result)) if has_nan(result) else wide


def contract(
    calls: ConvCallCache,
    result: Role,
    x: Any,
    w: Any,
    bias: Any,
    given: tuple[object, ...],
    geometry_of: Callable[[tuple[int, ...], tuple[int, ...]], ConvGeometry],
    dtype: Any,
    out: Any,
) -> Any:
    """conv and conv_transpose: the same form, read from x to y or from y to x."""
    backend = dispatch(x, w, bias)
    data, filters = backend.operand(x, "x"), backend.operand(w, "w")
    of_data, of_filters = backend.spec(data), backend.spec(filters)
    geometry = geometry_of(of_data.shape, of_filters.shape)
    shape: tuple[int, ...] = getattr(geometry, result)
    operands, dtypes = [data, filters], {"x": of_data.dtype, "w": of_filters.dtype}
    if bias is not None:
        operands.append(backend.operand(bias, "bias"))
        offset = backend.spec(operands[2])
        channels = shape[geometry.channel_axis]
        if offset.shape != (channels,):
            raise BadValue(
                f"bias has shape {format_value(offset.shape)}: one number per output channel is needed, shape "
                f"({channels},)"
            )
        dtypes["bias"] = offset.dtype
    work = promote(dtypes)
    after = result_dtype(work, parse_dtype(dtype))
    if dtype is not None:
        work = wide_accumulator(work, after)
    op = Contract(geometry, result, ("y" if result == "x" else "x", "w"), tuple(dtypes.values()), work, after)
    (made,) = finish(backend, op, tuple(operands), out)
    plain = all(type(operand) is np.ndarray and operand.dtype == work for operand in operands)
    if plain and dtype is None and out is None:
        calls.insert(
            data, filters, operands[2] if bias is not None else None, given,
            geometry.core_axes, geometry.groups, geometry.channels_first, FORMS[result], code_of(work), shape,
        )  # fmt: skip
    return made
