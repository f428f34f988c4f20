"""The convolution kernels vs. the reference, at, just below and just above the sizes where they are chosen."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from cases import LEVELS
from cenote.core.conv import convolve
from conv_cases import reference
from conv_checks import LAYOUTS, check, frame_of

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
def test_a_depthwise_filter_sees_only_real_elements(layout: str) -> None:
    """Elements behind the end of a row, which vectors read too, do not count: not even if they are infinite."""
    frame = frame_of(layout, 1, (4, 11), (3, 3), channels=3, filters=3, groups=3, padding=((0, 0), (0, 0)))
    x, y = np.ones(frame.x, "f"), np.ones(frame.y, "f")
    x[(0, 1, 3, 10) if frame.channels_first else (0, 3, 10, 1)] = np.inf
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


@pytest.mark.parametrize("level", LEVELS)
def test_one_by_one_by_every_96_rows(level: str) -> None:
    """Panels share out what they fetch: fewer of them than rows of a block, as many, more; and with groups."""
    for pixels, filters in itertools.product((95, 96, 97, 191, 193), (8, 17, 96, 208)):
        check(frame_of("channels_last", 2, (pixels,), (1,), channels=32, filters=filters), level, results=["y", "x"])
    for given in ({"groups": 2}, {"groups": 4}, {"stride": 2}, {"padding": 1}, {"stride": (1, 3), "padding": (2, 0)}):
        check(frame_of("channels_last", 2, (11, 20), (1, 1), channels=64, filters=64, **given), level)


def test_one_by_one_in_tiles_of_more_rows_than_a_box_has() -> None:
    """1536 pixels of 128 channels; with padding, boxes as large as others."""
    for pixels, padding in itertools.product((1535, 1536, 1537, 4000), (0, 1)):
        given = {"channels": 128, "filters": 40, "padding": padding}
        check(frame_of("channels_last", 1, (pixels,), (1,), **given), LEVELS[-1], results=["y", "x"])


# ----------------------------------------------------------------------------------- planes that are transposed


@pytest.mark.parametrize("level", LEVELS)
def test_planes_of_every_size_are_packed_and_unpacked(level: str) -> None:
    """Transposed squares of vectors, of which the last ones of a row overlap, and the remainder."""
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
def test_every_second_element_of_rows_of_every_length(level: str) -> None:
    for columns, width in itertools.product((*range(1, 40), 65, 66), (1, 2, 3)):
        given = {"channels": 3, "filters": 3, "groups": 3, "stride": (1, 2), "padding": (0, 1)}
        check(frame_of("channels_first", 1, (3, columns), (2, width), **given), level, shift=columns % 4)
