"""mygrad's ``max_pool``, ``conv_nd`` and its Tensors.

>>> from cenote.dialects import mygrad as mg
>>> x = mg.Tensor([[0.0, 10.0, 8.0], [2.0, 7.0, 3.0], [5.0, 7.0, 20.0]])
>>> out = mg.max_pool(x, pool=(2, 2), stride=1)
>>> out
Tensor([[10., 10.],
        [ 7., 20.]])
>>> out.sum().backward()
>>> x.grad
array([[0., 2., 0.],
       [0., 1., 0.],
       [0., 0., 1.]])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .. import convolution, pooling
from ..arguments import MOST_AXES, Ints, as_flag, as_int, per_axis
from ..arrays import NATIVE, Array, as_array, has_nan, is_bfloat16
from ..errors import BadType, BadValue, counted, public, shown
from ..graph import Node
from ..rules import operand
from ..tensor import Tensor, make
from ._common import call, ints

__all__ = ["Tensor", "conv_nd", "max_pool", "tensor"]

NAMES = {"window": "pool", "w": "filter_bank"}


@public
def max_pool(x: ArrayLike, pool: Ints, stride: Ints, *, constant: bool | None = None) -> Tensor:
    """The largest cell of each window over the trailing axes, as a Tensor.

    >>> import numpy as np
    >>> from cenote.dialects import mygrad as mg
    >>> mg.max_pool([[0.0, 10.0, 8.0], [9.0, 7.0, 3.0]], pool=(2,), stride=1)
    Tensor([[10., 10.],
            [ 9.,  7.]])
    >>> mg.max_pool(np.zeros((10, 3, 12, 12)), (2, 2), (2, 1)).shape
    (10, 3, 6, 11)
    >>> mg.max_pool([1.0, 2.0, 3.0], (2,), 2)
    Traceback (most recent call last):
        ...
    ValueError: max_pool: stride=2 does not bring pool=(2,) to the end of shape (3,): 1 cell of axis 0 is left over

    Parameters
    ----------
    x : array_like or Tensor
        Anything but a Tensor is a constant.
    pool : tuple of int
        The size of the window on each of the last ``len(pool)`` axes.
    stride : int or tuple of int
        The step of the window, which must reach the end of each axis exactly: nothing is left over.
    constant : bool, optional
        True gives a constant Tensor. False gives one that is not: where ``x`` is a constant, a new variable.
    """
    data = operand(x)
    sizes = ints("pool", pool, 1)
    if not sizes:
        raise BadValue(f"pool={shown(pool)} is empty: give one size for each axis to pool, such as (2, 2)")
    steps = per_axis("stride", stride, len(sizes), 1)
    number = call(pooling.output_shape, NAMES, data.shape, sizes, stride=steps)
    for axis, (k, s) in enumerate(zip(sizes, steps, strict=True), data.ndim - len(sizes)):
        left = data.shape[axis] - k - (number[axis] - 1) * s
        if left:
            raise BadValue(
                f"stride={shown(stride)} does not bring pool={shown(pool)} to the end of shape {shown(data.shape)}: "
                f"{counted(left, 'cell', 'cells')} of axis {axis} {'is' if left == 1 else 'are'} left over"
            )
    known = None if constant is None else as_flag("constant", constant)
    return as_tensor(call(pooling.max_pool, NAMES, data, sizes, stride=steps), known)


def as_tensor(out: Any, constant: bool | None) -> Tensor:
    if not isinstance(out, Tensor):
        return variable(out, constant is None or constant)
    return out if constant in (None, out.constant) else variable(out.data, constant is True)


@public
def conv_nd(
    x: ArrayLike,
    filter_bank: ArrayLike,
    *,
    stride: Ints,
    padding: Ints = 0,
    dilation: Ints = 1,
    constant: bool | None = None,
) -> Tensor:
    """Each window times each filter, added up, as a Tensor: (N, C, X0, …) and (F, C, W0, …) → (N, F, G0, …).

    >>> import numpy as np
    >>> from cenote.dialects import mygrad as mg
    >>> x = mg.tensor(np.repeat([0.0, 1.0, 0.0], [5, 6, 5]).reshape(1, 1, 16))
    >>> k = mg.tensor(np.ones((1, 1, 5)))
    >>> mg.conv_nd(x, k, stride=1)
    Tensor([[[0., 1., 2., 3., 4., 5., 5., 4., 3., 2., 1., 0.]]])
    >>> mg.conv_nd(x, k, stride=1).sum().backward()
    >>> x.grad
    array([[[1., 2., 3., 4., 5., 5., 5., 5., 5., 5., 5., 5., 4., 3., 2., 1.]]])
    >>> k.grad
    array([[[6., 6., 6., 6., 6.]]])

    Parameters
    ----------
    x, filter_bank : array_like or Tensor
        Anything but a Tensor is a constant.
    stride, padding, dilation : int or one int per convolved axis
        Filters must reach the end of each padded axis exactly: nothing is left over. A dilated filter that just fits,
        which mygrad refuses, is laid.
    constant : bool, optional
        True gives a constant Tensor. False gives one that is not: where both operands are constants, a new variable.
    """
    data, filters = operand(x), operand(filter_bank, "filter_bank")
    if data.ndim < 3:
        raise BadValue(f"x has shape {shown(data.shape)}: at least 3 axes are needed, (N, C, X0, ...)")
    if filters.ndim != data.ndim:
        raise BadValue(
            f"filter_bank has shape {shown(filters.shape)}, with {counted(filters.ndim, 'axis', 'axes')}: as many as x "
            f"of shape {shown(data.shape)} are needed, {data.ndim}"
        )
    rank = data.ndim - 2
    steps, pads = per_axis("stride", stride, rank, 1), per_axis("padding", padding, rank, 0)
    apart = per_axis("dilation", dilation, rank, 1)
    known = None if constant is None else as_flag("constant", constant)
    sizes = zip(data.shape[2:], filters.shape[2:], steps, pads, apart, strict=True)
    for axis, (n, k, s, p, d) in enumerate(sizes, 2):
        room = n + 2 * p - d * (k - 1) - 1
        if room > 0 and room % s:
            raise BadValue(
                f"stride={shown(stride)} does not bring filter_bank of shape {shown(filters.shape)} to the end of x of "
                f"shape {shown(data.shape)}: {counted(room % s, 'cell', 'cells')} of axis {axis} "
                f"{'is' if room % s == 1 else 'are'} left over"
            )
    options: dict[str, Any] = {"stride": steps, "padding": pads, "dilation": apart, "layout": "channels_first"}
    return as_tensor(call(convolution.conv, NAMES, data, filters, **options), known)


@public
def tensor(
    arr_like: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    constant: bool | None = None,
    copy: bool = True,
    ndmin: int = 0,
) -> Tensor:
    """A Tensor of anything that can be made an array.

    >>> from cenote.dialects import mygrad as mg
    >>> mg.tensor([1, 2, 3], dtype="float32")
    Tensor([1., 2., 3.], dtype=float32)
    >>> mg.tensor([1, 2, 3], ndmin=2)
    Tensor([[1, 2, 3]])
    >>> x = mg.tensor([1.0, 2.0])
    >>> mg.tensor(x, copy=False) is x, mg.tensor(x) is x
    (True, False)

    Parameters
    ----------
    arr_like : array_like or Tensor
        Real numbers.
    dtype : dtype, optional
        That of the data by default.
    constant : bool, optional
        By default integers and bool are constants, which they must be, and floats are not.
    copy : bool
        If False, memory is shared where it can be, and a Tensor with the wanted properties is given back itself; with
        more axes, as ``ndmin`` asks, it is a function of the given one. Any other Tensor is new, with a history of
        its own.
    ndmin : int
        The least number of axes; axes of length 1 are put in front.
    """
    wanted = None if dtype is None else known_dtype(dtype)
    known = None if constant is None else as_flag("constant", constant)
    copied = as_flag("copy", copy)
    rank = max(0, as_int("ndmin", ndmin, ndmin, -MOST_AXES))
    if rank > MOST_AXES:
        raise BadValue(f"ndmin={shown(ndmin)} is too large, an array has at most {MOST_AXES} axes")
    if isinstance(arr_like, Tensor) and not copied:
        if known in (None, arr_like.constant) and wanted in (None, arr_like.dtype):
            more = rank - arr_like.ndim
            return arr_like[(None,) * more] if more > 0 else arr_like
        held = arr_like.data
    else:
        held = as_array(arr_like.data if isinstance(arr_like, Tensor) else arr_like, "arr_like")
    if held.dtype.kind == "c":
        raise BadType(f"arr_like has dtype {held.dtype}: mygrad knows real numbers only, use cenote.Tensor")
    data = np.array(held, wanted, copy=True if copied else None, ndmin=rank)
    return variable(data, not has_nan(data.dtype) if known is None else known)


def variable(data: Array, constant: bool) -> Tensor:
    """A Tensor around ``data``, which is not copied."""
    if not constant and not has_nan(data.dtype):
        raise BadValue(f"constant=False: data of dtype {data.dtype} is constant, only floats have derivatives")
    return make(data, 0, None if constant else Node(()))


def known_dtype(given: Any) -> np.dtype[Any]:
    try:
        dtype: np.dtype[Any] = np.dtype(given)
    except TypeError as cause:
        raise BadType(f"dtype={shown(given)} is no dtype: {cause}") from None
    if dtype.kind == "c" or (dtype.char not in NATIVE and not is_bfloat16(dtype)):
        raise BadType(f"dtype={shown(given)}: bool, an integer type, float16, bfloat16, float32 or float64 is needed")
    return dtype
