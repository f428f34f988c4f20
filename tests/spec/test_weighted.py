"""Weighted sums over windows and their transposes: the core against the definition, and against itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import DEFAULT_LIMITS, FLOATS, LAYOUTS, LEVELS, STREAMED, Array, Case, cases, examples, lay_out, same_bits
from cenote import _core, core
from cenote.geometry.axes import Geometry
from cenote.geometry.window import adaptive_geometry, global_geometry, parse_window
from cenote.reference import weighted as reference
from cenote.reference.pooling import gather
from weighted_checks import check, exact

# Parameters of the weights: (exponential, beta, pad_value) or (…, p, q, odd).
BETAS = [1.0, -1.0, 0.3, -7.5, 1e-9, -1e-300, 1e6, -1e20, 1e300]
PADS = [None, 0.0, -3.0, 1e4, 1e308, np.inf, -np.inf, np.nan]
POWERS = [0.01, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0, 100.0, 1e5]


@st.composite
def weights(draw: st.DrawFn) -> tuple[str, tuple[Any, ...]]:
    if draw(st.booleans()):
        return "softmax", (draw(st.sampled_from(BETAS)), draw(st.sampled_from(PADS)))
    p = draw(st.sampled_from(POWERS))
    q = draw(st.sampled_from([p - 1, p - 2, -0.5, 0.0, 0.5, 1.0, 2.0, 2.7, -1.3]))
    return "power", (p, q, draw(st.booleans()))


SCALES = [1.0, 1.0, 1e6, 1e-6, 1e30, 1e-30, 1e150, 1e-160, 1e307, 1e-308]
OPERANDS = [1.0, 1.0, 1e6, 1e-30, 1e160, 1e270, 1e-160, 1e-300]


def spread_out(rng: np.random.Generator, x: Array, scale: float) -> Array:
    """Values of very different sizes, in the range of the dtype."""
    with np.errstate(all="ignore"):
        scaled = (x.astype(np.float64) * scale * 10.0 ** rng.integers(-3, 3, x.shape)).astype(x.dtype)
    if scale > 1:  # what has overflowed is taken as it was
        scaled = np.where(np.isinf(scaled.astype(np.float64)), x, scaled)
    return scaled


def operand(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], scale: float) -> Array:
    return spread_out(rng, rng.standard_normal(shape).astype(dtype), scale)


def functions(family: str) -> list[tuple[bool, Callable[..., Array]]]:
    return [(False, getattr(core, f"{family}_sum")), (True, getattr(core, f"{family}_spread"))]


def check_agreement(
    case: Case, x: Array, how: tuple[str, tuple[Any, ...]], dtype: np.dtype[Any], scale: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    family, parameters = how
    for spread, function in functions(family):
        v = operand(rng, case.geometry.out_shape if spread else case.geometry.shape, dtype, scale)
        with case.setting():
            found = function(v, x, case.geometry, *parameters)
        check(found, *exact(family, parameters, spread, v, x, case.geometry), dtype)


@examples(300)
@given(
    cases(FLOATS), weights(), st.sampled_from(FLOATS), st.sampled_from(SCALES), st.sampled_from(OPERANDS), st.integers()
)
def test_the_core_computes_the_definition(
    case: Case, how: tuple[str, tuple[Any, ...]], dtype: np.dtype[Any], of_x: float, of_t: float, seed: int
) -> None:
    rng = np.random.default_rng(abs(seed))
    x = case.x if of_x == 1.0 else spread_out(rng, case.x, of_x)
    check_agreement(case, x, how, dtype, of_t, abs(seed))


@examples(100)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.lists(st.integers(1, 12), min_size=3, max_size=3),
    weights(),
    st.sampled_from(FLOATS),
    st.integers(0, 2**32),
)
def test_listed_windows(
    shape: list[int], output: list[int], how: tuple[str, tuple[Any, ...]], dtype: np.dtype[Any], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, len(shape) + 1))
    axes = tuple(rng.permutation(len(shape))[:rank].tolist())
    geometry = adaptive_geometry(tuple(shape), tuple(output[:rank]), axes)
    x = rng.standard_normal(shape).astype(dtype)
    family, parameters = how
    for spread, function in functions(family):
        v = rng.standard_normal(geometry.out_shape if spread else geometry.shape).astype(dtype)
        check(
            function(v, x, geometry, *parameters), *exact(family, parameters, spread, v, x, geometry), np.dtype(dtype)
        )


@examples(100)
@given(cases([np.dtype("d")]), weights(), st.integers(0, 2**32))
def test_spread_is_the_transpose_of_sum(case: Case, how: tuple[str, tuple[Any, ...]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    family, parameters = how
    x = np.where(np.isfinite(case.x), case.x, 0.25)
    if family == "softmax" and parameters[1] is not None and not np.isfinite(parameters[1]):
        parameters = (parameters[0], 0.5)
    geometry = case.geometry
    t, g = rng.standard_normal(geometry.shape), rng.standard_normal(geometry.out_shape)
    (_, total), (_, spread) = functions(family)
    with case.setting():
        y, back = total(t, x, geometry, *parameters), spread(g, x, geometry, *parameters)
        size = spread(np.abs(g), np.abs(x) if family == "power" else x, geometry, *parameters)
    with np.errstate(all="ignore"):
        scale = float(np.sum(np.abs(t) * np.abs(size)))
    if np.isfinite(scale):
        assert abs(float(np.sum(y * g)) - float(np.sum(t * back))) <= 1e-11 * scale + 1e-300


@examples(150)
@given(cases(FLOATS), weights(), st.sampled_from(SCALES), st.integers(0, 2**32))
def test_threads_tiles_and_layouts_change_no_bit(
    case: Case, how: tuple[str, tuple[Any, ...]], scale: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    family, parameters = how
    x = np.ascontiguousarray(spread_out(rng, case.x, scale))
    level = _core.level()
    for spread, function in functions(family):
        v = operand(rng, case.geometry.out_shape if spread else case.geometry.shape, x.dtype, scale)
        try:
            _core.use_level(case.level)
            plain = function(v, x, case.geometry, *parameters)
        finally:
            _core.use_level(level)
        for layout in LAYOUTS[:-1]:
            with case.setting():
                found = function(
                    lay_out(v.copy(), layout, rng), lay_out(x.copy(), layout, rng), case.geometry, *parameters
                )
            assert same_bits(found, plain), layout


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("shape", "window", "options"),
    [
        ((300, 301), (2, 2), {}),
        ((200, 190), (3, 3), {"stride": 1}),
        ((3, 40, 41, 9), (3, 3), {"stride": 2, "padding": 1, "axes": (1, 2)}),
        ((5, 7, 30, 31), (3, 3), {"stride": 2, "padding": 1, "ceil_mode": True}),
        ((100_000,), (5,), {"stride": 3, "dilation": 2}),
        ((60, 60), (21, 20), {"stride": 1, "padding": 7}),
    ],
)
def test_large_arrays_in_tiles(level: str, shape: tuple[int, ...], window: tuple[int, ...], options: Any) -> None:
    """One wild element among many plain ones: windows of both forms in one tile."""
    rng = np.random.default_rng(0)
    geometry = parse_window(window, **options).on(shape)
    x, before = rng.standard_normal(shape), (_core.level(), _core.num_threads())
    wild = x.copy()
    wild.flat[rng.integers(0, x.size, 5)] = [1e5, np.inf, -np.inf, np.nan, -1e200]
    try:
        _core.use_level(level)
        for family, how in (("softmax", (1.5, 0.0)), ("softmax", (-1.5, None)), ("power", (3.0, 2.0, True))):
            for spread, function in functions(family):
                v = rng.standard_normal(geometry.out_shape if spread else shape)
                plain, mixed = [], []
                for threads, limits in ((1, DEFAULT_LIMITS), (3, (4096, 64))):
                    _core.set_num_threads(threads)
                    _core.set_limits(*limits, STREAMED)
                    plain.append(function(v, x, geometry, *how))
                    mixed.append(function(v, wild, geometry, *how))
                assert same_bits(*plain)
                assert same_bits(*mixed)
                check(mixed[0], *exact(family, how, spread, v, wild, geometry), np.dtype("d"))
                # Windows without a wild element are as they were.
                seen = gather(np.asarray(wild != x), geometry)
                touched = (seen[0] & seen[1]).any(axis=reference.last_axes(geometry))
                if spread:
                    ones = np.ones_like(gather(x, geometry)[0], np.longdouble)
                    touched = reference.weighted_spread(touched.astype(float), ones, geometry) > 0
                assert np.array_equal(plain[0][~touched], mixed[0][~touched])
    finally:
        _core.use_level(before[0])
        _core.set_num_threads(before[1])
        _core.set_limits(*DEFAULT_LIMITS, STREAMED)


def geometry_1d(n: int, window: int, **options: Any) -> Geometry:
    return parse_window((window,), **options).on((n,))


def weights_of(function: Callable[..., Array], x: Any, *how: Any) -> list[float]:
    """The weights in a single window over all of ``x``."""
    x = np.asarray(x, np.float64)
    geometry = geometry_1d(len(x), len(x))
    spread: list[float] = function(np.ones(1), x, geometry, *how).tolist()
    for i, weight in enumerate(spread if np.isfinite(spread).all() else []):
        one = np.zeros(len(x))
        one[i] = 1.0
        total = core.softmax_sum if function is core.softmax_spread else core.power_sum
        assert np.allclose(total(one, x, geometry, *how), weight, rtol=1e-14, atol=0, equal_nan=True)
    return spread


INF, NAN = np.inf, np.nan


def test_infinite_and_missing_elements_of_smooth_max() -> None:
    spread = core.softmax_spread
    assert weights_of(spread, [1.0, INF, INF], 1.0, None) == [0.0, 0.5, 0.5]
    assert weights_of(spread, [-INF, -INF], 1.0, None) == [0.5, 0.5]
    assert weights_of(spread, [-INF, 3.0, -INF], 1.0, None) == [0.0, 1.0, 0.0]
    assert weights_of(spread, [-INF, 3.0, INF], -1.0, None) == [1.0, 0.0, 0.0]
    assert np.isnan(weights_of(spread, [1.0, NAN, INF], 1.0, None)).all()
    assert weights_of(spread, [1e20, -1e20], 1e20, None) == [1.0, 0.0]
    assert weights_of(spread, [1e20, -1e20], -1e20, None) == [0.0, 1.0]
    # Padding takes part in the sum of exponentials, but never in an infinite one.
    padded = geometry_1d(1, 2, padding=((1, 0),))
    assert spread(np.ones(1), np.array([0.0]), padded, 1.0, 0.0).tolist() == [0.5]
    assert spread(np.ones(1), np.array([0.0]), padded, 1.0, 800.0).tolist() == [0.0]
    assert spread(np.ones(1), np.array([-INF]), padded, 1.0, 0.0).tolist() == [0.0]
    assert spread(np.ones(1), np.array([INF]), padded, 1.0, INF).tolist() == [1.0]
    assert np.isnan(spread(np.ones(1), np.array([0.0]), padded, 1.0, NAN)).all()
    # The overhang of ceil_mode takes no part.
    hangs = geometry_1d(3, 2, ceil_mode=True)
    assert spread(np.ones(2), np.zeros(3), hangs, 1.0, 0.0).tolist() == [0.5, 0.5, 1.0]


def test_zeros_and_infinities_of_a_norm() -> None:
    spread = core.power_spread
    assert np.allclose(weights_of(spread, [3.0, -4.0], 2.0, 1.0, True), [0.6, -0.8], rtol=3e-16, atol=0)
    assert weights_of(spread, [0.0, 0.0], 2.0, 1.0, True) == [0.0, 0.0]
    assert np.allclose(weights_of(spread, [0.0, 2.0, -0.0], 3.0, -0.5, False), [0.0, 1.0, 0.0], rtol=3e-16, atol=0)
    assert weights_of(spread, [0.0, -2.0], 2.0, 0.0, False) == [1.0, 1.0]
    assert weights_of(spread, [0.0, 0.0], 2.0, 0.0, False) == [1.0, 1.0]
    assert weights_of(spread, [0.0, -2.0], 1.0, 0.0, True) == [0.0, -1.0]
    assert str(weights_of(spread, [5.0, -INF], 2.0, 1.0, True)) == str([0.0, NAN])
    assert weights_of(spread, [5.0, -INF], 1.0, 0.0, True) == [1.0, -1.0]
    assert np.isnan(weights_of(spread, [5.0, NAN, 0.0], 2.0, 0.0, False)).all()
    assert np.allclose(weights_of(spread, [3e300, -4e300], 2.0, 1.0, True), [0.6, -0.8], rtol=1e-15, atol=0)
    assert np.allclose(weights_of(spread, [3e-310, -4e-310], 2.0, 1.0, True), [0.6, -0.8], rtol=1e-13, atol=0)


def test_windows_and_arrays_of_nothing() -> None:
    empty = geometry_1d(1, 1, padding=((2, 0),))
    for family, how in (("softmax", (1.0, None)), ("softmax", (1.0, 0.0)), ("power", (2.0, 1.0, True))):
        (_, total), (_, spread) = functions(family)
        assert total(np.ones(1), np.ones(1), empty, *how).tolist() == [0.0, 0.0, 1.0]
        assert spread(np.array([NAN, 5.0, 2.0]), np.ones(1), empty, *how).tolist() == [2.0]
        for shape in ((0, 3), (3, 0)):
            geometry = parse_window((2,), padding=1, axes=(1,)).on(shape)
            x = np.zeros(shape)
            assert same_bits(total(x, x, geometry, *how), np.zeros(geometry.out_shape))
            assert same_bits(spread(np.ones(geometry.out_shape), x, geometry, *how), x)
    huge = geometry_1d(3, 10**9, padding=((10**9, 10**9),), stride=5 * 10**8)
    x = np.array([1.0, 2.0, 3.0])
    assert np.allclose(core.power_sum(x, x, huge, 2.0, 1.0, True).max(), 14**0.5)
    assert core.softmax_sum(x, x, huge, 1.0, 0.0).max() < 1e-6


def test_weights_of_large_float32_are_exact() -> None:
    """The normaliser is never rounded to float32, of which a unit is 0.06 here."""
    rng = np.random.default_rng(0)
    x = (1e6 + rng.integers(0, 40, (64, 64)) / 16).astype(np.float32)
    geometry = parse_window((3, 3), stride=1).on(x.shape)
    g = np.ones(geometry.out_shape, np.float32)
    check(
        core.softmax_spread(g, x, geometry, 1.0, 0.0),
        *exact("softmax", (1.0, 0.0), True, g, x, geometry),
        np.dtype("f"),
    )
    half = (x - 1e6).astype(np.float16)
    found = core.softmax_spread(g.astype(np.float16), half, geometry, 1.0, None)
    wide = exact("softmax", (1.0, None), True, g, half, geometry)[0]
    assert same_bits(found, wide.astype(np.float64).astype(np.float16))


def test_a_result_has_the_memory_order_of_x() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 8, 9, 3)).astype(np.float32).transpose(0, 3, 1, 2)
    geometry = parse_window((2, 3), stride=1).on(x.shape)
    t = rng.standard_normal(x.shape)
    g = rng.standard_normal(geometry.out_shape)
    for found in (core.softmax_sum(t, x, geometry, 1.0, None), core.softmax_spread(g, x, geometry, 1.0, None)):
        assert found.dtype == np.float64
        assert found.transpose(0, 2, 3, 1).flags.c_contiguous


def test_one_window_over_everything() -> None:
    rng = np.random.default_rng(0)
    for x in (rng.standard_normal((700, 300)), 1e4 * rng.standard_normal((700, 300))):
        geometry = global_geometry(x.shape, (0, 1))
        g, t = np.full((1, 1), 2.0), rng.standard_normal(x.shape)
        for family, how in (("softmax", (3.0, None)), ("power", (2.5, 1.5, True))):
            for spread, function in functions(family):
                v = g if spread else t
                check(function(v, x, geometry, *how), *exact(family, how, spread, v, x, geometry), np.dtype("d"))


def test_names_of_the_kernels() -> None:
    x = np.ones((4, 4))
    geometry = parse_window((2, 2)).on(x.shape)
    assert _core.trace(lambda: core.softmax_sum(x, x, geometry, 1.0, None)) == ["weighted_sum"]
    assert _core.trace(lambda: core.power_spread(x[:2, :2], x, geometry, 2.0, 1.0, True)) == ["weighted_spread"]
