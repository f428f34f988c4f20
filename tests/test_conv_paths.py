"""The fast ways of convolution against the reference, at, just below and just above the size where they take over."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from cases import DEFAULT_LIMITS, LEVELS, Case, same_bits
from cenote.convolving import convolve
from cenote.frame import Frame, conv_frame
from conv_cases import reference

RESULTS = ["y", "x", "w"]
LAYOUTS = ["channels_last", "channels_first"]


def frame_of(layout: str, batch: int, space: tuple[int, ...], window: tuple[int, ...], **given: Any) -> Frame:
    """``channels`` in, ``filters`` out; the rest is what conv takes."""
    groups = given.get("groups", 1)
    channels, filters = given.pop("channels"), given.pop("filters")
    options = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1} | given
    if layout == "channels_first":
        shapes = (batch, channels, *space), (filters, channels // groups, *window)
    else:
        shapes = (batch, *space, channels), (*window, channels // groups, filters)
    return conv_frame(*shapes, layout=layout, **options)


def whole(rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "f", shift: int = 0) -> Any:
    """Whole numbers in memory that begins ``shift`` elements behind a cache line."""
    count = int(np.prod(shape))
    memory = np.empty(count + 64, dtype)
    first = -memory.ctypes.data % 64 // memory.itemsize + shift
    out = memory[first : first + count].reshape(shape)
    out[...] = rng.integers(-3, 4, shape)
    return out


def check(
    frame: Frame, level: str, *, shift: int = 0, threads: int = 2, dtype: str = "f", results: Any = RESULTS
) -> None:
    rng = np.random.default_rng(sum(frame.x))
    arrays = {name: whole(rng, getattr(frame, name), dtype, shift) for name in "xwy"}
    filters = frame.y[1 if frame.first else -1]
    for result in results:
        operands = {name: a for name, a in arrays.items() if name != result}
        bias = rng.integers(-3, 4, filters).astype(dtype) if result == "y" else None
        with Case(arrays["x"], {}, None, level, threads, DEFAULT_LIMITS).setting():  # type: ignore[arg-type]
            got = convolve(frame, result, operands, bias)
        assert same_bits(got + 0, reference(frame, result, operands, bias) + 0), (frame, result, shift)


# ----------------------------------------------------------------------------------------------------- depthwise


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_depthwise_by_every_number_of_rows(level: str, layout: str) -> None:
    """Up to 14 rows whose taps are all real: blocks of 4, of 6, and what is left of them."""
    for rows in range(1, 15):
        for size in (3, 5):
            given = {"channels": 17, "filters": 17, "groups": 17, "padding": size // 2}
            check(frame_of(layout, 2, (rows, 9), (size, size), **given), level, shift=rows % 5)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_depthwise_by_every_number_of_channels_and_place_in_memory(level: str, layout: str) -> None:
    """Vectors go on from one pixel to the next: with fewer lanes than a pair of vectors, as many, and more."""
    for channels, shift in itertools.product((2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48), (0, 1, 4, 15)):
        given = {"channels": channels, "filters": channels, "groups": channels, "padding": 1}
        check(frame_of(layout, 1, (7, 6), (3, 3), **given), level, shift=shift)


@pytest.mark.parametrize("dtype", ["f", "d", "i", "q"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_depthwise_of_every_width_and_window(layout: str, dtype: str) -> None:
    for columns, (window, stride, dilation, padding) in itertools.product(
        (1, 3, 4, 5, 7, 8, 9, 16, 17, 33),
        (((3, 3), 1, 1, 1), ((3, 3), 1, 2, 2), ((3, 3), 2, 1, 1), ((5, 5), 1, 1, 2), ((2, 3), (1, 2), 1, 1),
         ((1, 10), 1, 1, (0, 9)), ((3, 1), 1, 1, 0)),
    ):  # fmt: skip
        given = {"channels": 6, "filters": 6, "groups": 6, "stride": stride, "dilation": dilation, "padding": padding}
        check(frame_of(layout, 2, (8, columns), window, **given), LEVELS[-1], dtype=dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_depthwise_on_one_axis_and_on_three(layout: str) -> None:
    given = {"channels": 20, "filters": 20, "groups": 20, "padding": 1}
    for space in ((1,), (2,), (40,), (3, 4, 5), (6, 7, 9), (1, 1, 20)):
        for batch in (1, 5):
            check(frame_of(layout, batch, space, (3,) * len(space), **given), LEVELS[-1])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_depthwise_filter_sees_only_real_cells(layout: str) -> None:
    """Cells behind the end of a row, which vectors read too, do not count: not even if they are infinite."""
    frame = frame_of(layout, 1, (4, 11), (3, 3), channels=3, filters=3, groups=3, padding=((0, 0), (0, 0)))
    x, y = np.ones(frame.x, "f"), np.ones(frame.y, "f")
    x[(0, 1, 3, 10) if frame.first else (0, 3, 10, 1)] = np.inf
    with np.errstate(invalid="ignore"):
        got = convolve(frame, "w", {"x": x, "y": y})
        np.testing.assert_array_equal(got, reference(frame, "w", {"x": x, "y": y}))
    assert np.isinf(got).sum() == 1


# ----------------------------------------------------------------------------------------- few channels, planes


@pytest.mark.parametrize("level", LEVELS)
def test_a_few_channels_in_rows_of_every_length(level: str) -> None:
    for channels, columns, filters in itertools.product((1, 2, 3, 4, 5), (31, 32, 63, 64, 65, 130), (5, 11, 64)):
        given = {"channels": channels, "filters": filters, "padding": (1, 2), "stride": (1, 2 - columns % 2)}
        check(frame_of("channels_first", 1, (5, columns), (3, 4), **given), level, results=["y", "x"])


@pytest.mark.parametrize("level", LEVELS)
def test_one_by_one_where_rows_lie_in_one_piece(level: str) -> None:
    for channels, pixels in itertools.product((15, 16, 17, 40), (1, 11, 12, 13, 18, 23, 24, 25)):
        check(frame_of("channels_last", 1, (pixels,), (1,), channels=channels, filters=24), level)


# ----------------------------------------------------------------------------------- planes that are transposed


@pytest.mark.parametrize("level", LEVELS)
def test_planes_of_every_size_come_in_and_go_out(level: str) -> None:
    """Squares of vectors, of which the last ones of a row overlap, and what is left beside them."""
    for channels, columns in itertools.product((*range(5, 20), 31, 33, 64, 128), (*range(1, 20), 27, 28, 63, 66)):
        given = {"channels": channels, "filters": channels + 2, "stride": (1, 1 + columns % 3 // 2)}
        check(frame_of("channels_first", 1, (2, columns), (2, 1), **given), level, shift=columns % 3)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_number_of_filters(level: str, layout: str) -> None:
    """Panels of two vectors, of one, and those that are not whole, where sums are begun and where they go on."""
    for filters, taps in itertools.product(range(5, 36), (1, 3, 700)):
        given = {"channels": 7, "filters": filters, "padding": taps // 2}
        check(frame_of(layout, 1, (13,), (taps,), **given), level, results=["y", "x"])


@pytest.mark.parametrize("level", LEVELS)
def test_every_second_cell_of_rows_of_every_length(level: str) -> None:
    for columns, width in itertools.product((*range(1, 40), 65, 66), (1, 2, 3)):
        given = {"channels": 3, "filters": 3, "groups": 3, "stride": (1, 2), "padding": (0, 1)}
        check(frame_of("channels_first", 1, (3, columns), (2, width), **given), level, shift=columns % 4)


# ------------------------------------------------------------------------------------------------------ Winograd


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
        check(frame_of(layout, 1, (12, 11), window, **given), LEVELS[-1], results=["y", "x"])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_winograd_of_filters_made_of_pieces(level: str, layout: str) -> None:
    for window, dilation, padding, channels in (((4, 4), 1, 2, 32), ((5, 5), 1, 2, 32), ((5, 5), 2, 3, 33),
                                                ((6, 5), 1, 1, 32), ((3, 5), 1, 1, 40), ((9, 3), 1, 4, 70),
                                                ((5, 3), 1, 1, 33), ((7, 7), 1, 3, 32),
                                                ((6, 6), (1, 3), (0, 7), 130)):  # fmt: skip
        given = {"channels": channels, "filters": 33, "dilation": dilation, "padding": padding}
        check(frame_of(layout, 2, (13, 14), window, **given), level, results=["y", "x"])


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


SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...], int, int]] = {
    "3×3, 64 channels": ((13, 14), (3, 3), 1, 64),
    "3×3, 256 channels": ((13, 14), (3, 3), 1, 256),
    "3×3, dilation 2": ((13, 14), (3, 3), 2, 64),
    "3×3×3": ((5, 13, 14), (3, 3, 3), 1, 32),
    "5×5": ((13, 14), (5, 5), 1, 32),
    "5×5, 16 channels": ((13, 14), (5, 5), 1, 16),
}


def errors(name: str, level: str, result: str) -> tuple[float, float]:
    """The error of the way that is taken and of direct sums of the same core, which it takes for 31 filters at a time:
    the largest and the root of the mean square, the one divided by the other."""
    space, window, dilation, channels = SHAPES[name]
    rng = np.random.default_rng(1)
    pads = tuple(dilation * (k // 2) for k in window)
    given = {"dilation": dilation, "padding": pads}
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


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("result", ["y", "x"])
@pytest.mark.parametrize("name", SHAPES)
def test_winograd_is_as_exact_as_direct_sums(name: str, result: str, level: str) -> None:
    largest, typical = errors(name, level, result)
    assert largest <= 2
    assert typical <= 2


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", SHAPES)
def test_winograd_keeps_what_is_not_finite_to_its_windows(name: str, bad: float) -> None:
    space, window, dilation, _ = SHAPES[name]
    pads = tuple(dilation * (k // 2) for k in window)
    given = {"channels": 32, "filters": 32, "dilation": dilation, "padding": pads}
    frame = frame_of("channels_last", 2, space, window, **given)
    x, w = np.ones(frame.x, "f"), np.ones(frame.w, "f")
    cells = tuple(n // 2 for n in space)
    x[(1, *cells, 3)] = bad
    with np.errstate(invalid="ignore"):
        got = convolve(frame, "y", {"x": x, "w": w})
        np.testing.assert_array_equal(got, reference(frame, "y", {"x": x, "w": w}))  # not NaN where it is infinite
    seen = np.zeros(frame.y, bool)
    for taps in np.ndindex(window):
        at = tuple(c + p - dilation * t for c, p, t in zip(cells, pads, taps, strict=True))
        seen[(1, *at)] = True
    np.testing.assert_array_equal(np.isfinite(got), ~seen)


@pytest.mark.parametrize("filters", [32, 33, 39])
def test_winograd_sees_what_is_not_finite_in_every_lane(filters: int) -> None:
    frame = frame_of("channels_last", 1, (12, 12), (3, 3), channels=32, filters=filters)
    for lane in {0, 31, filters - 1}:
        x, w = np.ones(frame.x, "f"), np.ones(frame.w, "f")
        w[2, 1, 5, lane] = np.inf
        np.testing.assert_array_equal(convolve(frame, "y", {"x": x, "w": w}), reference(frame, "y", {"x": x, "w": w}))


def test_winograd_sees_an_overflow_that_direct_sums_do_not_have() -> None:
    """Of the last point of the last tile, which one result needs."""
    frame = frame_of("channels_last", 1, (14, 14), (3, 3), channels=32, filters=32)
    x, w = np.zeros(frame.x, "f"), np.full(frame.w, 0.5, "f")
    x[0, 11, 13, 7], x[0, 13, 13, 7] = 3e38, -3e38
    np.testing.assert_array_equal(convolve(frame, "y", {"x": x, "w": w}), reference(frame, "y", {"x": x, "w": w}))
