"""The core against the reference: exact, for every operation, option, dtype, layout, level and thread count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import COMPLEX, LEVELS, REALS, Case, cases, examples, same_bits
from cenote import core
from cenote.geometry.window import parse_window
from cenote.reference import pooling as reference

thorough = examples(600)

# lp and smooth max go through powers, exponentials and logarithms: a few units in the last place of the double
# that they are computed in, or half a unit of a smaller result.
RELATIVE = {"float16": 2e-3, "bfloat16": 1e-2, "float32": 3e-7, "float64": 1e-12}


@thorough
@given(cases(REALS), st.booleans(), st.booleans(), st.booleans())
def test_max_and_min(case: Case, largest: bool, omit: bool, indices: bool) -> None:
    with case.setting():
        if indices:
            values, where = core.select_with_indices(case.x, case.geometry, largest, omit)
        else:
            values, where = core.select(case.x, case.geometry, largest, omit), None
    expected, expected_where = reference.select(case.x, case.geometry, largest, omit)
    assert same_bits(values, expected)
    if where is not None:
        assert same_bits(where, expected_where)


@thorough
@given(cases(REALS + COMPLEX), st.booleans())
def test_sum(case: Case, omit: bool) -> None:
    with case.setting():
        got = core.sum_pool(case.x, case.geometry, omit)
    assert same_bits(got, reference.sum_pool(case.x, case.geometry, omit))


@thorough
@given(
    cases(REALS + COMPLEX),
    st.booleans(),
    st.sampled_from([None, None, 3.0, 0.1, -2.0, 1e-300, 8.0]),
    st.booleans(),
)
def test_average(case: Case, omit: bool, divisor: float | None, include_pad: bool) -> None:
    with case.setting():
        got = core.avg_pool(case.x, case.geometry, omit, divisor, include_pad)
    assert same_bits(got, reference.avg_pool(case.x, case.geometry, omit, divisor, include_pad))


def check_close(got: Any, expected: Any, absolute: float) -> None:
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    rtol = RELATIVE[expected.dtype.name]
    np.testing.assert_allclose(got.astype(float), expected.astype(float), rtol=rtol, atol=absolute, equal_nan=True)


@thorough
@given(
    cases(REALS),
    st.sampled_from([0.3, 0.5, 1.0, 1.7, 2.0, 2.5, 3.0, 4.0, 7.0, 300.0, np.inf]),
    st.sampled_from([0, 150, 300, -300]),
)
def test_lp(case: Case, p: float, exponent: int) -> None:
    x = case.x
    if x.dtype.name == "float64" and exponent:
        x = x * 10.0**exponent  # |x|^p would over- or underflow
    with case.setting():
        got = core.lp_pool(x, case.geometry, p)
    check_close(got, reference.lp_pool(x, case.geometry, p), 1e-310 if x.dtype.name == "float64" else 1e-7)


@thorough
@given(
    cases(REALS),
    st.sampled_from([1.0, -1.0, 0.5, 50.0, -0.01, 1000.0, -1e6, 1e20]),
    st.sampled_from([0.0, None, 1.5, -2.0, np.inf, -np.inf]),
)
def test_smooth_max(case: Case, beta: float, pad_value: float | None) -> None:
    with case.setting():
        got = core.smooth_max_pool(case.x, case.geometry, beta, pad_value)
    # Where the elements cancel, the error is that of the largest of them.
    rounding = 1e-6 if got.dtype.itemsize == 2 else 1e-7 if got.dtype.itemsize == 4 else 1e-14
    check_close(
        got, reference.smooth_max_pool(case.x, case.geometry, beta, pad_value), rounding * max(1.0, 1 / abs(beta)) * 4
    )


@thorough
@given(
    cases([np.dtype("d"), np.dtype("f")]),
    st.sampled_from([1.0, -1.0, 1e3, -1e6, 1e20]),
    st.sampled_from([1.0, 3.0, 0.7, 1e5]),
)
def test_lp_and_smooth_max_are_bounded_by_an_element(case: Case, beta: float, p: float) -> None:
    with case.setting():
        smooth = core.smooth_max_pool(case.x, case.geometry, beta, None)
        norm = core.lp_pool(case.x, case.geometry, p)
        extreme = core.select(case.x, case.geometry, beta > 0, False)
        largest = core.select(np.abs(case.x), case.geometry, True, False)
    real = ~np.isnan(extreme)
    assert (smooth[real] >= extreme[real]).all() if beta > 0 else (smooth[real] <= extreme[real]).all()
    assert (norm[real] >= largest[real]).all()


@thorough
@given(cases(REALS), st.sampled_from([1.0, 2.0, 3.0, 0.7]), st.sampled_from([1.0, -700.0, 1e5]))
def test_lp_and_smooth_max_are_reproducible(case: Case, p: float, beta: float) -> None:
    """To the bit, whatever the threads, the tiles and the layout: also where only some tiles need wide sums."""
    plain = np.ascontiguousarray(case.x)
    with case.setting():
        lp = core.lp_pool(case.x, case.geometry, p)
        smooth = core.smooth_max_pool(case.x, case.geometry, beta, 0.0)
    with Case(plain, {}, case.geometry, case.level, 1, (1 << 30, 1 << 30)).setting():
        assert same_bits(lp, core.lp_pool(plain, case.geometry, p))
        assert same_bits(smooth, core.smooth_max_pool(plain, case.geometry, beta, 0.0))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
def test_every_length_around_the_vector_widths(level: str, dtype: str) -> None:
    """Rows of 1 to 70 elements, windows on both sides of where doubling takes over, strides, lanes."""
    rng = np.random.default_rng(5)
    for n in range(1, 71):
        for k, s, lanes in (
            (1, 1, 1),
            (2, 2, 1),
            (3, 1, 1),
            (3, 2, 2),
            (5, 3, 1),
            (8, 1, 1),
            (9, 1, 1),
            (10, 1, 3),
            (16, 2, 1),
            (17, 1, 1),
            (33, 4, 1),
        ):
            if k > n + 2:
                continue
            x = rng.integers(0, 9, (n, lanes)).astype(dtype)
            geometry = parse_window((k,), s, 1, 1, True, 0).on(x.shape)
            with Case(x, {}, geometry, level, 1, (192 * 1024, 32 * 1024)).setting():
                values, where = core.select_with_indices(x, geometry, True, False)
                only = core.select(x, geometry, True, False)
                sums = core.sum_pool(x, geometry, False)
            expected, expected_where = reference.select(x, geometry, True, False)
            assert same_bits(values, expected), (n, k, s, lanes)
            assert same_bits(only, expected), (n, k, s, lanes)
            assert where is not None
            assert same_bits(where, expected_where), (n, k, s, lanes)
            assert same_bits(sums, reference.sum_pool(x, geometry, False)), (n, k, s, lanes)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("k", [2, 3, 8, 19])
def test_a_nan_in_every_lane(level: str, dtype: str, k: int) -> None:
    n = 45
    geometry = parse_window((k,), 1, 0, 1, False, 0).on((n,))
    with Case(np.zeros(1), {}, geometry, level, 1, (192 * 1024, 32 * 1024)).setting():
        for at in range(n):
            x = np.arange(n).astype(dtype)
            x[at] = np.nan
            covered = (np.arange(n - k + 1) <= at) & (at < np.arange(n - k + 1) + k)
            for largest in (True, False):
                values, where = core.select_with_indices(x, geometry, largest, False)
                assert where is not None
                np.testing.assert_array_equal(np.isnan(values), covered)
                np.testing.assert_array_equal(where == at, covered)
                np.testing.assert_array_equal(np.isnan(core.select(x, geometry, largest, False)), covered)
                assert not np.isnan(core.select(x, geometry, largest, True)).any()
            np.testing.assert_array_equal(np.isnan(core.sum_pool(x, geometry, False)), covered)
            assert not np.isnan(core.avg_pool(x, geometry, True, None, True)).any()


@thorough
@given(cases([np.dtype("d")]), st.booleans())
def test_numbers_of_elements(case: Case, padded: bool) -> None:
    """The divisors of averages, by arithmetic, against those by counting."""
    np.testing.assert_array_equal(case.geometry.counts(padded), reference.counts(case.geometry, padded))


def test_as_many_axes_as_numpy_has() -> None:
    x = np.arange(4.0).reshape((1,) * 62 + (2, 2)) * (1 + 2j)
    geometry = parse_window((2, 2)).on(x.shape)
    assert core.sum_pool(x, geometry, False).item() == 6 + 12j
    assert core.sum_pool(x, geometry, True).item() == 6 + 12j
    assert core.avg_pool(x, geometry, False, None, True).item() == 1.5 + 3j
    assert core.select_with_indices(x.real, geometry, True, False)[1].item() == 3


@pytest.mark.parametrize("dtype", ["f", "d", "e"])
def test_offsets_that_are_broadcast(dtype: str) -> None:
    """As a batch that shares them has them: without a copy, with strides of 0."""
    geometry = parse_window((2,)).on((3, 4))
    offsets = np.broadcast_to(np.array([0, 1], np.uint8), (3, 2))
    g = np.arange(1, 7).reshape(3, 2).astype(dtype)
    assert core.scatter_add(g, offsets, geometry).tolist() == [[1, 0, 0, 2], [3, 0, 0, 4], [5, 0, 0, 6]]
    assert core.gather(core.scatter_add(g, offsets, geometry), offsets, geometry).tolist() == g.tolist()
