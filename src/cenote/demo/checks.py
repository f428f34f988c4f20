"""Is a result right? Compared with the slow reference in three places, and with NumPy everywhere."""

from __future__ import annotations

import numpy as np

from ..arguments.arrays import Array
from .cases import Case


def difference(got: Array, wanted: Array, tolerance: float) -> str | None:
    """How ``got`` differs from ``wanted`` by more than the relative ``tolerance``, or None."""
    if (got.shape, got.dtype) != (wanted.shape, wanted.dtype):
        return f"shape {got.shape} and dtype {got.dtype} instead of {wanted.shape} and {wanted.dtype}"
    wrong = ~np.isclose(got, wanted, rtol=tolerance, atol=0) if tolerance else got != wanted
    if not wrong.any():
        return None
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{wrong.sum()} of {wrong.size} elements are wrong; the first, {first}, is {got[first]}, not {wanted[first]}"


def check(case: Case, result: Array) -> list[str]:
    """What is wrong with ``result``, one line for each comparison that fails."""
    shape = case.geometry(case.x.shape).out_shape
    if result.shape != shape:
        return [f"{case.title}: shape {result.shape} instead of {shape}"]
    found = []
    for place, along in (("first corner", 0.0), ("middle", 0.5), ("last corner", 1.0)):
        part, crop = [], []
        for o, k, s in zip(shape, case.window, case.stride, strict=False):
            size = min(o, 16)
            start = int(along * (o - size))
            part.append(slice(start, start + size))
            crop.append(slice(start * s, (start + size - 1) * s + k))
        cause = difference(result[tuple(part)], case.run_reference(case.x[tuple(crop)]), 1e-6 if case.beta else 0)
        if cause:
            found.append(f"{case.title}, {place}, against the reference: {cause}")
    for idiom, function in case.idioms.items():
        # NumPy adds in another order, so only a maximum or a minimum has the same bits.
        cause = difference(result, function(case.x, case.window), 0 if case.name in ("max_pool", "min_pool") else 1e-5)
        if cause:
            found.append(f"{case.title}, against NumPy ({idiom}): {cause}")
    return found
