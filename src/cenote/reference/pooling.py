"""The slow, exact definition of every pooling operation, in NumPy, from the same geometry as the core.

Read this to know what an operation means. The C++ core is tested against it, never the other way round,
and it is written for the eye: it gathers all elements of all windows into one array of shape
``(*output, k₁, …, kᵣ)`` and reduces the last axes.

Two orders are part of the meaning, because they decide the last bit:

* a maximum is the first element in row-major order over the window that no other element beats, so its value
  has that element's bits (−0.0 and +0.0 are a tie);
* a sum adds along the first window axis first, then along the next; along an axis it is the tree of
  :func:`tree_sum`, whose shape depends on the number of elements only, not on where the window lies.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from ..arguments.arrays import Array
from ..dtypes import (
    DType,
    accumulator,
    average_dtype,
    has_nan,
    is_bool,
    is_complex,
    is_half,
    is_integer,
    native,
    norm_dtype,
    select_dtype,
    sum_dtype,
)
from ..geometry.axes import Geometry

Mask = NDArray[np.bool_]


def gather(x: Array, geometry: Geometry) -> tuple[Array, Mask]:
    """All elements of all windows, (*output, k₁, …, kᵣ), and which are real; padding holds x's first element."""
    rank = len(geometry.axes)
    ndim = x.ndim
    index: list[Array] = []
    for dim, size in enumerate(x.shape):
        index.append(np.arange(size).reshape([-1 if i == dim else 1 for i in range(ndim + rank)]))
    real = np.ones((1,) * (ndim + rank), dtype=bool)
    for i, axis in enumerate(geometry.axes):
        shape = [1] * (ndim + rank)
        shape[axis.position], shape[ndim + i] = axis.o, axis.k
        index[axis.position] = np.where(axis.real, axis.elements, 0).reshape(shape)
        real = real & axis.real.reshape(shape)
    full = geometry.out_shape + tuple(axis.k for axis in geometry.axes)
    if x.size == 0:
        return np.zeros(full, x.dtype), np.broadcast_to(real, full)
    return np.broadcast_to(x[tuple(index)], full), np.broadcast_to(real, full)


def counts(geometry: Geometry, include_pad: bool) -> NDArray[np.int64]:
    """The number of elements of each window, of the padded input or of the real one; broadcasts against the output."""
    out = np.ones((1,) * len(geometry.shape), dtype=np.int64)
    for axis in geometry.axes:
        shape = [1] * len(geometry.shape)
        shape[axis.position] = axis.o
        inside = axis.padded if include_pad else axis.real
        out = out * inside.sum(axis=1, dtype=np.int64).reshape(shape)
    return out


def tree_sum(elements: Array, axis: int) -> Array:
    """The sum along ``axis``: the largest power of two of elements by halves, plus the same of what is left."""
    k = elements.shape[axis]
    if k == 0:
        return np.zeros(np.delete(elements.shape, axis), elements.dtype)
    if k == 1:
        only: Array = elements.take(0, axis)
        return only
    half = 1 << (k - 1).bit_length() - 1
    left, right = np.split(elements, [half], axis)
    with np.errstate(all="ignore"):
        total: Array = tree_sum(left, axis) + tree_sum(right, axis)
    return total


def box_sum(elements: Array, rank: int) -> Array:
    """The sum over the last ``rank`` axes, the first of them first."""
    for left in range(rank, 0, -1):
        elements = tree_sum(elements, elements.ndim - left)
    return elements


def isnan(x: Array) -> Mask:
    """NaN elements; none in a dtype that has no NaN."""
    out: Mask = (
        np.isnan(x.astype(np.float32) if is_half(x.dtype) else x) if has_nan(x.dtype) else np.zeros(x.shape, bool)
    )
    return out


def quiet(x: Array) -> Array:
    """``x`` with the one canonical NaN in place of every NaN, so that results can be compared to the bit."""
    if is_complex(x.dtype):
        for part in (x.real, x.imag):
            part[np.isnan(part)] = np.nan
    elif has_nan(x.dtype):
        x[isnan(x)] = np.nan
    return x


# ---------------------------------------------------------------------------------------------- max and min


def least(dtype: DType, largest: bool) -> Array:
    """What a maximum (``largest``) or minimum of no element gives."""
    if is_bool(dtype):
        return np.array(not largest)
    if is_integer(dtype):
        limits = np.iinfo(dtype)
        return np.array(limits.min if largest else limits.max, dtype)
    return np.array(-np.inf if largest else np.inf, dtype)


def select(x: Array, geometry: Geometry, largest: bool, omit: bool) -> tuple[Array, NDArray[np.int64]]:
    """max_pool (``largest``) or min_pool: the values, and the flat index of the chosen element or −1."""
    dtype = select_dtype(x.dtype)
    x = x.astype(dtype)
    out = geometry.out_shape
    elements, real = gather(x, geometry)
    taps = prod(elements.shape[len(out) :])
    elements, real = elements.reshape(*out, taps), real.reshape(*out, taps)
    nan = isnan(elements)
    alive = real & ~nan if omit else real
    value = np.full(out, np.nan if omit and has_nan(dtype) else least(dtype, largest), dtype)
    argmax = np.full(out, -1, np.int64)
    held_nan = np.zeros(out, bool)
    for tap in range(taps):
        element = elements[..., tap]
        with np.errstate(invalid="ignore"):
            beats = element > value if largest else element < value
        if not omit:
            beats = beats | nan[..., tap]
        take = alive[..., tap] & ((argmax < 0) | (beats & ~held_nan))
        value = np.where(take, element, value)
        argmax = np.where(take, tap, argmax)
        held_nan = held_nan | (take & nan[..., tap])
    return value, flat_index(argmax, geometry)


def flat_index(argmax: NDArray[np.int64], geometry: Geometry) -> NDArray[np.int64]:
    """From the tap within the window to the element within the pooled axes, row-major over them."""
    index = np.zeros(argmax.shape, np.int64)
    taps: list[NDArray[np.int64]] = []
    rest = np.maximum(argmax, 0)
    for axis in reversed(geometry.axes):  # np.unravel_index is wrong for more than 8192 elements with a last axis of 1
        rest, tap = np.divmod(rest, max(axis.k, 1))
        taps.insert(0, tap)
    for axis, tap in zip(geometry.axes, taps, strict=True):
        shape = [1] * argmax.ndim
        shape[axis.position] = axis.o
        j = np.arange(axis.o).reshape(shape)
        index = index * axis.n + axis.elements[j, tap]
    return np.where(argmax < 0, -1, index)


# ------------------------------------------------------------------------------------------ sums and averages


def missing(geometry: Geometry) -> Mask:
    """The taps beyond the length of windows that are listed; broadcasts against what ``gather`` gives."""
    ndim, rank = len(geometry.shape), len(geometry.axes)
    out = np.zeros((1,) * (ndim + rank), dtype=bool)
    for i, axis in enumerate(geometry.axes):
        if axis.starts is not None:
            shape = [1] * (ndim + rank)
            shape[axis.position], shape[ndim + i] = axis.o, axis.k
            out = out | ~axis.real.reshape(shape)
    return out


def total(x: Array, geometry: Geometry, result: DType, omit: bool) -> tuple[Array, NDArray[np.int64]]:
    """The sum of each window in the accumulator of ``result``, and how many NaN elements were left out of it."""
    rank = len(geometry.axes)
    elements, real = gather(x.astype(native(x.dtype)), geometry)
    gone = real & isnan(elements) if omit else np.zeros_like(real)
    work = accumulator(result)
    zero = np.zeros((), work)
    with np.errstate(all="ignore"):
        # A padded element is +0.0. A tap that a listed window does not have is none at all: -0.0 changes no sum.
        lacking = np.where(missing(geometry), -zero, zero)
        masked = np.where(real & ~gone, elements.astype(work), lacking)
    sums = box_sum(masked, rank)
    return np.where(real.any(axis=tuple(range(-rank, 0))), sums, zero), gone.sum(
        axis=tuple(range(-rank, 0)), dtype=np.int64
    )


def no_data(out: Array, geometry: Geometry, omitted: NDArray[np.int64]) -> Array:
    """NaN where every real element of a window was left out: no data in, no data out."""
    if has_nan(out.dtype):
        out[counts(geometry, include_pad=False) == omitted] = np.nan
    return out


def sum_pool(x: Array, geometry: Geometry, omit: bool) -> Array:
    result = sum_dtype(x.dtype)
    sums, omitted = total(x, geometry, result, omit)
    with np.errstate(all="ignore"):
        out = sums.astype(result)
    return quiet(no_data(out, geometry, omitted) if omit else out)


def avg_pool(x: Array, geometry: Geometry, omit: bool, divisor: float | None, include_pad: bool) -> Array:
    result = average_dtype(x.dtype)
    omit = omit and has_nan(x.dtype)
    sums, omitted = total(x, geometry, result, omit)
    number = counts(geometry, include_pad) - omitted if divisor is None else np.float64(divisor)
    with np.errstate(all="ignore"):
        # The quotient is taken in double and rounded once: the same as in float32 wherever the divisor is one.
        by = np.asarray(number, np.float64)
        if is_complex(sums.dtype):  # by parts: NumPy would let an infinite part make the other one NaN
            averages = sums.copy()
            averages.real, averages.imag = sums.real / by, sums.imag / by
        else:
            averages = (sums / by).astype(sums.dtype)
        out = averages.astype(result)
    return quiet(no_data(out, geometry, omitted) if omit else out)


# --------------------------------------------------------------------------------------------- lp, smooth max


def lp_pool(x: Array, geometry: Geometry, p: float) -> Array:
    result = norm_dtype(x.dtype)
    elements, real = gather(x.astype(np.float64), geometry)
    size = np.where(real, np.abs(elements), 0.0)
    over = tuple(range(-len(geometry.axes), 0))
    with np.errstate(all="ignore"):
        largest = size.max(axis=over, initial=0.0)
        if np.isinf(p):
            return quiet(largest.astype(result))
        scale = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
        ratio = (size / np.expand_dims(scale, over)) ** p
        return quiet((scale * ratio.sum(axis=over) ** (1.0 / p)).astype(result))


def smooth_max_pool(x: Array, geometry: Geometry, beta: float, pad_value: float | None) -> Array:
    result = norm_dtype(x.dtype)
    rank = len(geometry.axes)
    elements, real = gather(x.astype(np.float64), geometry)
    inside = real
    if pad_value is not None:
        padded = np.ones((1,) * elements.ndim, bool)
        for i, axis in enumerate(geometry.axes):
            shape = [1] * elements.ndim
            shape[axis.position], shape[x.ndim + i] = axis.o, axis.k
            padded = padded & axis.padded.reshape(shape)
        inside = np.broadcast_to(padded, elements.shape)
        elements = np.where(real, elements, pad_value)
    nothing = -np.inf if beta > 0 else np.inf
    elements = np.where(inside, elements, nothing)
    over = tuple(range(-rank, 0))
    with np.errstate(all="ignore"):
        pivot = elements.max(axis=over, initial=nothing) if beta > 0 else elements.min(axis=over, initial=nothing)
        # An infinite pivot is the answer: inf − inf must not be formed.
        safe = np.expand_dims(np.where(np.isinf(pivot), 0.0, pivot), over)
        spread = np.where(np.isinf(np.expand_dims(pivot, over)), 0.0, beta * (elements - safe))
        out = np.where(np.isinf(pivot), pivot, pivot + np.log(np.exp(spread).sum(axis=over)) / beta)
        return quiet(out.astype(result))


# --------------------------------------------------------------------------------------------------- unpool


def unpool(y: Array, indices: NDArray[np.int64], positions: tuple[int, ...], sizes: tuple[int, ...]) -> Array:
    """Each value at its index in zeros of ``sizes``; of two at one element the last in row-major order stays."""
    rank = len(positions)
    values = np.moveaxis(y, positions, range(-rank, 0))
    where = np.moveaxis(indices, positions, range(-rank, 0))
    batch = values.shape[: y.ndim - rank]
    out = np.zeros((*batch, prod(sizes)), native(y.dtype))
    for b in np.ndindex(*batch):
        for value, element in zip(values[b].ravel(), where[b].ravel(), strict=True):
            if element >= 0:
                out[(*b, element)] = value
    return np.moveaxis(out.reshape(*batch, *sizes), range(-rank, 0), positions)
