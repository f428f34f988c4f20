"""Results in the dtype that is asked for: the exact value, or that of the operation's own precision, rounded once."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cenote as cn
from cases import BFLOAT16, FLOATS, INTEGERS, LAYOUTS, Array, Case, cases, examples, lay_out, same_bits
from cenote import core
from cenote.geometry.axes import Geometry
from cenote.geometry.window import parse_window
from cenote.reference import pooling as reference
from exact import converted, to_float, to_integer
from path_checks import ways

DType = np.dtype[Any]
NARROW = FLOATS[:3]  # float64 is what averages of integers give anyway


def geometry_of(shape: tuple[int, ...], window: tuple[int, ...], **options: Any) -> Geometry:
    usual: dict[str, Any] = {"stride": None, "padding": 0, "dilation": 1, "ceil_mode": False, "axes": None}
    return parse_window(window, **(usual | options)).on(shape)


# ------------------------------------------------------------------------------------------------ what is expected


def exact_sums(x: Array, geometry: Geometry) -> Array:
    elements, real = reference.gather(x.astype(x.dtype.newbyteorder("=")), geometry)
    over = tuple(range(-len(geometry.axes), 0))
    sums: Array = np.asarray(np.where(real, elements.astype(object), 0).sum(axis=over), object)
    return sums.reshape(geometry.out_shape)


def exact_averages(x: Array, geometry: Geometry, divisor: float | None, include_pad: bool) -> Array:
    counts = np.broadcast_to(reference.counts(geometry, include_pad), geometry.out_shape)
    out = np.empty(geometry.out_shape, object)
    for at, total in np.ndenumerate(exact_sums(x, geometry)):
        by = Fraction(int(counts[at])) if divisor is None else Fraction(divisor)
        out[at] = Fraction(int(total)) / by if by else math.nan
        if total == 0 and divisor is not None:
            out[at] = 0.0 / divisor  # which has a sign
    return out


def float_averages(
    x: Array, geometry: Geometry, omit: bool, average: tuple[float | None, bool] | None, work: DType
) -> Array:
    """Sums (None) or averages of floats in the dtype that they are computed in."""
    sums, omitted = reference.total(x.astype(work), geometry, work, omit)
    with np.errstate(all="ignore"):
        if average is not None:
            divisor, include_pad = average
            number = reference.counts(geometry, include_pad) - omitted if divisor is None else np.float64(divisor)
            sums = (sums / np.asarray(number, np.float64)).astype(work)
    return reference.no_data(sums, geometry, omitted) if omit else sums


# ------------------------------------------------------------------------------------------------------ integers

# Tiles of every kind of row, windows that are cut, and all that other kernels serve.
GEOMETRIES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "2×2": ((5, 131), (2, 2), {}),
    "4×4": ((8, 262), (4, 4), {}),
    "8×8": ((16, 523), (8, 8), {}),
    "2×8": ((4, 523), (2, 8), {"ceil_mode": True}),
    "3×2": ((7, 131), (3, 2), {"ceil_mode": True}),
    "6×4, outer dilation": ((13, 262), (6, 4), {"stride": (7, 4), "dilation": (2, 1)}),
    "2×1": ((5, 70), (2, 1), {}),
    "2×2×2": ((4, 5, 70), (2, 2, 2), {"ceil_mode": True}),
    "padding": ((5, 134), (2, 2), {"padding": 1}),
    "more padding than elements": ((3, 66), (2, 2), {"padding": 5}),
    "a short row": ((6, 18), (2, 2), {}),
    "3 channels": ((5, 46, 3), (2, 2), {"axes": (0, 1), "ceil_mode": True}),
    "4 channels": ((5, 37, 4), (2, 2), {"axes": (0, 1), "ceil_mode": True}),
    "2 channels": ((5, 37, 2), (2, 2), {"axes": (0, 1)}),
    "many channels": ((5, 4, 67), (2, 2), {"axes": (0, 1), "padding": 1}),
    "axes in the other order": ((6, 70), (2, 2), {"axes": (1, 0)}),
    "3×3 s1": ((5, 40), (3, 3), {"stride": 1, "padding": 1}),
    "3×3 s3": ((9, 50), (3, 3), {}),
    "large": ((14, 30), (11, 10), {"stride": 1, "padding": 2}),
    "all": ((12, 33), (12, 33), {}),
    "all of some": ((2, 12, 33), (12, 33), {}),
    "dilation": ((7, 50), (2, 2), {"dilation": 3, "stride": 1}),
    "nothing": ((0, 4), (2, 2), {"padding": 1}),
}
DIVISIONS: list[tuple[float | None, bool]] = [(None, True), (None, False), (0.3, True), (-6.0, True), (1e-15, True)]


def whole_range(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    limits = np.iinfo(dtype)
    x: Array = rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    ends = np.array([limits.min, limits.max], dtype)
    return np.where(rng.random(shape) < 0.3, rng.choice(ends, shape), x)


@pytest.mark.parametrize("dtype", [np.dtype("?"), *INTEGERS], ids=str)
@pytest.mark.parametrize("what", GEOMETRIES)
def test_averages_of_integers_are_exact(what: str, dtype: DType) -> None:
    shape, window, options = GEOMETRIES[what]
    geometry = geometry_of(shape, window, **options)
    x = whole_range(np.random.default_rng(3), shape, dtype)
    for i, (divisor, include_pad) in enumerate(DIVISIONS):
        exact = exact_averages(x, geometry, divisor, include_pad)
        # All dtypes with the usual divisors, with others some, which differ from one window to another.
        every = (*INTEGERS, *NARROW) if i == 0 else ((*INTEGERS, *NARROW) * 2)[len(what) % 7 + i :: 4][:3]
        for result in every:
            expected = converted(exact, result)
            for case in ways(x, geometry):
                with case.setting():
                    found = core.avg_pool(x, geometry, False, divisor, include_pad, result=result)
                assert same_bits(found, expected), (result, divisor, include_pad, case.level, case.threads)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.dtype(t) for t in "bBhHq"], ids=str)
def test_in_any_layout(dtype: DType, layout: str) -> None:
    rng = np.random.default_rng(4)
    for shape, window, options in (
        ((9, 132), (2, 2), {}),
        ((5, 46, 3), (2, 2), {"axes": (0, 1)}),
        ((3, 5, 70), (2, 2), {"axes": (0, 1)}),
        ((66, 4, 5), (4, 2), {"axes": (0, 2)}),
    ):
        geometry = geometry_of(shape, window, **options)
        x = lay_out(whole_range(rng, shape, dtype), layout, rng)
        exact = exact_averages(x, geometry, None, True)
        for result in (dtype, np.dtype(np.float32)):
            expected = converted(exact, result)
            for case in ways(x, geometry):
                with case.setting():
                    found = core.avg_pool(x, geometry, False, None, True, result=result)
                assert same_bits(found, expected), (shape, result, case.level, case.threads)


@pytest.mark.parametrize("dtype", [np.dtype(t) for t in "?bBIqQ"], ids=str)
@pytest.mark.parametrize("what", ["2×2", "3×3 s1", "large", "all", "3 channels", "padding"])
def test_sums_of_integers_wrap_in_64_bits_and_are_clipped(what: str, dtype: DType) -> None:
    shape, window, options = GEOMETRIES[what]
    geometry = geometry_of(shape, window, **options)
    x = whole_range(np.random.default_rng(5), shape, dtype)
    bits = 2**64
    sums = exact_sums(x, geometry) % bits
    if dtype.kind != "u":
        sums = np.where(sums >= bits // 2, sums - bits, sums)
    exact = np.frompyfunc(Fraction, 1, 1)(sums)
    for result in (*INTEGERS, *FLOATS):
        expected = converted(exact, result)
        for case in ways(x, geometry):
            with case.setting():
                found = core.sum_pool(x, geometry, False, result=result)
            assert same_bits(found, expected), (result, case.level, case.threads)


@given(cases([np.dtype("?"), *INTEGERS]), st.data())
@examples(150)
def test_any_window(case: Case, data: st.DataObject) -> None:
    result = data.draw(st.sampled_from([*INTEGERS, *NARROW]))
    divisor = data.draw(st.sampled_from([None, 1.0, -0.7, 2.5, 4.0, 1e30, 3e-9]))
    include_pad = data.draw(st.booleans())
    expected = converted(exact_averages(case.x, case.geometry, divisor, include_pad), result)
    with case.setting():
        found = core.avg_pool(case.x, case.geometry, False, divisor, include_pad, result=result)
    assert same_bits(found, expected)


def test_ties_go_to_even() -> None:
    x = np.array([0, 1, 1, 2, 2, 3, 254, 255, 253, 254], np.uint8)
    assert cn.avg_pool(x, (2,), dtype=np.uint8).tolist() == [0, 2, 2, 254, 254]
    assert cn.avg_pool(-x.astype(np.int16), (2,), dtype=np.int8).tolist() == [0, -2, -2, -128, -128]
    # Nearly a tie: 3 / 1.2 is 2.5 as a double, 1.2 being a little less than that.
    assert 3 / 1.2 == 2.5
    assert cn.avg_pool(np.array([3]), (1,), divisor=1.2, dtype=np.int8).tolist() == [3]
    assert cn.avg_pool(np.array([-3]), (1,), divisor=1.2, dtype=np.int8).tolist() == [-3]


@pytest.mark.parametrize("exponent", [62, 63, 64, 66, 67, 68, 90, 130, 1000])
def test_large_divisors(exponent: int) -> None:
    for value, divisor in ((2**64 - 1, 2.0**exponent), (2**64 - 1, -1.5 * 2.0**exponent), (2**63, 2.0**exponent)):
        exact = Fraction(8 * value) / Fraction(divisor)
        for result in (*INTEGERS, np.dtype(np.float32)):
            found = cn.avg_pool(np.full(8, value, np.uint64), (8,), divisor=divisor, dtype=result)
            assert found.tolist() == converted(np.array([exact]), result).tolist()


def test_between_two_floats() -> None:
    """A quotient that is between two doubles, the nearer of which is between two floats."""
    tie = 2**24 + 1
    sides = set()
    for total in range(10**9, 10**9 + 50):
        by = total / tie
        if total / by != tie:
            continue
        exact = Fraction(total) / Fraction(by)
        sides.add((exact > tie) - (exact < tie))
        expected = 2**24 + 2 if exact > tie else 2**24
        x = np.array([total, -total], np.int32)
        assert cn.avg_pool(x, (1,), divisor=by, dtype=np.float32).tolist() == [expected, -expected]
    assert sides >= {-1, 1}


def test_windows_of_a_million_elements() -> None:
    """Below and above 2^52, beyond which totals have 128 bits; from one thread's work to two steps of it."""
    rng = np.random.default_rng(6)
    for shape, dtype in itertools.product([(1024, 1023), (1024, 1024)], "iIhB"):
        x = whole_range(rng, shape, np.dtype(dtype))
        geometry = geometry_of(shape, shape)
        exact = Fraction(int(x.sum(dtype=np.int64)), x.size)
        large = geometry_of(shape, (1000, 1000))
        for case in ways(x, geometry):
            with case.setting():
                found = core.avg_pool(x, geometry, False, None, True, result=x.dtype)
                single = core.avg_pool(x, geometry, False, None, True, result=np.dtype(np.float32))
                part = core.avg_pool(x, large, False, None, True, result=x.dtype)
            assert found.item() == to_integer(exact, x.dtype)
            assert single.item() == to_float(exact, single.dtype)
            assert part.item() == to_integer(Fraction(int(x[:1000, :1000].sum(dtype=np.int64)), 10**6), x.dtype)


# -------------------------------------------------------------------------------------------------------- floats

SPECIAL = [0.5, 1.5, -2.5, 127.5, 300.0, -1e5, 3e9, -1e19, 2e19, 1e30, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("what", ["2×2", "3×3 s1", "padding", "all", "3 channels", "large", "many channels"])
def test_floats_are_computed_in_their_own_precision_and_converted_once(what: str, dtype: DType) -> None:
    shape, window, options = GEOMETRIES[what]
    geometry = geometry_of(shape, window, **options)
    rng = np.random.default_rng(7)
    with np.errstate(over="ignore"):
        special = np.array(SPECIAL).astype(dtype)
        x = np.where(
            rng.random(shape) < 0.1, rng.choice(special, shape), (rng.standard_normal(shape) * 99).astype(dtype)
        )
    for result in (*INTEGERS, *FLOATS):
        double = np.dtype(np.float64)
        work = double if double in (dtype, result) else np.dtype(np.float32)
        for omit, average in itertools.product((False, True), (None, (None, True), (None, False), (0.3, True))):
            expected = converted(float_averages(x, geometry, omit, average, work), result)
            for case in ways(x, geometry):
                with case.setting():
                    if average is None:
                        found = core.sum_pool(x, geometry, omit, result=result)
                    else:
                        found = core.avg_pool(x, geometry, omit, *average, result=result)
                assert same_bits(found, expected), (result, omit, average, case.level, case.threads)


@pytest.mark.parametrize("dtype", [np.dtype("b"), np.dtype("H"), *FLOATS], ids=str)
@pytest.mark.parametrize("what", ["2×2", "3×3 s1", "padding", "3 channels", "large"])
def test_norms_and_smooth_maxima(what: str, dtype: DType) -> None:
    """As the same in float32 or float64, converted: some windows are computed in double precision in any case."""
    shape, window, options = GEOMETRIES[what]
    geometry = geometry_of(shape, window, **options)
    rng = np.random.default_rng(8)
    x = rng.integers(0, 100, shape).astype(dtype) if dtype.kind in "iu" else (rng.random(shape) * 99).astype(dtype)
    double = np.dtype(np.float64)
    pools: list[tuple[Any, Any]] = [(core.lp_pool, (p,)) for p in (1.0, 2.5, 3.0, math.inf)]
    pools += [(core.smooth_max_pool, arguments) for arguments in ((1.0, 0.0), (-0.5, None), (0.01, None))]
    for result, (pool, arguments) in itertools.product((*INTEGERS, *FLOATS), pools):
        if result == dtype and dtype.kind not in "iu":
            continue
        wide = dtype.kind in "iu" or double in (dtype, result)
        expected: dict[str, Array] = {}
        for case in ways(x, geometry):
            with case.setting():
                if case.level not in expected:  # of these, levels may differ
                    usual = pool(x.astype(double if wide else np.float32), geometry, *arguments)
                    expected[case.level] = converted(usual, result)
                found = pool(x, geometry, *arguments, result=result)
            assert same_bits(found, expected[case.level]), (pool, arguments, result, case.level, case.threads)


def test_complex_numbers() -> None:
    rng = np.random.default_rng(9)
    dtypes: list[DType] = [np.dtype("F"), np.dtype("D")]
    for before, after in itertools.product(dtypes, dtypes):
        x = (rng.standard_normal((5, 40)) + 1j * rng.standard_normal((5, 40))).astype(before)
        x[rng.random(x.shape) < 0.05] = np.nan
        wide = x.astype(np.complex128) if np.dtype(np.complex128) in (before, after) else x
        geometry = geometry_of(x.shape, (2, 2), padding=1)
        for omit in (False, True):
            total = core.sum_pool(x, geometry, omit, result=after)
            assert same_bits(total, core.sum_pool(wide, geometry, omit).astype(after))
            average = core.avg_pool(x, geometry, omit, None, False, result=after)
            assert same_bits(average, core.avg_pool(wide, geometry, omit, None, False).astype(after))


def test_the_usual_dtype_changes_nothing() -> None:
    rng = np.random.default_rng(10)
    for dtype in (*INTEGERS, *FLOATS):
        x = (rng.standard_normal((9, 70)) * 50).astype(dtype)
        geometry = geometry_of(x.shape, (3, 2), stride=2, padding=1)
        for pool, arguments in (
            (core.sum_pool, (False,)),
            (core.avg_pool, (False, None, True)),
            (core.lp_pool, (3.0,)),
            (core.smooth_max_pool, (1.0, None)),
        ):
            usual: Array = pool(x, geometry, *arguments)
            again: Array = pool(x, geometry, *arguments, result=usual.dtype)
            assert same_bits(usual, again)


def test_nothing_to_average() -> None:
    x = np.ones((2, 3), np.float32)
    options: dict[str, Any] = {"padding": 3, "count_include_pad": False}
    assert cn.avg_pool(x, (2, 2), dtype=np.int8, **options)[0].tolist() == [0] * 4
    assert np.isnan(cn.avg_pool(x, (2, 2), dtype=np.float64, **options)[0]).all()
    assert cn.avg_pool(x.astype(np.uint8), (2, 2), dtype=np.uint8, **options)[0].tolist() == [0] * 4
    assert np.isnan(cn.avg_pool(x.astype(np.uint8), (2, 2), dtype=np.float32, **options)[0]).all()
    assert cn.sum_pool(x, (2, 2), padding=3, dtype=np.uint8)[0].tolist() == [0] * 4
    for dtype in (np.float16, ml_dtypes.bfloat16):
        assert np.isnan(cn.avg_pool(x.astype(np.uint8), (2, 2), dtype=dtype, **options).astype(float)[0]).all()


# --------------------------------------------------------------------------------------------------- which kernel


def test_bfloat16_is_known() -> None:
    assert BFLOAT16 in FLOATS
    assert (
        core.avg_pool(np.ones((2, 2), np.uint8), geometry_of((2, 2), (2, 2)), False, None, True, result=BFLOAT16) == 1
    )
