"""Elements moved to where argmax offsets or indices say, and back, by the compiled core."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np

from .. import _core
from ..arguments.arrays import Array
from ..arguments.errors import BadValue
from ..dtypes import accumulator, native
from ..geometry.axes import Axis, Geometry
from .buffers import as_storage, dense, empty, from_order, memory_order, to_order
from .plans import core_axes
from .pooling import offset_dtype

# What the core moves without a conversion.
MOVED = (np.dtype(np.float32), np.dtype(np.float64))


checking = ContextVar("checking", default=False)


@contextmanager
def checked_offsets() -> Iterator[None]:
    """Within it, argmax offsets that lead out of the array are an error: those of a program that was stored. Offsets
    that a call has just computed need no check, which would cost a tenth of a backward pass."""
    token = checking.set(True)
    try:
        yield
    finally:
        checking.reset(token)


def check_offsets(offsets: Array, geometry: Geometry) -> None:
    """Each offset is that of a real element of its window, or the largest number, for a window without one."""
    if offsets.shape != geometry.out_shape or offsets.dtype != offset_dtype(geometry):
        raise BadValue(
            f"offsets of shape {offsets.shape} and dtype {offsets.dtype}: shape {geometry.out_shape} and dtype "
            f"{offset_dtype(geometry)} are needed, as a maximum gives them"
        )
    # The largest number and 1 are 0.
    outside = (offsets + 1).max(initial=0) > geometry.valid_tap_count
    weight = 1
    for axis in reversed(geometry.axes):
        outside = outside or leads_outside(offsets, axis, weight)
        weight *= len(axis.valid_taps)
    if outside:
        raise BadValue("an offset leads out of its window or to a padded element: a maximum gives none of these")


def leads_outside(offsets: Array, axis: Axis, weight: int) -> bool:
    """Whether an offset is not that of a real element along an axis: windows that have all elements are not read."""
    taps = axis.valid_taps
    (partial,) = np.nonzero(axis.number(False) < len(taps))
    if not partial.size:
        return False
    along = tuple(-1 if i == axis.position else 1 for i in range(offsets.ndim))
    held = offsets.take(partial, axis=axis.position)
    tap = held.astype(np.int64) // weight % len(taps) + taps.start
    element = axis.first[partial].reshape(along) + tap * axis.d
    inside = (element >= 0) & (element < axis.n)
    if axis.lengths is not None:
        inside &= tap < np.array(axis.lengths, np.int64)[partial].reshape(along)
    return not (inside | (held == np.iinfo(held.dtype).max)).all()


def gather(x: Array, offsets: Array, geometry: Geometry) -> Array:
    """The element of each window that the argmax offsets say, 0 for a window without one."""
    if checking.get():
        check_offsets(offsets, geometry)
    dtype = native(x.dtype)
    elements = np.asarray(x, accumulator(dtype))
    order = memory_order(offsets)
    y = empty(to_order(geometry.out_shape, order), elements.dtype)
    _core.move(core_axes(geometry), elements, y, dense(offsets, order), order, False)
    return from_order(y, order).astype(dtype, copy=False)


def scatter_add(g: Array, offsets: Array, geometry: Geometry) -> Array:
    """Each value of ``g`` added to the element of its window that the offsets say: the adjoint of :func:`gather`."""
    if checking.get():
        check_offsets(offsets, geometry)
    if g.dtype in MOVED and g.flags.c_contiguous and offsets.flags.c_contiguous:
        x = empty(geometry.shape, g.dtype)
        _core.move(core_axes(geometry), x, g, offsets, None, True)
        return x
    order = memory_order(offsets)
    values = np.asarray(g, accumulator(native(g.dtype)))
    x = from_order(empty(to_order(geometry.shape, order), values.dtype), order)
    _core.move(core_axes(geometry), x, dense(values, order), dense(offsets, order), order, True)
    return x.astype(g.dtype, copy=False)


class Planes(NamedTuple):
    """Where indices lead in memory: the axes in ``order``, in planes of ``size`` elements that hold the pooled axes."""

    order: tuple[int, ...]
    shape: tuple[int, ...]  # of the result, in that order
    number: int
    size: int
    target: Array  # into a plane, in that order; -1 is skipped


def planes_of(like: Array, indices: Array, positions: tuple[int, ...], sizes: tuple[int, ...]) -> Planes:
    """The planes of an unpooled array with the memory order of ``like``, if its pooled axes are next to each other."""
    rest = [axis for axis in range(like.ndim) if axis not in positions]
    order = memory_order(like) or (*range(like.ndim),)
    first = order.index(positions[0])
    if order[first : first + len(positions)] != positions:
        order, first = (*rest, *positions), len(rest)
    full = list(like.shape)
    for position, size in zip(positions, sizes, strict=True):
        full[position] = size
    shape = to_order(tuple(full), order)
    inner = shape[first + len(positions) :]
    each = math.prod(inner)  # elements for one index: the axes inside of the pooled ones
    index = np.ascontiguousarray(indices.transpose(order), np.int64)
    if each != 1:
        skipped = index < 0
        index = index * each
        index += np.arange(each).reshape(inner)
        if skipped.any():
            index[skipped] = -1
    return Planes(order, shape, math.prod(shape[:first]), math.prod(sizes) * each, index)


def put(planes: Planes, values: Array) -> Array:
    """Each value, in memory order, at its index in zeros."""
    out = np.zeros(planes.shape, values.dtype)
    if values.size and out.size:
        _core.put(as_storage(out), as_storage(values), planes.target, planes.number)
    return out


def unpool(y: Array, indices: Array, positions: tuple[int, ...], sizes: tuple[int, ...]) -> Array:
    """Each value at its index in zeros, the pooled axes having ``sizes``; of several the last one stays."""
    planes = planes_of(y, indices, positions, sizes)
    return from_order(put(planes, dense(y, planes.order)), planes.order)


def unpool_gather(g: Array, indices: Array, positions: tuple[int, ...], sizes: tuple[int, ...]) -> Array:
    """The values at their indices, 0 for one that is skipped or that another one overwrites: the adjoint."""
    planes = planes_of(indices, indices, positions, sizes)
    if not (indices.size and g.size):
        return np.zeros(indices.shape, native(g.dtype))
    step = (planes.size * np.arange(planes.number)).reshape(-1, 1)
    at = planes.target.reshape(planes.number, -1)
    stays = at >= 0

    def take(values: Array) -> Array:
        return np.take(values.reshape(-1), at + step, mode="clip")  # an index of -1 takes any value

    skips = not stays.all()
    ones = np.ones(at.shape, np.uint8)
    if np.count_nonzero(put(planes, ones)) < np.count_nonzero(stays):  # some share an element
        names = np.arange(1, at.size + 1, dtype=np.int64).reshape(at.shape)
        stays &= take(put(planes, names)) == names
        skips = True
    out = take(dense(g, planes.order))
    if skips:
        out[~stays] = 0
    return from_order(out.reshape(to_order(indices.shape, planes.order)), planes.order)
