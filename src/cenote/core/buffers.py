"""Arrays as the compiled core takes and gives them: which axis is innermost in memory, and what a buffer holds."""

from __future__ import annotations

import numpy as np

from .. import _core
from ..arguments.arrays import Array
from ..dtypes import native, row

Order = tuple[int, ...] | None  # the axes from the outermost in memory to the innermost; None for C order

empty = _core.empty  # np.empty, in pages of the core's buffer cache if the array is large


def memory_order(x: Array) -> Order:
    """The axes of ``x`` from the outermost in memory to the innermost; None for C order.

    A result in the memory order of its input lets windows over a transposed view run along memory as well as those
    over the array itself.
    """
    if x.flags.c_contiguous or 0 in x.strides:
        return None
    return tuple(sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis])))


def to_order(shape: tuple[int, ...], order: Order) -> tuple[int, ...]:
    """The sizes of the axes in memory order."""
    return shape if order is None else tuple(shape[axis] for axis in order)


def from_order(x: Array, order: Order) -> Array:
    """A view of an array whose axes are in memory order, with its axes in their own order."""
    return x if order is None else x.transpose(np.argsort(order))


def dense(x: Array, order: Order) -> Array:
    """``x`` contiguous and in the machine's byte order, its axes in memory order."""
    return np.ascontiguousarray(x if order is None else x.transpose(order), native(x.dtype))


def as_storage(x: Array) -> Array:
    """A view of ``x`` in a dtype that the buffer protocol has a name for."""
    storage = row(x.dtype).storage
    return x if storage == x.dtype else x.view(storage)


def is_plain(y: Array) -> bool:
    """Whether the core can write into ``y``: contiguous, aligned and in the machine's byte order."""
    return y.flags.c_contiguous and y.flags.aligned and y.dtype.isnative
