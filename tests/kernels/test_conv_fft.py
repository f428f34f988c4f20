"""Convolution by overlap-save against the reference: every form, rank, level and dtype, around the ends of blocks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cases import BFLOAT16, DEFAULT_LIMITS, LEVELS, Case, same_bits
from cenote import _core
from cenote.arguments.errors import BadValue
from cenote.core.conv import convolve
from cenote.geometry.conv import ConvGeometry
from conv_cases import reference
from conv_checks import LAYOUTS, RESULTS, frame_of

Array = Any
AUTOMATIC, NEVER, ALWAYS = _core.FftMode.automatic, _core.FftMode.never, _core.FftMode.always
ROUNDING = {"e": 2.0**-11, "f": 2.0**-24, "d": 2.0**-53, "F": 2.0**-24, "D": 2.0**-53}  # half a unit of a result


@contextmanager
def method(mode: _core.FftMode) -> Iterator[None]:
    _core.set_fft(mode)
    try:
        yield
    finally:
        _core.set_fft(AUTOMATIC)


def run(frame: ConvGeometry, result: str, operands: Any, bias: Array = None, **how: Any) -> Array:
    case = Case(None, {}, None, how.get("level", LEVELS[-1]), how.get("threads", 2), DEFAULT_LIMITS)  # type: ignore[arg-type]
    with case.setting(), method(how.get("mode", ALWAYS)):
        return convolve(frame, result, operands, bias)


def normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape)).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)


def wide(x: Array) -> Array:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def arrays_of(frame: ConvGeometry, dtype: Any, seed: int = 0) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    return {name: normal(rng, getattr(frame, name), dtype) for name in "xwy"}


def others(arrays: dict[str, Array], result: str) -> dict[str, Array]:
    return {name: a for name, a in arrays.items() if name != result}


def check(frame: ConvGeometry, dtype: Any = "f", results: Any = RESULTS, **how: Any) -> None:
    """Half a unit of the result, and 2⁻⁴⁷ of the largest sum of absolute products: what double leaves of a block."""
    arrays = arrays_of(frame, dtype, sum(frame.x))
    channels = {"y": frame.y, "x": frame.x}
    for result in results:
        if result == "x" and any(axis.s > 1 for axis in frame.axes):
            continue  # it has phases, and direct sums
        operands = others(arrays, result)
        shape = channels.get(result)
        bias = (
            None
            if shape is None
            else normal(np.random.default_rng(9), (shape[1 if frame.channels_first else -1],), dtype)
        )
        got = run(frame, result, operands, bias, **how)
        held = None if bias is None else wide(bias)
        exact = reference(frame, result, {name: wide(a) for name, a in operands.items()}, held)
        sizes = reference(frame, result, {name: np.abs(wide(a)) for name, a in operands.items()})
        unit = 2.0**-8 if got.dtype == BFLOAT16 else ROUNDING[got.dtype.char]
        allowed = 1.01 * unit * np.abs(exact) + 2.0**-47 * np.max(sizes, initial=0) + (2.0**-25 if unit > 1e-5 else 0)
        if got.dtype.kind == "c":
            allowed = allowed + unit * np.abs(exact)  # both parts are rounded
        assert (np.abs(wide(got) - exact) <= allowed).all(), (frame, result, how)


# -------------------------------------------------------------------------------------------------------- geometry


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_around_the_ends_of_blocks(level: str, layout: str) -> None:
    """Blocks of 256 elements give 197 results of 60 taps: one, two and three blocks, one element less and more."""
    for results in (1, 2, 196, 197, 198, 393, 394, 395, 590, 591, 592):
        check(frame_of(layout, 1, (results + 59,), (60,), channels=1, filters=1), level=level)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("elements", [1, 2, 63, 64, 255, 256, 257, 500])
def test_filters_longer_than_the_signal(elements: int, layout: str) -> None:
    for taps in (255, 256, 257, 300):
        check(frame_of(layout, 2, (elements,), (taps,), channels=2, filters=3, padding=taps - 1))


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_batches_groups_and_channels(batch: int, layout: str) -> None:
    for channels, filters, groups in ((1, 1, 1), (1, 5, 1), (4, 1, 1), (3, 5, 1), (4, 4, 4), (4, 8, 4), (6, 4, 2)):
        given: Any = {"channels": channels, "filters": filters, "groups": groups, "padding": "same"}
        check(frame_of(layout, batch, (301,), (70,), **given))
        check(frame_of(layout, batch, (31, 22), (9, 10), **given))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", ["e", "f", "d", "F", "D", BFLOAT16])
def test_every_dtype(level: str, dtype: Any) -> None:
    check(frame_of("channels_last", 2, (310,), (67,), channels=3, filters=2, padding=5), dtype, level=level)
    check(frame_of("channels_first", 1, (3, 40, 41), (2, 9, 8), channels=2, filters=3), dtype, level=level)


@pytest.mark.parametrize("level", LEVELS)
def test_strides_and_dilations(level: str) -> None:
    for stride, dilation in itertools.product((1, 2, 3, 6), (1, 2, 3, 4)):
        given: Any = {"channels": 2, "filters": 2, "stride": stride, "dilation": dilation, "padding": 7}
        check(frame_of("channels_first", 1, (700,), (60,), **given), level=level)
        given |= {"stride": (stride, 1), "dilation": (1, dilation)}
        check(frame_of("channels_last", 1, (40, 50), (8, 9), **given), level=level)


def test_long_lines_are_matrices_of_every_shape() -> None:
    """Blocks of 2⁸ to 2¹⁵ elements: square matrices, and those twice as wide as high."""
    for power in range(8, 16):
        taps = 2 ** (power - 1) + 1
        check(frame_of("channels_first", 1, (3 * taps // 2,), (taps,), channels=1, filters=1))


def test_axes_that_are_not_transformed() -> None:
    """A batch, taps on an axis in front, in between and behind, with strides, dilations and padding of their own."""
    for window, stride, dilation in (
        ((2, 60, 1), 1, 1), ((3, 1, 70), (2, 1, 1), 1), ((60, 1, 3), (1, 1, 2), 1), ((3, 9, 8), (2, 1, 1), (2, 1, 1)),
        ((9, 3, 8), 1, (1, 2, 1)), ((9, 8, 3), 1, 2), ((1, 9, 9), (3, 1, 1), 1), ((4, 5, 6), 2, 1),
    ):  # fmt: skip
        space = tuple(5 if k < 5 else 90 if k > 20 else 25 for k in window)
        pads = tuple(k // 2 for k in window)
        given: Any = {"channels": 2, "filters": 3, "stride": stride, "dilation": dilation, "padding": pads}
        check(frame_of("channels_last", 2, space, window, **given))
        check(frame_of("channels_first", 2, space, window, **given))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_geometry(data: st.DataObject) -> None:
    draw = data.draw
    rank = draw(st.integers(1, 4))

    def per_axis(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank)))

    groups = draw(st.sampled_from([1, 1, 2, 3]))
    channels, filters = groups * draw(st.integers(1, 3)), groups * draw(st.integers(1, 3))
    given: Any = {
        "channels": channels,
        "filters": filters,
        "groups": groups,
        "stride": draw(st.sampled_from([1, per_axis(1, 3)])),
        "dilation": draw(st.sampled_from([1, per_axis(1, 3)])),
        "padding": draw(st.sampled_from(["valid", "same", per_axis(0, 9)])),
    }
    space, window = per_axis(1, {1: 600, 2: 40, 3: 14, 4: 7}[rank]), per_axis(1, {1: 300, 2: 20, 3: 6, 4: 4}[rank])
    try:
        frame = frame_of(draw(st.sampled_from(LAYOUTS)), draw(st.integers(1, 3)), space, window, **given)
    except BadValue:
        assume(False)
        raise
    assume(any(k > 1 for k in window))
    dtype = draw(st.sampled_from(["e", "f", "d", "F", "D"]))
    check(frame, dtype, level=draw(st.sampled_from(LEVELS)), threads=draw(st.integers(1, 3)))


# --------------------------------------------------------------------------------------------------------- threads


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("level", LEVELS)
def test_the_number_of_threads_makes_no_difference(level: str, result: str) -> None:
    for frame in (
        frame_of("channels_first", 1, (48000,), (1025,), channels=1, filters=1, padding=1024),
        frame_of("channels_first", 2, (9000,), (700,), channels=3, filters=4),
        frame_of("channels_last", 1, (9000,), (700,), channels=8, filters=8, groups=8),
        frame_of("channels_first", 1, (150, 160), (31, 30), channels=2, filters=2),
    ):
        operands = others(arrays_of(frame, "f"), result)
        one, two, three = (run(frame, result, operands, level=level, threads=n) for n in (1, 2, 3))
        assert same_bits(one, two)
        assert same_bits(one, three)


# ------------------------------------------------------------------------------------------------- what is not finite

PLACES: list[tuple[Any, tuple[int, ...], tuple[int, ...]]] = [
    ({"channels": 1, "filters": 1}, (2000,), (70,)),
    ({"channels": 3, "filters": 2, "padding": 20}, (900,), (70,)),
    ({"channels": 4, "filters": 4, "groups": 2, "dilation": 2, "padding": 9}, (900,), (70,)),
    ({"channels": 1, "filters": 2, "stride": 2}, (900,), (70,)),
    ({"channels": 2, "filters": 2}, (70, 60), (9, 8)),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["x", "w", "y"])
@pytest.mark.parametrize("place", range(len(PLACES)))
def test_what_is_not_finite_stays_in_its_windows(place: int, where: str, bad: float, layout: str) -> None:
    given, space, window = PLACES[place]
    frame = frame_of(layout, 3, space, window, **given)
    arrays = {name: np.ones(getattr(frame, name), "f") for name in "xwy"}
    spot = arrays[where]
    spot[tuple(n // 2 for n in spot.shape)] = bad
    for result in RESULTS:
        if result == where:
            continue
        operands = others(arrays, result)
        got = run(frame, result, operands)
        if where == "w" and result == "x":  # an infinite weight on padding gives anything
            assert same_bits(got, run(frame, result, operands, mode=NEVER))
            continue
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(got, reference(frame, result, operands), rtol=1e-6)


@pytest.mark.parametrize(("dtype", "large"), [("f", 3e38), ("d", 1e308), ("e", 6e4)])
def test_sums_that_overflow_are_those_of_a_direct_sum(dtype: str, large: float) -> None:
    frame = frame_of("channels_last", 1, (600,), (60,), channels=1, filters=1)
    x, w = np.zeros(frame.x, dtype), np.ones(frame.w, dtype)
    x[0, 100:102] = large
    x[0, 300], x[0, 302] = large, -large
    got, direct = (run(frame, "y", {"x": x, "w": w}, mode=mode) for mode in (ALWAYS, NEVER))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(direct))
    assert np.isinf(got).sum() == 59
    assert not np.isnan(got).any()


# ------------------------------------------------------------------------------------------------- error and choice


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("taps", [129, 1025])
def test_overlap_save_is_as_exact_as_direct_sums(taps: int, level: str) -> None:
    frame = frame_of("channels_first", 1, (4000,), (taps,), channels=1, filters=1)
    arrays = arrays_of(frame, "f")
    for result in RESULTS:
        operands = others(arrays, result)
        exact = reference(frame, result, {name: wide(a) for name, a in operands.items()})
        fast, direct = (run(frame, result, operands, level=level, mode=mode) for mode in (ALWAYS, NEVER))
        assert not same_bits(fast, direct)
        assert np.sqrt(np.mean((fast - exact) ** 2)) <= np.sqrt(np.mean((direct - exact) ** 2))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("result", RESULTS)
def test_long_filters_are_served_by_overlap_save_and_short_ones_are_not(level: str, result: str) -> None:
    for space, window, channels, filters, groups, fast in (
        ((48000,), (257,), 1, 1, 1, True), ((48000,), (1025,), 1, 1, 1, True), ((48000,), (257,), 1, 8, 1, True),
        ((48000,), (257,), 8, 8, 1, True), ((48000,), (257,), 8, 8, 8, True), ((512, 512), (31, 31), 1, 1, 1, True),
        ((512, 512), (63, 63), 1, 1, 1, True), ((48000,), (47,), 1, 1, 1, False), ((56, 56), (7, 7), 8, 8, 8, False),
        ((40, 40), (5, 5), 32, 32, 1, False), ((5, 30, 30), (3, 3, 3), 16, 16, 1, False),
    ):  # fmt: skip
        frame = frame_of("channels_first", 1, space, window, channels=channels, filters=filters, groups=groups)
        operands = others(arrays_of(frame, "f"), result)
        got = run(frame, result, operands, level=level, mode=AUTOMATIC)
        assert same_bits(got, run(frame, result, operands, level=level, mode=ALWAYS)) == fast, window


def test_whole_numbers_are_exact_in_integers() -> None:
    frame = frame_of("channels_first", 1, (5000,), (300,), channels=1, filters=1)
    rng = np.random.default_rng(0)
    arrays = {name: rng.integers(-(2**30), 2**30, getattr(frame, name)).astype("i") for name in "xwy"}
    for result in RESULTS:
        operands = others(arrays, result)
        assert same_bits(run(frame, result, operands), reference(frame, result, operands))
