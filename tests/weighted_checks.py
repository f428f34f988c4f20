"""Weighted sums over windows, and their transposes, against the definition."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import assume

from cases import Array
from cenote.geometry.axes import Geometry
from cenote.reference import weighted as reference

DOUBLE = 2.0**-52


def exact(family: str, how: tuple[Any, ...], spread: bool, v: Array, x: Array, geometry: Geometry) -> tuple[Any, Any]:
    """The exact result, and how far off a result in double precision may be before it is rounded."""
    make = reference.softmax_weights if family == "softmax" else reference.power_weights
    w = make(x, geometry, *how)
    # Negative powers can overflow, and then the order of a sum decides.
    largest = np.abs(w[np.isfinite(w)]).max(initial=0.0)
    if largest * max(1.0, np.abs(v.astype(np.longdouble)).max(initial=0.0)) > 1e290:
        assume(False)
    by = reference.weighted_spread if spread else reference.weighted_sum
    with np.errstate(all="ignore"):
        # A weight is exp(a) of a rounded a.
        size = np.abs(w)
        size = np.where(size > 0, size * (1 + np.abs(np.log(np.where(size > 0, size, 1)))), 0)
        slack = 16 if family == "softmax" else 16 + 8 * abs(how[1]) + 8 * abs(how[1]) / how[0]
        # Weights below the range of double are rounded to a multiple of the least number.
        least = np.longdouble(5e-324) / DOUBLE
        return by(v, w, geometry), slack * DOUBLE * by(np.abs(v), np.where(w == 0, 0, size + least), geometry)


def check(found: Array, expected: Any, slack: Any, dtype: np.dtype[Any]) -> None:
    assert found.dtype == dtype.newbyteorder("=")
    assert found.shape == expected.shape
    wide = found.astype(np.longdouble)
    assert np.array_equal(np.isnan(wide), np.isnan(expected))
    info: Any = ml_finfo(dtype)
    with np.errstate(all="ignore"):
        off = np.abs(wide - expected)
        unit = float(info.eps) * np.abs(expected) * 0.5001 + float(info.smallest_subnormal) * 0.5001
        near = off <= unit + slack + 1e-320
        # What overflows or is infinite may be the largest number or infinity.
        beyond = np.abs(expected) * (1 + 2 * float(info.eps)) >= float(info.max)
        signs = np.sign(wide) == np.sign(expected)
    large = beyond & signs & (np.abs(wide) >= float(info.max) * (1 - 2 * float(info.eps)))
    assert (near | large | np.isnan(expected)).all(), (wide - expected)[~(near | large | np.isnan(expected))]


def ml_finfo(dtype: np.dtype[Any]) -> Any:
    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
