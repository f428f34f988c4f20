"""conv and conv_transpose: read the arguments, lay the filter on the array, run the primitive."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .. import _core, cache
from ..arguments.arrays import Array, DType, has_nan
from ..arguments.errors import BadValue, format_value
from ..arguments.values import Ints, Padding
from ..backends.dispatch import dispatch
from ..conv_core import FORMS, promoted
from ..core import code_of, is_half
from ..geometry.conv import ConvGeometry, conv_frame, transpose_frame
from ..ops.conv import Contract, Role
from .call import finish, parse_dtype, result_dtype
from .types import convolution

Layout = Literal["channels_last", "channels_first"]

# The last calls, by value: the same arguments on arrays of the same shapes and dtype go straight to the core.
CONV, TRANSPOSE = _core.ConvCallCache(), _core.ConvCallCache()
cache.last_calls += [CONV, TRANSPOSE]


@convolution
def conv(
    x: ArrayLike,
    w: ArrayLike,
    *,
    bias: ArrayLike | None = None,
    stride: Ints = 1,
    padding: Padding = 0,
    dilation: Ints = 1,
    groups: int = 1,
    layout: Layout = "channels_last",
    dtype: DTypeLike | None = None,
    out: Array | None = None,
) -> Any:
    """Convolve ``x`` with the filters ``w``: each window of ``x`` times each filter, added up. Nothing is flipped.

    Parameters
    ----------
    x : array_like
        The data, ``(*batch, *spatial, C)``, or ``(*batch, C, *spatial)`` with channels first. There are as many
        spatial axes as ``w`` has, and any number of batch axes, none included.
    w : array_like
        The filters, ``(*k, C/groups, O)``, or ``(O, C/groups, *k)`` with channels first.
    bias : array_like, optional
        One number per output channel, ``(O,)``, which is added to it.
    stride : int or one int per spatial axis
        The step from one window to the next.
    padding : int, one int per axis, one (low, high) pair per axis, "valid", "same" or "same_lower"
        Zeros around the spatial axes. "same" gives ⌈n/stride⌉ outputs, with the odd cell at the high end;
        "same_lower" has it at the low end.
    dilation : int or one int per axis
        The distance between neighbouring cells of a filter.
    groups : int
        Into how many groups the channels are divided, in order: those of one group of ``x`` go to the same group of
        the output and to no other. With as many groups as channels it is depthwise.
    layout : {"channels_last", "channels_first"}
        Where the channels stand in ``x``, ``w`` and the result.
    dtype : dtype, optional
        Of the result, as for :func:`avg_pool`. Integers are then added in 64 bits, half precision in single.
    out : ndarray, optional
        Where the result goes, as for :func:`max_pool`.

    Returns
    -------
    ndarray
        The dtype is what NumPy's promotion makes of ``x``, ``w`` and ``bias``. Integers wrap around in it; float16
        and bfloat16 are added in float32. bool is a TypeError.

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
    frame = partial(conv_frame, stride=stride, padding=padding, dilation=dilation, groups=groups, layout=layout)
    return contract(CONV, "y", x, w, bias, given, frame, dtype, out)


@convolution
def conv_transpose(
    x: ArrayLike,
    w: ArrayLike,
    *,
    bias: ArrayLike | None = None,
    stride: Ints = 1,
    padding: Padding = 0,
    dilation: Ints = 1,
    groups: int = 1,
    output_padding: Ints = 0,
    output_shape: Ints | None = None,
    layout: Layout = "channels_last",
    dtype: DTypeLike | None = None,
    out: Array | None = None,
) -> Any:
    """The adjoint of :func:`conv` with the same arguments and the same array ``w``: each cell of ``x`` times each
    filter, added up where the filters lie. ⟨conv(a, w), b⟩ = ⟨a, conv_transpose(b, w)⟩.

    Parameters
    ----------
    x : array_like
        The data, ``(*batch, *spatial, C)``, or ``(*batch, C, *spatial)`` with channels first.
    w : array_like
        The filters of :func:`conv`: seen from here ``(*k, O/groups, C)``, or ``(C, O/groups, *k)`` with channels first.
    bias : array_like, optional
        One number per output channel, ``(O,)``, which is added to it.
    stride, dilation, groups, layout
        Those of :func:`conv`: a stride spreads the cells of ``x``.
    padding : int, one int per axis, one (low, high) pair per axis, "valid", "same" or "same_lower"
        That of :func:`conv`: cells taken away from the result. With "same" the result has n·stride cells.
    output_padding : int or one int per axis
        More cells at the high end, less than max(stride, dilation): a stride maps inputs of several sizes to one.
        They are cells like others, and get what reaches them.
    output_shape : sequence of int, optional
        The spatial sizes of the result, instead of ``output_padding``: from the least, (n − 1)·stride − low − high +
        (k − 1)·dilation + 1, to max(stride, dilation) − 1 more. With "same" also any size of which :func:`conv`
        makes n.
    dtype, out
        Those of :func:`conv`.

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
    frame = partial(
        transpose_frame, stride=stride, padding=padding, dilation=dilation, groups=groups,
        output_padding=output_padding, output_shape=output_shape, layout=layout,
    )  # fmt: skip
    return contract(TRANSPOSE, "x", x, w, bias, given, frame, dtype, out)


def accumulator(natural: DType, result: DType) -> DType:
    """What a convolution is computed in if a dtype for its result is given: integers in 64 bits, floats in the wider of
    the two, half precision in single."""
    if natural.kind in "iu":
        return np.dtype(np.uint64 if natural.kind == "u" else np.int64)
    wide = np.dtype(np.float32) if is_half(natural) else natural
    return np.result_type(wide, result) if has_nan(result) and not is_half(result) else wide


def contract(
    calls: _core.ConvCallCache,
    result: Role,
    x: Any,
    w: Any,
    bias: Any,
    given: tuple[object, ...],
    frame_of: Callable[[tuple[int, ...], tuple[int, ...]], ConvGeometry],
    dtype: Any,
    out: Any,
) -> Any:
    """conv and conv_transpose: the same form, read from x to y or from y to x."""
    backend = dispatch(x, w, bias)
    data, filters = backend.operand(x, "x"), backend.operand(w, "w")
    of_data, of_filters = backend.spec(data), backend.spec(filters)
    frame = frame_of(of_data.shape, of_filters.shape)
    shape: tuple[int, ...] = getattr(frame, result)
    operands, dtypes = [data, filters], {"x": of_data.dtype, "w": of_filters.dtype}
    if bias is not None:
        operands.append(backend.operand(bias, "bias"))
        offset = backend.spec(operands[2])
        channels = shape[frame.channel_axis]
        if offset.shape != (channels,):
            raise BadValue(
                f"bias has shape {format_value(offset.shape)}: one number per output channel is needed, shape "
                f"({channels},)"
            )
        dtypes["bias"] = offset.dtype
    work = promoted(dtypes)
    after = result_dtype(work, parse_dtype(dtype))
    if dtype is not None:
        work = accumulator(work, after)
    op = Contract(frame, result, ("y" if result == "x" else "x", "w"), tuple(dtypes.values()), work, after)
    (made,) = finish(backend, op, tuple(operands), out)
    plain = all(type(operand) is np.ndarray and operand.dtype == work for operand in operands)
    if plain and dtype is None and out is None:
        code = code_of(work)
        calls.insert(data, filters, operands[2] if bias is not None else None, given, frame.core, frame.groups,
                     frame.first, FORMS[result], code, shape)  # fmt: skip
    return made
