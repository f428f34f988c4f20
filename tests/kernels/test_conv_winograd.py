"""Winograd's ways of convolution against the reference, at, just below and just above the size where they take over."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import cenote as cn
from cases import DEFAULT_LIMITS, LEVELS, Case, same_bits
from cenote import _core
from cenote.core.conv import convolve
from conv_cases import reference
from conv_checks import LAYOUTS, check, frame_of


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dilation", [1, 2, 3, (2, 1)])
def test_winograd_from_its_least_plane_on(level: str, layout: str, dilation: Any) -> None:
    down, right = dilation if isinstance(dilation, tuple) else (dilation, dilation)
    for rows, columns in ((4 * down - 1, 4 * right), (4 * down, 4 * right - 1), (4 * down, 4 * right),
                          (4 * down + 1, 5 * right + 1), (6 * down - 1, 4 * right + 3)):  # fmt: skip
        given = {"channels": 33, "filters": 40, "dilation": dilation, "padding": (down, right)}
        check(frame_of(layout, 7, (rows, columns), (3, 3), **given), level, results=["y", "x"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_winograd_from_its_least_channels_and_pixels_on(layout: str) -> None:
    for channels, filters, batch in itertools.product((31, 32, 33), (31, 32, 33), (5, 6, 7)):
        given = {"channels": channels, "filters": filters, "padding": 1}
        check(frame_of(layout, batch, (4, 4), (3, 3), **given), LEVELS[-1], results=["y", "x"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_winograd_of_pieces_from_its_least_channels_on(layout: str) -> None:
    """Half as many channels do where there are 4 pieces, and not where there are 3."""
    for channels, filters, window in itertools.product((15, 16, 17), (31, 32), ((5, 5), (9, 3), (4, 6))):
        given = {"channels": channels, "filters": filters, "padding": 2}
        check(frame_of(layout, 3, (12, 11), window, **given), LEVELS[-1], results=["y", "x"])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_winograd_of_filters_made_of_pieces(level: str, layout: str) -> None:
    for window, dilation, padding, channels in (((4, 4), 1, 2, 32), ((5, 5), 1, 2, 32), ((5, 5), 2, 3, 33),
                                                ((6, 5), 1, 1, 32), ((3, 5), 1, 1, 40), ((9, 3), 1, 4, 70),
                                                ((5, 3), 1, 1, 33), ((7, 7), 1, 3, 32),
                                                ((6, 6), (1, 3), (0, 7), 130)):  # fmt: skip
        given = {"channels": channels, "filters": 33, "dilation": dilation, "padding": padding}
        check(frame_of(layout, 4, (13, 14), window, **given), level, results=["y", "x"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_winograd_in_blocks_of_every_shape(layout: str) -> None:
    """One task for all tiles, and planes that are cut along rows, along columns, and both ways."""
    for space, dilation, channels in (((16, 30), 1, 64), ((4, 150), 1, 64), ((150, 4), 1, 64), ((40, 42), 1, 64),
                                      ((13, 61), (1, 3), 64), ((37, 41), 2, 40), ((9, 33), 1, 260)):  # fmt: skip
        given = {"channels": channels, "filters": 64, "dilation": dilation, "padding": 1}
        check(frame_of(layout, 1, space, (3, 3), **given), LEVELS[-1], threads=3, results=["y", "x"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_winograd_on_more_axes(layout: str) -> None:
    for space, window, dilation, channels in (((5, 6, 7), (3, 3, 3), 1, 32), ((1, 6, 7), (3, 3, 3), 1, 40),
                                              ((6, 9, 8), (2, 3, 3), 2, 33), ((4, 5, 6), (3, 3, 3), 1, 140),
                                              ((3, 2, 5, 6), (2, 1, 3, 3), 1, 32)):  # fmt: skip
        given = {"channels": channels, "filters": 35, "dilation": dilation, "padding": 1}
        check(frame_of(layout, 3, space, window, **given), LEVELS[-1], results=["y", "x"])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_winograd_of_phases_from_their_least_plane_on(level: str, layout: str) -> None:
    """The adjoint with a stride: phases of two taps, and of three and two. 5 elements are 3 windows, 6 and 7 are 4."""
    for window, stride, padding in (
        (4, 2, 1),
        (4, 2, 0),
        (4, 2, 2),
        (5, 2, 2),
        (6, 3, 2),
        (6, 3, 1),
        ((4, 6), (2, 3), 1),
    ):
        for rows, columns in ((5, 14), (6, 7), (7, 6), (8, 9), (14, 5), (25, 16), (13, 31)):
            given = {"channels": 40, "filters": 33, "stride": stride, "padding": padding}
            windows = window if isinstance(window, tuple) else (window, window)
            check(frame_of(layout, 16, (rows, columns), windows, **given), level, results=["x"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_winograd_of_phases_from_their_least_channels_and_windows_on(layout: str) -> None:
    for channels, filters, batch in itertools.product((31, 32, 33), (31, 32, 33), (13, 14, 15)):
        given = {"channels": channels, "filters": filters, "stride": 2, "padding": 1}
        check(frame_of(layout, batch, (6, 7), (4, 4), **given), LEVELS[-1], results=["x"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_winograd_of_phases_with_other_axes(layout: str) -> None:
    """A stride on one axis only, on both of more axes, on an axis that is looped over, and cut into blocks."""
    for space, window, stride, dilation in (
        ((12, 13), (3, 4), (1, 2), 1), ((12, 13), (4, 3), (2, 1), 1), ((12, 13), (4, 3), (2, 1), (1, 2)),
        ((3, 12, 13), (2, 4, 4), (1, 2, 2), 1), ((6, 12, 13), (2, 4, 4), 2, 1), ((40, 90), (4, 4), 2, 1),
        ((12, 13), (3, 3), 2, 1), ((12, 13), (4, 4), (2, 2), (1, 3)), ((12, 40), (1, 4), (1, 2), 1),
        ((12, 40), (1, 4), (2, 2), 1), ((12, 13), (4, 1), (2, 1), 1), ((200,), (4,), 2, 1), ((200,), (6,), 3, 1),
    ):  # fmt: skip
        pads = tuple(min(1, k - 1) for k in window)
        given: Any = {"channels": 64, "filters": 130, "stride": stride, "dilation": dilation, "padding": pads}
        check(frame_of(layout, 6, space, window, **given), LEVELS[-1], threads=3, results=["x"])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_winograd_of_two_taps_and_of_even_filters(level: str, layout: str) -> None:
    for window, dilation, space in itertools.product(
        ((2, 2), (2, 3), (3, 2), (2, 4), (4, 4), (6, 2), (8, 8)), (1, 2, (3, 1)), ((17, 18), (20, 27))
    ):
        given = {"channels": 36, "filters": 35, "dilation": dilation, "padding": 3}
        check(frame_of(layout, 1, space, window, **given), level, results=["y", "x"])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_winograd_along_a_line(level: str, layout: str) -> None:
    """Channels times taps at 224, below and above; an axis alone, with a batch, and behind axes with one tap."""
    for channels, taps in ((111, 2), (112, 2), (74, 3), (75, 3), (55, 4), (56, 4), (44, 5), (45, 5), (32, 7), (33, 9)):
        for batch, space in ((1, (240,)), (1, (95,)), (3, (90,)), (2, (3, 60))):
            given = {"channels": channels, "filters": 34, "padding": (0,) * (len(space) - 1) + (taps // 2,)}
            window = (1,) * (len(space) - 1) + (taps,)
            check(frame_of(layout, batch, space, window, **given), level, results=["y", "x"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_winograd_along_a_line_of_every_kind(layout: str) -> None:
    for space, window, dilation in (
        ((300,), (3,), 2), ((301,), (9,), 3), ((5000,), (3,), 1), ((4, 5, 41), (3, 1, 3), 1), ((7,), (3,), 2),
        ((40, 5), (3, 1), 1), ((4, 4), (1, 3), 1),
    ):  # fmt: skip
        given = {"channels": 128, "filters": 140, "dilation": dilation, "padding": tuple(k // 2 for k in window)}
        check(frame_of(layout, 6, space, window, **given), LEVELS[-1], threads=3, results=["y", "x"])


SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...], int, int]] = {
    "3×3, 64 channels": ((13, 14), (3, 3), 1, 64),
    "3×3, 256 channels": ((13, 14), (3, 3), 1, 256),
    "3×3, dilation 2": ((13, 14), (3, 3), 2, 64),
    "3×3×3": ((5, 13, 14), (3, 3, 3), 1, 32),
    "2×2": ((13, 14), (2, 2), 1, 64),
    "4×4": ((13, 14), (4, 4), 1, 64),
    "5×5": ((13, 14), (5, 5), 1, 32),
    "5×5, 16 channels": ((13, 14), (5, 5), 1, 16),
    "7×7": ((13, 14), (7, 7), 1, 32),
    "3 along a line": ((190,), (3,), 1, 128),
    "9 along a line": ((190,), (9,), 1, 64),
    "4×4, stride 2": ((26, 28), (4, 4), 1, 64),
    "5×5, stride 2": ((26, 28), (5, 5), 1, 64),
}


def strides(name: str) -> int:
    """The adjoint has phases."""
    return 2 if name.endswith("stride 2") else 1


def pads_of(name: str) -> tuple[tuple[int, int], ...]:
    """As many elements as results."""
    _, window, dilation, _ = SHAPES[name]
    if strides(name) > 1:
        return ((1, 1),) * len(window)
    return tuple((dilation * (k - 1) // 2, dilation * k // 2 if k % 2 == 0 else dilation * (k // 2)) for k in window)


WAYS = [(name, result) for name in SHAPES for result in ("y", "x") if strides(name) == 1 or result == "x"]


def errors(name: str, level: str, result: str) -> tuple[float, float]:
    """The error of the way that is taken and of direct sums of the same core, which it takes for 31 filters at a time:
    the largest and the root of the mean square, the one divided by the other."""
    space, window, dilation, channels = SHAPES[name]
    rng = np.random.default_rng(1)
    given = {"dilation": dilation, "padding": pads_of(name), "stride": strides(name)}
    many = max(channels, 32)  # in the result
    sizes = (channels, many) if result == "y" else (many, channels)
    frame = frame_of("channels_last", 2, space, window, channels=sizes[0], filters=sizes[1], **given)
    other = "x" if result == "y" else "y"
    source, w = (rng.standard_normal(shape).astype("f") for shape in (getattr(frame, other), frame.w))
    exact = reference(frame, result, {other: source.astype("d"), "w": w.astype("d")})
    direct = np.empty_like(exact, dtype="f")
    with Case(source, {}, None, level, 2, DEFAULT_LIMITS).setting():  # type: ignore[arg-type]
        got = convolve(frame, result, {other: source, "w": w})
        for begin in range(0, many, 31):
            count = min(31, many - begin)
            sizes = (channels, count) if result == "y" else (count, channels)
            part = frame_of("channels_last", 2, space, window, channels=sizes[0], filters=sizes[1], **given)
            some = (..., slice(begin, begin + count))
            piece = w[some] if result == "y" else w[..., begin : begin + count, :]
            direct[some] = convolve(part, result, {other: source, "w": piece})
    assert not same_bits(got, direct)  # it is another way
    wrong, plain = np.abs(got - exact), np.abs(direct - exact)
    return float(wrong.max() / plain.max()), float(np.sqrt((wrong**2).mean() / (plain**2).mean()))


def has_winograd(level: str) -> bool:
    """On x86 the baseline does without."""
    before = _core.level()
    assert _core.use_level(level)
    try:
        return cn.which_kernel("conv", (8, 56, 56, 64), (3, 3, 64, 64)) == "winograd"
    finally:
        _core.use_level(before)


WITH_WINOGRAD = [level for level in LEVELS if has_winograd(level)]


def test_every_other_level_has_winograd() -> None:
    assert [level for level in LEVELS if level not in WITH_WINOGRAD] in ([], ["baseline"])


@pytest.mark.parametrize("level", WITH_WINOGRAD)
@pytest.mark.parametrize(("name", "result"), WAYS)
def test_winograd_is_as_exact_as_direct_sums(name: str, result: str, level: str) -> None:
    largest, typical = errors(name, level, result)
    assert largest <= 2
    assert typical <= 2


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(("name", "result"), WAYS)
def test_winograd_keeps_what_is_not_finite_to_its_windows(name: str, result: str, bad: float) -> None:
    space, window, dilation, channels = SHAPES[name]
    channels = max(channels, 32)
    given = {"channels": channels, "filters": channels, "dilation": dilation, "padding": pads_of(name)}
    frame = frame_of("channels_last", 2, space, window, stride=strides(name), **given)
    other = "x" if result == "y" else "y"
    source, w = np.ones(getattr(frame, other), "f"), np.ones(frame.w, "f")
    source[(1, *(n // 2 for n in source.shape[1:-1]), 3)] = bad
    with np.errstate(invalid="ignore"):
        got = convolve(frame, result, {other: source, "w": w})
        expected = reference(frame, result, {other: source, "w": w})
    np.testing.assert_array_equal(got, expected)  # not NaN where it is infinite
    assert (~np.isfinite(got)).sum() == np.prod(window) * channels


@pytest.mark.parametrize("filters", [32, 33, 39])
def test_winograd_detects_what_is_not_finite_in_every_lane(filters: int) -> None:
    frame = frame_of("channels_last", 1, (12, 12), (3, 3), channels=32, filters=filters)
    for lane in {0, 31, filters - 1}:
        x, w = np.ones(frame.x, "f"), np.ones(frame.w, "f")
        w[2, 1, 5, lane] = np.inf
        np.testing.assert_array_equal(convolve(frame, "y", {"x": x, "w": w}), reference(frame, "y", {"x": x, "w": w}))


def test_winograd_detects_an_overflow_that_direct_sums_do_not_have() -> None:
    """Of the last point of the last tile, which one result needs."""
    frame = frame_of("channels_last", 1, (14, 14), (3, 3), channels=32, filters=32)
    x, w = np.zeros(frame.x, "f"), np.full(frame.w, 0.5, "f")
    x[0, 11, 13, 7], x[0, 13, 13, 7] = 3e38, -3e38
    np.testing.assert_array_equal(convolve(frame, "y", {"x": x, "w": w}), reference(frame, "y", {"x": x, "w": w}))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_winograd_with_infinities_does_not_depend_on_threads(layout: str) -> None:
    frame = frame_of(layout, 1, (14, 14), (3, 3), channels=64, filters=256, padding=1)
    rng = np.random.default_rng(3)
    x, w = (rng.standard_normal(shape).astype("f") for shape in (frame.x, frame.w))
    w[(70, 3, 1, 1) if frame.channels_first else (1, 1, 3, 70)] = np.inf
    results = []
    for threads in (1, 2, 3, 8):
        with Case(x, {}, None, LEVELS[-1], threads, DEFAULT_LIMITS).setting():  # type: ignore[arg-type]
            results.append(convolve(frame, "y", {"x": x, "w": w}))
    assert all(same_bits(results[0], other) for other in results[1:])
