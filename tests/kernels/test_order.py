"""Medians and modes of the core against the reference: to the bit, for every dtype, layout, level and thread count."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import FLOATS, INTEGERS, REALS, Case, cases, examples, same_bits
from cenote import core
from cenote.geometry.axes import Geometry
from cenote.ops.selection import Indices
from cenote.reference import order as reference
from exact import converted, exact_mean

thorough = examples(600)
DISCRETE = [np.dtype("?"), *INTEGERS]
RESULTS = [None, *INTEGERS, *FLOATS]


def check_median(case: Case, omit: bool, result: np.dtype[Any] | None = None) -> None:
    omit = omit and case.x.dtype.kind in "fV"
    values, lower, upper = reference.median(case.x, case.geometry, omit, result)
    with case.setting():
        got = core.median_pool(case.x, case.geometry, omit, result=values.dtype)
        again, *offsets = core.median_with_offsets(case.x, case.geometry, omit, result=values.dtype)
    assert same_bits(got, values)
    assert same_bits(again, values)
    for found, expected in zip(offsets, (lower, upper), strict=True):
        assert np.array_equal(flat(found, case.geometry), expected)


def flat(offsets: Any, geometry: Geometry) -> Any:
    return Indices(geometry, offsets.dtype, np.dtype(np.int64)).evaluate(offsets)[0]


@thorough
@given(cases(REALS), st.booleans())
def test_median(case: Case, omit: bool) -> None:
    check_median(case, omit)


@thorough
@given(cases(REALS), st.booleans(), st.sampled_from(RESULTS))
def test_median_of_another_dtype(case: Case, omit: bool, result: np.dtype[Any] | None) -> None:
    check_median(case, omit, result)


@thorough
@given(cases(DISCRETE))
def test_mode(case: Case) -> None:
    with case.setting():
        got = core.mode_pool(case.x, case.geometry)
    assert same_bits(got, reference.mode(case.x, case.geometry))


@pytest.mark.slow
def test_the_reference_rounds_a_mean_once() -> None:
    """Fractions are exact; the means of the reference are they, rounded once."""
    for dtype in (*INTEGERS, *FLOATS):
        low, high = awkward_pairs(dtype)
        exact = exact_mean(low, high)
        for result in (*INTEGERS, *FLOATS):
            # Means of floats are taken in double precision. In their own dtype that cannot be seen.
            double = dtype in FLOATS and result != dtype
            expected = converted(converted(exact, np.dtype(np.float64)) if double else exact, result)
            got = reference.mean(low, high, result, np.zeros(low.shape, bool))
            assert same_bits(got, expected), (dtype, result)


def awkward_pairs(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Numbers whose sums overflow, are subnormal, or need one digit more than there is."""
    rng = np.random.default_rng(3)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        ints = [ends.min, ends.min + 1, 0, 1, 2, 3, ends.max - 1, ends.max, ends.max // 2]
        values = np.array([*ints, *rng.integers(ends.min, ends.max, 30, dtype=dtype)], dtype)
    else:
        limits = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
        tiny, large = float(limits.smallest_subnormal), float(limits.max)
        few = [tiny, -tiny, 3 * tiny, float(limits.tiny), large, -large, large / 3, 0.0, 1.0, 1 / 3, np.inf, -np.inf]
        values = np.array([*few, *(rng.standard_normal(20) * 2.0 ** rng.integers(-8, 9, 20))]).astype(dtype)
    low, high = np.meshgrid(values, values)
    return low.ravel(), high.ravel()
