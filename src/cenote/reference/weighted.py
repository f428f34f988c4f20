"""The slow, exact definition of weighted sums over windows, which the derivatives of smooth max and lp are made of.

A window gives each of its real elements a weight. ``*_sum`` adds up weight·t over each window, ``*_spread`` is its
transpose in t: each element adds up weight·g over the windows that see it. Weights and sums are in longdouble, and the
result is rounded once to the dtype of t or g.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arguments.arrays import Array
from ..dtypes import native
from ..geometry.axes import Geometry
from .pooling import counts, gather

Wide = NDArray[np.longdouble]


def last_axes(geometry: Geometry) -> tuple[int, ...]:
    return tuple(range(-len(geometry.axes), 0))


def softmax_weights(x: Array, geometry: Geometry, beta: float, pad_value: float | None) -> Wide:
    """exp(βx)/D for every element of every window, (*output, k₁, …, kᵣ), where D is the window's Σ exp(βx).

    Padded elements have the value ``pad_value`` in D, or are not in it with None. Where the largest element (β < 0:
    the smallest) is infinite, the elements equal to it share evenly.
    """
    over = last_axes(geometry)
    elements, real = gather(x.astype(np.longdouble), geometry)
    nothing = np.longdouble(-np.inf if beta > 0 else np.inf)
    pads = np.zeros(geometry.out_shape, np.longdouble)
    if pad_value is not None:
        pads = pads + (counts(geometry, True) - counts(geometry, False))
    pad = np.where(pads > 0, np.longdouble(0 if pad_value is None else pad_value), nothing)
    masked = np.where(real, elements, nothing)
    with np.errstate(all="ignore"):
        best = np.maximum if beta > 0 else np.minimum
        pivot = best(best.reduce(masked, axis=over, initial=nothing), pad)
        infinite = np.isinf(pivot)
        at = np.expand_dims(pivot, over)
        tied = real & (elements == at)
        even = tied / np.maximum(tied.sum(axis=over, keepdims=True), 1).astype(np.longdouble)
        # inf − inf must not be formed.
        terms = np.where(real, np.exp(np.longdouble(beta) * (masked - np.where(np.isinf(at), 0, at))), 0)
        padding = np.where(pads > 0, pads * np.exp(np.longdouble(beta) * (pad - np.where(infinite, 0, pivot))), 0)
        total = terms.sum(axis=over) + padding
        weights: Wide = np.where(np.expand_dims(infinite, over), even, terms / np.expand_dims(total, over))
        return weights


def power_weights(x: Array, geometry: Geometry, p: float, q: float, odd: bool) -> Wide:
    """s·|x/y|^q for every element of every window, where y is the window's p-norm and s the sign if ``odd``, else 1.

    0 where x or y is 0, unless all weights are 1: q is 0 and not ``odd``.
    """
    over = last_axes(geometry)
    elements, real = gather(x.astype(np.longdouble), geometry)
    size = np.where(real, np.abs(elements), 0)
    with np.errstate(all="ignore"):
        largest = size.max(axis=over, keepdims=True, initial=0)
        infinite = np.isinf(largest)
        # In logarithms, and against the largest element: nothing overflows.
        logs = np.log(np.where(np.isfinite(size) & (size > 0), size, 1))
        logs = logs - np.log(np.where(infinite | (largest == 0), 1, largest))
        total = np.where(size > 0, np.exp(np.longdouble(p) * logs), 0).sum(axis=over, keepdims=True)
        norm = np.log(np.where(infinite | (total == 0), 1, total)) / np.longdouble(p)
        out = np.exp(np.longdouble(q) * (logs - norm))
        if q != 0:
            out = np.where(infinite, np.where(np.isinf(size), np.nan, 0 if q > 0 else np.inf), out)
        if odd:
            out = out * np.sign(elements)
        if q != 0 or odd:
            out = np.where(size == 0, 0, out)
        return np.where(np.isnan(largest), np.nan, out)


def weighted_sum(t: Array, weights: Wide, geometry: Geometry) -> Wide:
    terms, real = gather(t.astype(np.longdouble), geometry)
    with np.errstate(all="ignore"):
        return np.where(real, weights * terms, 0).sum(axis=last_axes(geometry))  # type: ignore[no-any-return]


def weighted_spread(g: Array, weights: Wide, geometry: Geometry) -> Wide:
    out = np.zeros(int(np.prod(geometry.shape)), np.longdouble)
    index, real = gather(np.arange(out.size).reshape(geometry.shape), geometry)
    with np.errstate(all="ignore"):
        terms = weights * np.expand_dims(g.astype(np.longdouble), last_axes(geometry))
        np.add.at(out, index[real], terms[real])
    return out.reshape(geometry.shape)


def rounded(out: Wide, like: Array) -> Array:
    with np.errstate(all="ignore"):
        # By way of float64: NumPy rounds a longdouble to float32 on its way to float16.
        return out.astype(np.float64).astype(native(like.dtype))


def softmax_sum(t: Array, x: Array, geometry: Geometry, beta: float, pad_value: float | None) -> Array:
    return rounded(weighted_sum(t, softmax_weights(x, geometry, beta, pad_value), geometry), t)


def softmax_spread(g: Array, x: Array, geometry: Geometry, beta: float, pad_value: float | None) -> Array:
    return rounded(weighted_spread(g, softmax_weights(x, geometry, beta, pad_value), geometry), g)


def power_sum(t: Array, x: Array, geometry: Geometry, p: float, q: float, odd: bool) -> Array:
    return rounded(weighted_sum(t, power_weights(x, geometry, p, q, odd), geometry), t)


def power_spread(g: Array, x: Array, geometry: Geometry, p: float, q: float, odd: bool) -> Array:
    return rounded(weighted_spread(g, power_weights(x, geometry, p, q, odd), geometry), g)
