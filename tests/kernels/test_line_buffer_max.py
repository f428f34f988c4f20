"""Windows that slide row by row, halves by the order of their bits, integers averaged in wider ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cases import BFLOAT16, INTEGERS, Array, lay_out, same_bits
from cenote import core
from cenote.geometry.axes import Geometry
from cenote.geometry.window import adaptive_geometry, parse_window
from cenote.reference import pooling as reference
from path_checks import check_pick, check_picks, check_sums, rough, ties, ways, with_nans

HALVES = [np.dtype("e"), BFLOAT16]
SMALL = [np.dtype(t) for t in "bBhH"]
VECTORS = (16, 32, 64)  # bytes, on one level or another

Pair = tuple[int, int]
NONE: tuple[Pair, Pair] = ((0, 0), (0, 0))
ONE: tuple[Pair, Pair] = ((1, 1), (1, 1))
# Windows of up to 3 × 3 elements that lie one apart, and what is just beyond that: window, stride, dilation, padding.
LINE_BUFFERS: list[tuple[Pair, Pair, Pair, tuple[Pair, Pair]]] = [
    ((3, 3), (1, 1), (1, 1), NONE),
    ((2, 2), (1, 1), (1, 1), NONE),
    ((1, 3), (1, 1), (1, 1), NONE),
    ((3, 2), (1, 1), (1, 1), ((1, 2), (1, 0))),
    ((2, 3), (1, 1), (1, 1), ((1, 0), (2, 2))),
    ((3, 3), (1, 1), (1, 1), ONE),
    ((3, 3), (1, 1), (1, 1), ((3, 4), (4, 3))),
    ((4, 3), (1, 1), (1, 1), NONE),
    ((3, 4), (1, 1), (1, 1), NONE),
    ((3, 1), (1, 1), (1, 1), NONE),
    ((3, 3), (2, 1), (1, 1), ONE),
    ((3, 3), (1, 2), (1, 1), NONE),
    ((3, 3), (1, 1), (2, 1), NONE),
    ((3, 3), (1, 1), (1, 2), ((0, 0), (2, 1))),
]
# The same with lanes: a row of elements is then one row of all their lanes.
SUMS = [(*row, 1) for row in LINE_BUFFERS] + [
    ((3, 3), (1, 1), (1, 1), ONE, 3),
    ((2, 3), (1, 1), (1, 1), ((0, 3), (3, 0)), 8),
    ((3, 2), (1, 1), (2, 3), ((2, 2), (2, 0)), 2),
]


def around_vectors(size: int) -> list[int]:
    """Rows of windows as long as a vector of elements of ``size`` bytes, one less, one more, and some vectors."""
    return sorted({n // size + more for n in VECTORS for more in (-1, 0, 1)} | {112 // size + 3, 3})


def halves(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], wild: str) -> Array:
    """All numbers of the dtype. Those without a key of their own, -0.0 and NaN of every sign and payload, are there if
    ``wild`` says so; "ties" are of few numbers."""
    bits = rng.integers(0, 1 << 16, shape).astype(np.uint16)
    infinity = 0x7C00 if dtype == np.float16 else 0x7F80
    nan = bits & 0x7FFF > infinity
    if wild == "ties":
        few = [0, 0x8000, infinity, infinity | 0x8000, 0x3C00, 0xBC00, infinity | 0x8000 | 0x240, infinity | 0x241]
        bits = rng.choice(np.array(few, np.uint16), shape, p=[0.3, 0.3, 0.02, 0.1, 0.02, 0.22, 0.02, 0.02])
    elif wild == "all":  # quiet ones: a float32 of a signalling NaN is quiet too
        bits = np.where(nan, bits | 0x240, bits)
    else:
        bits = np.where(nan | (bits == 0x8000), np.uint16(infinity | 0x8000), bits)
    return bits.astype(np.uint16).view(dtype)


# ------------------------------------------------------------------------------------------------- max and min


def check_halves(x: Array, geometry: Geometry) -> None:
    """Values only where NaN is left out: with argmax, a window of NaN only gives one of them as it is."""
    for largest in (True, False):
        check_pick(x, geometry, largest, False)
        expected = reference.select(x, geometry, largest, True)[0]
        for case in ways(x, geometry):
            with case.setting():
                got = core.select(x, geometry, largest, True)
            assert same_bits(got, expected), (largest, x.dtype, case.level, case.threads, geometry)


@pytest.mark.parametrize("dtype", [*INTEGERS, *HALVES, np.dtype("f"), np.dtype("d")], ids=str)
def test_line_buffer_max_and_min(dtype: np.dtype[Any]) -> None:
    """Rows of about a vector of windows, and of several."""
    rng = np.random.default_rng(1)
    for i, o in enumerate(around_vectors(dtype.itemsize)):
        for j, (window, stride, dilation, padding) in enumerate(LINE_BUFFERS):
            if (i + j) % 2 and j > 2:
                continue
            effective = (window[1] - 1) * dilation[1] + 1
            shape = (2, 7, max(1, o + effective - 1 - sum(padding[1])))
            geometry = parse_window(window, stride, padding, dilation).on(shape)
            if dtype.kind in "fV" and i % 2:  # the order of elements in the window is not that in memory
                turned = parse_window(window[::-1], stride[::-1], padding[::-1], dilation[::-1], False, (2, 1))
                geometry = turned.on(shape)
            if dtype in HALVES:
                for wild in ("none", "all", "ties"):
                    check_halves(halves(rng, shape, dtype, wild), geometry)
            elif dtype.kind == "f":
                zeros = np.where(rng.random(shape) < 0.5, np.array(-0.0, dtype), ties(rng, shape, dtype))
                check_picks(with_nans(rng, zeros, 9), geometry)
                check_picks(rough(rng, shape, dtype), geometry)
            else:
                check_picks(ties(rng, shape, dtype), geometry)
                check_picks(rough(rng, shape, dtype), geometry)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_one_element_beyond_the_range_check_is_found_anywhere(dtype: np.dtype[Any]) -> None:
    """A -0.0 or a NaN among numbers that lose against it, in every element of rows of two vectors and some."""
    infinity = 0x7C00 if dtype == np.float16 else 0x7F80
    for largest, others in ((True, -5.0), (False, 5.0), (True, 0.0), (False, 0.0)):
        for wild in (0x8000, infinity | 0x240, infinity | 0x8241):
            for padding in (0, 1):
                shape = (1, 4, 39)
                for at in range(4 * 39):
                    bits = np.full(shape, others, dtype).view(np.uint16)
                    bits.flat[at] = wild
                    x = bits.view(dtype)
                    geometry = parse_window((3, 3), 1, padding).on(shape)
                    expected = reference.select(x, geometry, largest, False)[0]
                    for case in ways(x, geometry):
                        if case.threads == 1:
                            with case.setting():
                                got = core.select(x, geometry, largest, False)
                            assert same_bits(got, expected), (largest, others, hex(wild), at, case.level)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("wild", ["none", "all", "ties"])
def test_halves_in_separable_passes(dtype: np.dtype[Any], wild: str) -> None:
    """Every form of a pass: in a row, log-step, van Herk, halving; strides, lanes, bins, windows of padding only."""
    rng = np.random.default_rng(2)
    for shape, window, stride, padding, dilation, axes in [
        ((3, 9, 40), (5, 4), 1, 2, 1, None), ((2, 40, 33), (9, 9), 1, 4, 1, None),
        ((2, 40, 33), (33, 1), 1, 0, 1, None),
        ((12, 30, 70), (2, 7), 1, 0, 1, (0, 1)), ((2, 30, 140), (8, 1), 1, 3, 1, (1, 0)),
        ((2, 200), (40,), 40, 0, 1, 1),
        ((2, 9, 9, 5), (3, 3), 1, 1, 1, (1, 2)), ((2, 9, 9, 64), (3, 3), 1, 1, 1, (1, 2)),
        ((40, 50), (40, 50), 1, 0, 1, None),
        ((7, 41), (3, 3), 3, 1, 2, None), ((2, 5, 6, 20), (2, 3, 3), 1, 1, 1, None), ((4, 5), (3, 3), 1, 2, 1, None),
        ((3, 40), (1, 4), 1, 3, 12, None), ((6, 20), (1, 1), 1, 0, 1, None), ((6, 20), (2, 2), 2, 1, 2, None),
    ]:  # fmt: skip
        geometry = parse_window(window, stride, padding, dilation, False, axes).on(shape)
        x = halves(rng, shape, dtype, wild)
        check_halves(x, geometry)
        for layout in (
            ("big endian", "every other", "unaligned", "fortran") if dtype == np.float16 else ("every other",)
        ):
            check_halves(lay_out(x, layout, rng), geometry)
    check_halves(halves(rng, (3, 70), dtype, wild), adaptive_geometry((3, 70), (11,), None))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_nans_are_made_quiet(dtype: np.dtype[Any]) -> None:
    """Signaling NaNs, on every path: line buffers, direct, separable."""
    rng = np.random.default_rng(5)
    infinity, quiet = (0x7C00, 0x200) if dtype == np.float16 else (0x7F80, 0x40)
    x = rng.choice(np.array([0, infinity | 1, infinity | 0x8003], np.uint16), (2, 9, 70)).view(dtype)
    for window, stride in (((3, 3), 1), ((2, 2), 2), ((5, 2), 1), ((9, 70), 1), ((9, 9), 1)):
        geometry = parse_window(window, stride).on(x.shape)
        expected = reference.select(x, geometry, True, False)[0].view(np.uint16)
        expected = np.where(expected & 0x7FFF > infinity, expected | quiet, expected).astype(np.uint16)
        for case in ways(x, geometry):
            with case.setting():
                got = core.select(x, geometry, True, False).view(np.uint16)
            assert same_bits(got, expected), (window, case.level, case.threads)


# ------------------------------------------------------------------------------------------ sums and averages


@pytest.mark.parametrize("dtype", [*SMALL, *HALVES], ids=str)
def test_line_buffer_sums(dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(3)
    work = 4 if dtype in HALVES else 2 * dtype.itemsize
    for i, o in enumerate(around_vectors(work)):
        for j, (window, stride, dilation, padding, lanes) in enumerate(SUMS):
            if (i + j) % 2 and j > 2:
                continue
            effective = (window[1] - 1) * dilation[1] + 1
            shape = (2, 7, max(1, o + effective - 1 - sum(padding[1])), lanes)
            geometry = parse_window(window, stride, padding, dilation, False, (1, 2)).on(shape)
            check_sums(rough(rng, shape, dtype), geometry)
            if dtype in HALVES:
                check_sums(halves(rng, shape, dtype, "ties"), geometry)
                check_sums(np.full(shape, -0.0, dtype), geometry)
            else:
                limits = np.iinfo(dtype)
                check_sums(np.full(shape, limits.min, dtype), geometry)
                check_sums(np.full(shape, limits.max, dtype), geometry)
    line = parse_window((3,), 1, 1).on((3, 50))  # one axis only
    check_sums(rough(rng, (3, 50), dtype), line)


@pytest.mark.parametrize("dtype", [np.dtype("q"), np.dtype("Q")], ids=str)
def test_averages_of_words(dtype: np.dtype[Any]) -> None:
    """A 64-bit integer is rounded to a double once: halfway between two doubles, next to it, and at the limits."""
    rng = np.random.default_rng(4)
    limits = np.iinfo(dtype)
    near = [0, 1, 2**31, 2**32, 2**52, 2**53, 2**54, 2**62, 2**63, 2**64, 3 << 61]
    some = {
        sign * (n + more)
        for n in near
        for more in (-2049, -1025, -1024, -3, -1, 0, 1, 3, 1024, 1025)
        for sign in (1, -1)
    }
    some |= {
        (odd << shift) + (1 << shift - 1) + more
        for odd in (2**52 + 1, 2**52 + 2)
        for shift in range(1, 11)
        for more in (-1, 0, 1)
    }
    numbers = np.array(sorted(n for n in some if limits.min <= n <= limits.max), dtype)
    for o in (1, 3, 4, 5, 7, 8, 9, 17, 60):
        for window, stride, lanes in (((2, 2), 2, 1), ((3, 3), 2, 1), ((1, 1), 1, 1), ((3, 3), 1, 1), ((2, 2), 2, 9)):
            shape = (2, 6, (o - 1) * stride + window[1], lanes)
            for padding in (0, 1) if window[0] > 1 else (0,):
                geometry = parse_window(window, stride, padding, 1, False, (1, 2)).on(shape)
                for x in (rng.choice(numbers, shape), rough(rng, shape, dtype)):
                    check_sums(x, geometry)
                    check_sums(lay_out(x, "big endian", rng), geometry)
    every = numbers.reshape(1, -1)
    alone = parse_window((1, 1)).on(every.shape)
    assert same_bits(core.avg_pool(every, alone, False, None, True), every.astype(float))
