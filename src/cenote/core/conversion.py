"""Results in another dtype than they were computed in."""

from __future__ import annotations

import numpy as np

from ..arguments.arrays import Array
from ..dtypes import DType, is_complex, is_integer


def convert(x: Array, dtype: DType) -> Array:
    """``x`` in another dtype. An integer one gets the nearest integers, ties to even, clipped to its range, and 0 for
    NaN. A real one of complex numbers gets the real part."""
    if x.dtype == dtype:
        return x
    if is_complex(x.dtype) and not is_complex(dtype):
        x = x.real  # the imaginary part of a real operand's cotangent has nowhere to go
    if not is_integer(dtype):
        with np.errstate(over="ignore"):
            return x.astype(dtype)
    ends = np.iinfo(dtype)
    if is_integer(x.dtype):
        of_x = np.iinfo(x.dtype)
        return np.clip(x, max(ends.min, of_x.min), min(ends.max, of_x.max)).astype(dtype)
    nearest = np.rint(x.astype(np.float64))
    low, high = nearest < ends.min, nearest >= ends.max + 1
    out = np.where(low | high | np.isnan(nearest), 0, nearest).astype(dtype)
    out[low], out[high] = ends.min, ends.max
    return out
