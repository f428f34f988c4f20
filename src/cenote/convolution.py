"""conv and conv_transpose: read the arguments, lay the filter on the array, run the primitive."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from .arguments import Ints, Padding
from .convolution_rules import contract
from .convolving import FORMS, promoted
from .errors import BadValue, public, shown
from .frame import Frame, conv_frame, transpose_frame
from .primitives import code_of
from .rules import operand

Layout = Literal["channels_last", "channels_first"]

# The last calls, by value: the same arguments on arrays of the same shapes and dtype go straight to the core.
CONV, TRANSPOSE = _core.ConvCallCache(), _core.ConvCallCache()


@public
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
    again = CONV.lookup(x, w, bias, given)
    if again is not None:
        return again
    data, filters = operand(x), operand(w, "w")
    frame = conv_frame(data.shape, filters.shape, stride, padding, dilation, groups, layout)
    offset = parse_bias(bias, frame.y[frame.channel_axis])
    check_dtypes(data, filters, offset)
    out = contract(frame, "y", {"x": data, "w": filters}, offset)
    remember(CONV, data, filters, offset, given, frame, "y")
    return out


@public
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
    again = TRANSPOSE.lookup(x, w, bias, given)
    if again is not None:
        return again
    data, filters = operand(x), operand(w, "w")
    frame = transpose_frame(
        data.shape, filters.shape, stride, padding, dilation, groups, output_padding, output_shape, layout
    )
    offset = parse_bias(bias, frame.x[frame.channel_axis])
    check_dtypes(data, filters, offset)
    out = contract(frame, "x", {"y": data, "w": filters}, offset)
    remember(TRANSPOSE, data, filters, offset, given, frame, "x")
    return out


def remember(
    calls: _core.ConvCallCache, x: Any, w: Any, bias: Any, given: tuple[object, ...], frame: Frame, result: str
) -> None:
    if type(x) is type(w) is np.ndarray and x.dtype is w.dtype and x.dtype.isnative:
        shape: tuple[int, ...] = getattr(frame, result)
        code = code_of(x.dtype)
        calls.insert(x, w, bias, given, frame.core, frame.groups, frame.first, FORMS[result], code, shape)


def parse_bias(bias: object, channels: int) -> Any:
    if bias is None:
        return None
    offset = operand(bias, "bias")
    if offset.shape != (channels,):
        raise BadValue(
            f"bias has shape {shown(offset.shape)}: one number per output channel is needed, shape ({channels},)"
        )
    return offset


def check_dtypes(x: Any, w: Any, bias: Any) -> None:
    if x.dtype is w.dtype and x.dtype.kind in "fiu" and (bias is None or bias.dtype is x.dtype):
        return  # the usual case, and one that cannot be wrong
    promoted({"x": x.dtype, "w": w.dtype} | ({} if bias is None else {"bias": bias.dtype}))
