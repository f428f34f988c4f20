"""Elements moved to where argmax offsets or indices say, and back, by the compiled core."""

from __future__ import annotations

import math

import numpy as np

from .. import _core
from ..arguments.arrays import Array
from ..dtypes import accumulator, native
from ..geometry.axes import Geometry
from .buffers import as_storage, dense, empty, from_order, memory_order, to_order
from .plans import core_axes

# What the core moves without a conversion.
MOVED = (np.dtype(np.float32), np.dtype(np.float64))


def gather(x: Array, offsets: Array, geometry: Geometry) -> Array:
    """The element of each window that the argmax offsets say, 0 for a window without one."""
    dtype = native(x.dtype)
    elements = np.asarray(x, accumulator(dtype))
    order = memory_order(offsets)
    y = empty(to_order(geometry.out_shape, order), elements.dtype)
    _core.move(core_axes(geometry), elements, y, dense(offsets, order), order, False)
    return from_order(y, order).astype(dtype, copy=False)


def scatter_add(g: Array, offsets: Array, geometry: Geometry) -> Array:
    """Each value of ``g`` added to the element of its window that the offsets say: the adjoint of :func:`gather`."""
    order = memory_order(offsets)
    if order is None and g.dtype in MOVED and g.flags.c_contiguous:
        x = empty(geometry.shape, g.dtype)
        _core.move(core_axes(geometry), x, g, offsets, None, True)
        return x
    values = np.asarray(g, accumulator(native(g.dtype)))
    x = from_order(empty(to_order(geometry.shape, order), values.dtype), order)
    _core.move(core_axes(geometry), x, dense(values, order), dense(offsets, order), order, True)
    return x.astype(g.dtype, copy=False)


def unpool(y: Array, indices: Array, positions: tuple[int, ...], sizes: tuple[int, ...]) -> Array:
    """Each value at its index in zeros, the pooled axes having ``sizes``."""
    rank = len(positions)
    last = tuple(range(-rank, 0))
    values = np.ascontiguousarray(np.moveaxis(y, positions, last), native(y.dtype))
    where = np.ascontiguousarray(np.moveaxis(indices, positions, last), np.int64)
    batch = values.shape[: y.ndim - rank]
    out = np.zeros((*batch, *sizes), values.dtype)
    if values.size and out.size:
        _core.put(as_storage(out), as_storage(values), where, math.prod(batch))
    return np.moveaxis(out, last, positions)
