"""The slow, exact definitions of the median and the mode of windows: every element of every window is sorted.

Three rules decide the last bit:

* the median of an even number of elements is the mean of the two in the middle, exact and rounded once. For a ``dtype``
  other than their own, that of floats is taken in double precision and then converted;
* −0.0 sorts before +0.0, so that the sign of a zero does not depend on the order of the elements. For a derivative they
  are equal;
* a NaN result is the one quiet NaN.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from ..arguments.arrays import Array
from ..dtypes import DType, accumulator, has_nan, is_float, is_integer, median_dtype, mode_dtype, native
from ..geometry.axes import Geometry
from .pooling import Mask, flat_index, gather, isnan


def elements_of(x: Array, geometry: Geometry) -> tuple[Array, Mask]:
    """The elements of each window along one last axis, in row-major order, and which of them are real."""
    out = geometry.out_shape
    elements, real = gather(x, geometry)
    taps = prod(elements.shape[len(out) :])
    return elements.reshape(*out, taps), real.reshape(*out, taps)


def median(
    x: Array, geometry: Geometry, omit: bool, result: DType | None = None
) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
    """median_pool, and the flat indices of the two elements in the middle: the same one twice if the count is odd.

    Of equal elements the first in row-major order is the one in the middle, and of an even count the first two are. In
    a window with NaN it is the first NaN. A window without elements has index −1.
    """
    result = median_dtype(x.dtype) if result is None else result
    elements, real = elements_of(x.astype(native(x.dtype)), geometry)
    nan = isnan(elements) & real
    alive = real & ~nan if omit else real
    number = alive.sum(axis=-1)
    comparable = elements.astype(accumulator(elements.dtype))
    positive = ~np.signbit(comparable) if is_float(x.dtype) else np.ones(comparable.shape, bool)
    order = np.lexsort((positive, comparable, ~alive), axis=-1)
    spoiled: Mask = np.asarray(nan.any(axis=-1)) & (not omit)
    empty = number == 0

    def at(rank: Array) -> Array:
        if not elements.shape[-1]:
            return np.zeros(geometry.out_shape, elements.dtype)
        found = np.take_along_axis(order, np.maximum(rank, 0)[..., None], -1)
        value: Array = np.take_along_axis(elements, found, -1)[..., 0]
        return value

    low, high = at((number - 1) // 2), at(number // 2)
    values = mean(low, high, result, spoiled | empty)

    def first(value: Array, but: Array | None = None) -> NDArray[np.int64]:
        with np.errstate(invalid="ignore"):
            same = alive & (elements == value[..., None])
        same = np.where(spoiled[..., None], nan, same)
        if but is not None:
            same = same & (np.arange(elements.shape[-1]) != but[..., None])
        return np.where(same.any(axis=-1), same.argmax(axis=-1), -1) if elements.shape[-1] else -np.ones_like(number)

    lower = first(low)
    upper = np.where(spoiled | (number % 2 == 1), lower, first(high, lower))
    return values, flat_index(lower, geometry), flat_index(upper, geometry)


def mean(low: Array, high: Array, result: DType, missing: Mask) -> Array:
    """(low + high) / 2, rounded once to ``result``; NaN, or 0 in an integer dtype, where it is missing."""
    with np.errstate(over="ignore", invalid="ignore"):
        if is_integer(low.dtype) and low.dtype.itemsize == 8:
            total = low.astype(object) + high.astype(object)
            out: Array = np.frompyfunc(lambda s: half(s, result), 1, 1)(total).astype(result)
            return np.where(missing, np.array(np.nan if has_nan(result) else 0, result), out)
        middle = float_mean(low, high)
        middle = np.where(missing | np.isnan(middle), np.nan, middle)
        if has_nan(result):
            return middle.astype(result)
        ends = np.iinfo(result)
        nearest = np.where(np.isnan(middle), 0.0, np.rint(middle))
        inside = (nearest >= ends.min) & (nearest < ends.max + 1)
        out = np.where(inside, nearest, 0.0).astype(result)
        return np.where(inside, out, np.where(nearest < 0, ends.min, ends.max).astype(result))


def float_mean(low: Array, high: Array) -> Array:
    """The mean in double precision, rounded once: only of float64 it is not exact, and the sum may overflow."""
    a, b = low.astype(np.float64), high.astype(np.float64)
    with np.errstate(all="ignore"):
        total = a + b
        return np.where(np.isfinite(total), total / 2, a / 2 + b / 2)


def half(total: int, result: DType) -> float | int:
    """total / 2 as a number of ``result``, or one that is nearer to it than to any other number of that dtype."""
    if result == np.float64:
        return total / 2  # which Python rounds once
    if has_nan(result):
        digits = {np.float16: 11, np.float32: 24}.get(result.type, 8)
        more = max(abs(total).bit_length() - digits, 0)
        return round_half_even(total, more) * 2.0 ** (more - 1)
    ends = np.iinfo(result)
    return min(max(round_half_even(total, 1), int(ends.min)), int(ends.max))


def round_half_even(value: int, bits: int) -> int:
    """value / 2^bits to the nearest integer."""
    floor, rest = divmod(value, 1 << bits)
    return floor + (2 * rest > 1 << bits or (2 * rest == 1 << bits and floor % 2 == 1))


def mode(x: Array, geometry: Geometry) -> Array:
    """mode_pool: the most frequent real value, the smallest of several; 0 where there is none."""
    result = mode_dtype(x.dtype)
    elements, real = elements_of(x.astype(result), geometry)
    value, most = np.zeros(geometry.out_shape, result), np.zeros(geometry.out_shape, np.int64)
    for tap in range(elements.shape[-1]):
        here = elements[..., tap]
        count = (real & (elements == here[..., None])).sum(axis=-1) * real[..., tap]
        take = (count > most) | ((count == most) & (count > 0) & (here < value))
        value, most = np.where(take, here, value), np.where(take, count, most)
    return value
