"""Numbers of any dtype from exact ones: rounded to nearest, ties to even, once."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from cases import Array

DType = np.dtype[Any]


def to_integer(value: Fraction | float, dtype: DType) -> int:
    """To nearest, ties to even, clipped; NaN is 0."""
    limits = np.iinfo(dtype)
    if isinstance(value, float) and not math.isfinite(value):
        return 0 if math.isnan(value) else int(limits.max if value > 0 else limits.min)
    return min(max(round(Fraction(value)), int(limits.min)), int(limits.max))


DIGITS = {
    "float16": (11, -24, 16),
    "bfloat16": (8, -133, 128),
    "float32": (24, -149, 128),
    "float64": (53, -1074, 1024),
}


def to_float(value: Fraction | float, dtype: DType) -> Any:
    """To nearest, ties to even: as many digits as the dtype has, but for subnormal numbers."""
    if isinstance(value, float) and (value == 0 or not math.isfinite(value)):
        return dtype.type(abs(value) if math.isnan(value) else value)
    exact = Fraction(value)
    if exact == 0:
        return dtype.type(0)
    digits, least, most = DIGITS[dtype.name]
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length() - digits - 1
    while abs(exact) / Fraction(2) ** exponent >= 2**digits:
        exponent += 1
    exponent = max(exponent, least)
    rounded = round(exact / Fraction(2) ** exponent) * Fraction(2) ** exponent
    if abs(rounded) >= 2**most:
        return dtype.type(math.inf if exact > 0 else -math.inf)
    return dtype.type(math.copysign(float(rounded), exact))


def converted(values: Array, dtype: DType) -> Array:
    """Numbers, exact or not, as numbers of another dtype."""
    convert = to_integer if dtype.kind in "iu" else to_float
    out = np.empty(values.shape, dtype)
    for at in np.ndindex(values.shape):
        value = values[at]
        out[at] = convert(value if isinstance(value, Fraction) else float(value), dtype)
    return out


def exact_mean(low: Array, high: Array) -> Array:
    """(low + high) / 2 as fractions; infinities, NaN and zeros, which have a sign, as floats."""
    out = np.empty(low.shape, object)
    for i, (a, b) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        number = math.isfinite(a) and math.isfinite(b) and (a or b)
        out[i] = (Fraction(a) + Fraction(b)) / 2 if number else a + b
    return out
