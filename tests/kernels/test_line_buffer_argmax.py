"""Line buffers with argmax, as indices or as offsets; indices in streaming stores; windows over lanes and with a
dilation, NaN left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from test_line_buffer_max import LINE_BUFFERS, NONE, ONE, Pair, around_vectors

from cases import DEFAULT_LIMITS, LEVELS, Array, Case, same_bits
from cenote import core
from cenote.geometry.axes import Geometry
from cenote.geometry.window import parse_window
from cenote.reference import pooling as reference
from path_checks import check_pick, check_picks, check_sums, omissions, rough, ties, ways, with_nans

FLOATS = [np.dtype("f"), np.dtype("d")]
# window, stride, dilation, padding, lanes: dilations of rows up to 8 slide, and offsets in the window without one.
WIDER: list[tuple[Pair, Pair, Pair, tuple[Pair, Pair], int]] = [
    *((*slide, 1) for slide in LINE_BUFFERS),
    ((3, 3), (1, 1), (2, 2), NONE, 1),
    ((3, 2), (1, 1), (3, 1), ((4, 2), (1, 1)), 1),
    ((2, 3), (1, 1), (8, 2), ((2, 9), (5, 4)), 1),
    ((2, 3), (1, 1), (9, 1), ((3, 8), (0, 0)), 1),
    ((3, 3), (1, 1), (1, 1), ONE, 3),
    ((3, 3), (1, 1), (2, 3), ((2, 1), (3, 6)), 2),
    ((2, 3), (1, 1), (1, 1), ((0, 3), (3, 0)), 8),
]
PAST_CACHE = (8 << 20) // 8  # so many indices are


def numbered(geometry: Geometry) -> Array:
    """Each element's flat index over the pooled axes, and one more."""
    index = np.indices(geometry.shape)
    flat = np.zeros(geometry.shape)
    for axis in geometry.axes:
        flat = flat * axis.n + index[axis.position]
    return flat + 1


def check_offsets(x: Array, geometry: Geometry) -> None:
    places = numbered(geometry)
    for omit in omissions(x):
        for largest in (True, False):
            expected, where = reference.select(x, geometry, largest, omit)
            for case in ways(x, geometry):
                with case.setting():
                    values, offsets = core.select_with_offsets(x, geometry, largest, omit)
                    found = core.gather(places, offsets, geometry)
                what = (largest, omit, x.dtype, case.level, case.threads, geometry)
                assert same_bits(values, expected), what
                assert np.array_equal(found, where + 1), what


def hard(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> list[Array]:
    """Ties of zeros of either sign and of infinities, NaN among them, rows of nothing but NaN or infinities."""
    zeros = np.where(rng.random(shape) < 0.5, np.array(-0.0, dtype), ties(rng, shape, dtype))
    nans = with_nans(rng, rough(rng, shape, dtype), 9)
    nans[:, 2:6] = np.nan
    return [with_nans(rng, zeros, 9), nans, np.full(shape, -np.inf, dtype)]


def line_buffer_rows(dtype: np.dtype[Any]) -> Iterator[tuple[int, Geometry]]:
    """A third of all pairs of WIDER and a row, of about a vector of windows or several, each with a number."""
    for i, o in enumerate(around_vectors(dtype.itemsize)):
        for j, (window, stride, dilation, padding, lanes) in enumerate(WIDER):
            if (i + j) % 3:
                continue
            effective = (window[1] - 1) * dilation[1] + 1
            shape = (2, 11, max(1, o + effective - 1 - sum(padding[1])), lanes)
            yield (i + j) // 3, parse_window(window, stride, padding, dilation, False, (1, 2)).on(shape)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_line_buffer_argmax(dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(6)
    for number, geometry in line_buffer_rows(dtype):
        x = hard(rng, geometry.shape, dtype)[number % 3]
        check_picks(x, geometry)
        check_offsets(x, geometry)
        either = np.where(rng.random(x.shape) < 0.5, x, -x)  # NaN of either sign: the first one is the result
        check_pick(either, geometry, bool(number % 2), False)


@pytest.mark.parametrize("dtype", [np.dtype("h"), np.dtype("B"), np.dtype("e")], ids=str)
def test_line_buffers_of_lanes(dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(7)
    for i, (window, stride, dilation, padding, lanes) in enumerate(WIDER[len(LINE_BUFFERS) :]):
        for columns in (5, 16 + i, 40):
            shape = (2, 11, columns, lanes)
            geometry = parse_window(window, stride, padding, dilation, False, (1, 2)).on(shape)
            check_picks(ties(rng, shape, dtype), geometry)
            check_picks(rough(rng, shape, dtype), geometry)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_line_buffer_averages_without_nan(dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(8)
    for _, geometry in line_buffer_rows(dtype):
        x = with_nans(rng, rough(rng, geometry.shape, dtype), 9)
        x[:, 2:6] = np.nan
        x[:, 7:8][rng.random(x[:, 7:8].shape) < 0.3] = np.inf
        x[:, :1][rng.random(x[:, :1].shape) < 0.6] = -0.0
        check_sums(x, geometry)
    for row in (16 * 1024 // dtype.itemsize + more for more in (-1, 0, 1)):  # longer ones go another way
        long = with_nans(rng, rough(rng, (5, row + 2), dtype), 9)
        check_sums(long, parse_window((3, 3), 1).on(long.shape))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    ("window", "stride", "padding"), [((3, 3), 1, 0), ((3, 3), 1, 1), ((2, 2), 2, 0), ((2, 2), 2, 1)]
)
def test_streamed_indices(dtype: np.dtype[Any], window: tuple[int, int], stride: int, padding: int) -> None:
    """From so many on they are written by whole lines of the cache, which rows of 35 windows are none of."""
    rng = np.random.default_rng(9)
    rows, columns = (33 - 1) * stride + window[0] - 2 * padding, (35 - 1) * stride + window[1] - 2 * padding
    for planes in (PAST_CACHE // (33 * 35), PAST_CACHE // (33 * 35) + 1):
        x = with_nans(rng, ties(rng, (planes, rows, columns), dtype), 50)
        geometry = parse_window(window, stride, padding).on(x.shape)
        expected, expected_where = reference.select(x, geometry, True, False)
        for level in LEVELS:
            for threads, limits in ((1, DEFAULT_LIMITS), (2, DEFAULT_LIMITS), (3, (4000, 1000))):
                with Case(x, {}, geometry, level, threads, limits).setting():
                    values, where = core.select_with_indices(x, geometry, True, False)
                assert where is not None
                assert same_bits(values, expected), (level, threads, planes)
                assert same_bits(where, expected_where), (level, threads, planes)
