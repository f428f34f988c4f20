"""The pooling and convolution of ``torch.nn.functional``, called the same way, on NumPy arrays and Tensors.

Channels come first: an input is ``(C, *spatial)`` or ``(N, C, *spatial)``. Sizes, values and indices are torch's, and
what torch refuses is refused, with a ValueError or a TypeError that says why. Where torch is wrong or cannot, the rule
of cenote holds:

- of several NaN in a window the first is chosen, not the last; a window of padding only, which dilation makes
  possible, has index −1;
- ``lp_pool`` is the p-norm, (Σ|x|ᵖ)^(1/p): no NaN for negative numbers, and nothing is scaled in ``ceil_mode``;
- of several values that ``max_unpool`` puts in one element the last is kept, and the gradient goes to it alone;
- every real dtype has a maximum, half precision an average and every integer a transposed convolution, in every
  dimension;
- a convolution of no input channels is the bias, in all output channels; a transposed one whose padding leaves nothing
  is refused, never empty.

>>> import numpy as np
>>> from cenote.dialects import torch as F
>>> x = np.arange(16.0).reshape(1, 4, 4)
>>> F.max_pool2d(x, 2)
array([[[ 5.,  7.],
        [13., 15.]]])
>>> F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False)
array([[[ 2.5,  4. ],
        [ 8.5, 10. ]]])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..api import adaptive, convolution, norms, pooling, sums, unpooling
from ..arguments.errors import BadType, BadValue, format_value, public
from ..arguments.values import Ints, as_flag, real_number
from ..backends.dispatch import dispatch
from ..dtypes import has_nan, is_complex, is_signed
from ._common import astype, call, dtype_of
from ._missing import missing_names
from ._torch import (
    NAMES,
    bins,
    by_rank,
    check_averaged,
    check_indices,
    check_kernel,
    checked_divisor,
    operands,
    per_axis,
    planes,
    strung,
    truncated_average,
    unpooled,
    window_arguments,
)
from ._torch_words import document

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]

if not TYPE_CHECKING:  # type checkers would take any name for an attribute
    __getattr__ = missing_names(__name__, __all__)

Sizes = int | Sequence[int | None]


def _max_pool(
    rank: int,
    input: ArrayLike,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window over the trailing axes.

    >>> import numpy as np
    >>> from cenote.dialects import torch as F
    >>> F.max_pool1d(np.array([[1.0, 5.0, 2.0, 4.0]]), 2)
    array([[5., 4.]])
    >>> values, indices = F.max_pool2d(np.arange(16.0).reshape(1, 4, 4), (2, 3), stride=2, return_indices=True)
    >>> values, indices
    (array([[[ 6.],
            [14.]]]), array([[[ 6],
            [14]]]))

    A window argument is an int, one int per axis, or a tuple of one int for all axes; ``stride`` is the kernel's size
    by default. ``padding`` is never chosen, and at most half of the kernel's size. ``indices`` are flat over the
    spatial axes of the input.
    """
    data = planes(rank, input)
    window = window_arguments(rank, kernel_size, stride, padding, dilation, ceil_mode)
    wanted = as_flag("return_indices", return_indices)
    return call(pooling.max_pool, NAMES, data, **window, return_indices=wanted)


max_pool1d, max_pool2d, max_pool3d = by_rank(_max_pool)


@public
def avg_pool1d(
    input: ArrayLike,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """The average of each window; the arguments are those of :func:`avg_pool2d`.

    >>> import numpy as np
    >>> from cenote.dialects import torch as F
    >>> F.avg_pool1d(np.array([[1.0, 2.0, 3.0, 4.0, 5.0]]), 2, ceil_mode=True)
    array([[1.5, 3.5, 5. ]])
    """
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def _avg_pool(
    rank: int,
    input: ArrayLike,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """The average of each window over the trailing axes.

    >>> import numpy as np
    >>> from cenote.dialects import torch as F
    >>> x = np.arange(16.0).reshape(1, 4, 4)
    >>> F.avg_pool2d(x, 2)
    array([[[ 2.5,  4.5],
            [10.5, 12.5]]])
    >>> F.avg_pool2d(x, 2, divisor_override=1)
    array([[[10., 18.],
            [42., 50.]]])
    >>> F.avg_pool2d(np.array([[[-1, -2], [0, 0]]]), 2)
    array([[[0]]])

    ``padding`` counts as zeros, and in the divisor unless ``count_include_pad`` is False; positions beyond it, which
    ``ceil_mode`` allows, are never counted. ``divisor_override``, any int but 0, overrides both. As in torch an average
    of int64 is an int64, truncated towards zero; torch has none of other integers, and neither has this: their average
    would have to be either that or a float, and a TypeError says so. ``avg_pool3d`` takes no kernel that is larger than
    the input, however it is padded.
    """
    data = planes(rank, input)
    dtype = dtype_of(data)
    check_averaged(dtype)
    window = window_arguments(rank, kernel_size, stride, padding, 1, ceil_mode)
    if rank == 3:
        check_kernel(kernel_size, window["window"], tuple(data.shape))
    include_pad = as_flag("count_include_pad", count_include_pad)
    divisor = None if divisor_override is None else checked_divisor(divisor_override)
    if is_signed(dtype):
        return truncated_average(data, window, include_pad, divisor)
    return call(sums.avg_pool, NAMES, data, **window, count_include_pad=include_pad, divisor=divisor)


avg_pool2d, avg_pool3d = by_rank(_avg_pool)[1:]


def _lp_pool(
    rank: int,
    input: ArrayLike,
    norm_type: float,
    kernel_size: Ints,
    stride: Ints | None = None,
    ceil_mode: bool = False,
) -> Any:
    """The p-norm of each window, (Σ|x|ᵖ)^(1/p), where p is ``norm_type``.

    >>> import numpy as np
    >>> from cenote.dialects import torch as F
    >>> F.lp_pool1d(np.array([[3.0, -4.0, 6.0, 8.0]]), 2, 2)
    array([[ 5., 10.]])
    >>> F.lp_pool1d(np.array([[3.0, -4.0, 6.0, 8.0]]), -np.inf, 2)
    array([[3., 6.]])

    ``norm_type`` is any number above 0; ``inf`` gives the largest and ``-inf`` the smallest magnitude. torch leaves out
    the |·|, which gives a signed sum for p = 1, and NaN for negative sums with other odd p. It also scales the windows
    that ``ceil_mode`` adds, and takes roots of truncated averages of integers: here the norm is what its name says.
    """
    data = planes(rank, input)
    dtype = dtype_of(data)
    if is_complex(dtype):
        raise BadType(f"input has dtype {dtype}: a real dtype is needed, pool its absolute value instead")
    power = real_number("norm_type", norm_type)
    if not power > 0 and power != -math.inf:
        raise BadValue(f"norm_type={format_value(norm_type)}: a number above 0 is needed, or inf or -inf")
    window = window_arguments(rank, kernel_size, stride, 0, 1, ceil_mode)
    if power > 0:
        return call(norms.lp_pool, NAMES, data, **window, p=power)
    return call(pooling.min_pool, NAMES, abs(data if has_nan(dtype) else astype(data, np.float64)), **window)


lp_pool1d, lp_pool2d, lp_pool3d = by_rank(_lp_pool)


def _adaptive_max_pool(rank: int, input: ArrayLike, output_size: Sizes, return_indices: bool = False) -> Any:
    """The largest element of each of ``output_size`` bins, which cover the spatial axes as evenly as they can.

    >>> import numpy as np
    >>> from cenote.dialects import torch as F
    >>> F.adaptive_max_pool1d(np.array([[1.0, 2.0, 3.0]]), 5)
    array([[1., 2., 2., 3., 3.]])
    >>> F.adaptive_max_pool2d(np.arange(12.0).reshape(1, 3, 4), (None, 2), return_indices=True)[1]
    array([[[ 1,  3],
            [ 5,  7],
            [ 9, 11]]])

    ``output_size`` is an int, or one entry per axis, of which None keeps its axis, except in one dimension.
    """
    data = planes(rank, input, channels=False)
    sizes = bins(rank, output_size)
    wanted = as_flag("return_indices", return_indices)
    return call(adaptive.adaptive_max_pool, NAMES, data, sizes, return_indices=wanted)


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = by_rank(_adaptive_max_pool)


def _adaptive_avg_pool(rank: int, input: ArrayLike, output_size: Sizes) -> Any:
    """The average of each of ``output_size`` bins; the bins are those of :func:`adaptive_max_pool1d`.

    >>> import numpy as np
    >>> from cenote.dialects import torch as F
    >>> F.adaptive_avg_pool1d(np.array([[1.0, 2.0, 3.0, 4.0, 5.0]]), 3)
    array([[1.5, 3. , 4.5]])

    As in torch there is none of integers.
    """
    data = planes(rank, input, channels=False)
    dtype = dtype_of(data)
    if not has_nan(dtype):
        raise BadType(f"input has dtype {dtype}: torch averages only floats here, convert it")
    return call(adaptive.adaptive_avg_pool, NAMES, data, bins(rank, output_size))


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = by_rank(_adaptive_avg_pool)


def _max_unpool(
    rank: int,
    input: ArrayLike,
    indices: ArrayLike,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    output_size: Sequence[int] | None = None,
) -> Any:
    """Pooled values put back where they came from, and zero everywhere else.

    >>> import numpy as np
    >>> from cenote.dialects import torch as F
    >>> values, indices = F.max_pool1d(np.array([[1.0, 5.0, 2.0, 4.0, 3.0]]), 2, return_indices=True)
    >>> F.max_unpool1d(values, indices, 2)
    array([[0., 5., 0., 4.]])
    >>> F.max_unpool1d(values, indices, 2, output_size=(5,))
    array([[0., 5., 0., 4., 0.]])

    ``output_size`` has the spatial sizes of the result, or its whole batched shape: each less than a stride away from
    (n − 1)·stride − 2·padding + kernel, which is the default. ``indices`` are int64 and none may lie outside.
    """
    data = planes(rank, input)
    backend = dispatch(data, indices)
    where = backend.operand(indices, "indices")
    if dtype_of(where) != np.int64:
        raise BadType(f"indices has dtype {where.dtype}: int64 is needed, as return_indices=True gives them")
    shape = tuple(data.shape)
    if tuple(where.shape) != shape:
        raise BadValue(f"indices has shape {tuple(where.shape)}, input has shape {shape}: they must agree")
    window, sizes = unpooled(rank, shape, kernel_size, stride, padding, output_size)
    if type(where) is np.ndarray:  # elsewhere values may not be there yet, and the Op looks at them
        check_indices(where, sizes)
    return call(unpooling.max_unpool, NAMES, data, where, **window)


max_unpool1d, max_unpool2d, max_unpool3d = by_rank(_max_unpool)


def _conv(
    rank: int,
    input: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Any:
    """Sum of the products of each window of the input, (N, C, …), with each filter of ``weight``, (O, C/groups, …).

    >>> import numpy as np
    >>> from cenote.dialects import torch as F
    >>> x, w = np.arange(1.0, 6.0).reshape(1, 5), np.array([[[1.0, 10.0, 100.0]]])
    >>> F.conv1d(x, w)
    array([[321., 432., 543.]])
    >>> F.conv1d(x, w, bias=np.array([0.5]), stride=2, padding=1)
    array([[210.5, 432.5,  54.5]])
    >>> F.conv2d(np.zeros((1, 4, 8, 8)), np.zeros((6, 2, 3, 3)), padding="same", groups=2).shape
    (1, 6, 8, 8)

    ``stride``, ``padding`` and ``dilation`` are an int, one int per axis, or a tuple of one int for all axes;
    ``padding`` may be "valid", or "same" with a stride of 1. Input, weight and bias are of one dtype.
    """
    data, filters, offset = operands(rank, input, weight, bias)
    strides = per_axis("stride", stride, rank, 1)
    pads = strung(padding, strides) if isinstance(padding, str) else per_axis("padding", padding, rank, 0)
    options = {"stride": strides, "padding": pads, "dilation": per_axis("dilation", dilation, rank, 1)}
    return call(convolution.conv, NAMES, data, filters, bias=offset, groups=groups, layout="channels_first", **options)


conv1d, conv2d, conv3d = by_rank(_conv)


def _conv_transpose(
    rank: int,
    input: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    stride: Ints = 1,
    padding: Ints = 0,
    output_padding: Ints = 0,
    groups: int = 1,
    dilation: Ints = 1,
) -> Any:
    """Each element of the input, (N, C, …), times each filter of ``weight``, (C, O/groups, …), overlaps summed.

    >>> import numpy as np
    >>> from cenote.dialects import torch as F
    >>> x, w = np.arange(1.0, 4.0).reshape(1, 3), np.array([[[1.0, 10.0, 100.0]]])
    >>> F.conv_transpose1d(x, w, stride=2)
    array([[  1.,  10., 102.,  20., 203.,  30., 300.]])
    >>> F.conv_transpose1d(x, w, stride=2, padding=1, output_padding=1)
    array([[ 10., 102.,  20., 203.,  30., 300.]])

    ``padding`` removes elements at both ends, ``output_padding``, which is less than the stride or the dilation, adds
    some at the high one. There is no padding by name.
    """
    data, filters, offset = operands(rank, input, weight, bias)
    if isinstance(padding, str):
        raise BadType(f"padding={format_value(padding)}: an int or one int per axis is needed, not a str")
    options = {
        "stride": per_axis("stride", stride, rank, 1),
        "padding": per_axis("padding", padding, rank, 0),
        "output_padding": per_axis("output_padding", output_padding, rank, 0),
        "dilation": per_axis("dilation", dilation, rank, 1),
    }
    return call(
        convolution.conv_transpose, NAMES, data, filters, bias=offset, groups=groups, layout="channels_first", **options
    )


conv_transpose1d, conv_transpose2d, conv_transpose3d = by_rank(_conv_transpose)

for _name in __all__:
    document(_name, globals()[_name])
