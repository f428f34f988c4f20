"""Large overlapping windows on planes, in column strips. Max, min, sums and averages have the bits of the reference;
norms and smooth maxima those of separable passes, which windows over three axes use."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from cases import Array, same_bits
from cenote import core
from cenote.geometry.window import parse_window
from cenote.reference import pooling as reference
from path_checks import DTYPES, check_picks, check_sums, rough, ties, ways, with_nans

FLOATS = [np.dtype(t) for t in "fd"]


def signed(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Ties, of both zeros too: the first one in row-major order has its bits in the result."""
    x = ties(rng, shape, dtype)
    return np.where(rng.random(shape) < 0.3, np.array(-0.0, dtype), x) if dtype.kind == "f" else x


# ------------------------------------------------------------------------------------ where strips take over


@pytest.mark.parametrize("k", [(8, 9), (9, 8), (9, 9), (10, 12), (15, 9), (9, 16), (17, 33)])
def test_windows_around_the_smallest_size(k: tuple[int, int]) -> None:
    """Fewer and more rows than make up a block or a step; rows that end within a vector; every kind of cut."""
    rng = np.random.default_rng(k[0])
    for i, (rows, columns) in enumerate(((1, 1), (k[0] - 1, 8), (k[0], 17), (k[0] + 1, 3), (2 * k[0] + 3, 33))):
        padding = [(0, 0), (k[0] // 2, k[1] // 2), (0, 3), (k[0] - 1, 1), (1, k[1] - 1)][(i + k[1]) % 5]
        shape = (2, max(1, rows + k[0] - 1 - 2 * padding[0]), max(1, columns + k[1] - 1 - 2 * padding[1]))
        geometry = parse_window(k, 1, padding, 1, False, (1, 2)).on(shape)
        dtype = DTYPES[(i + sum(k)) % len(DTYPES)]
        check_picks(signed(rng, shape, dtype), geometry)
        check_sums(rough(rng, shape, dtype), geometry)


@pytest.mark.parametrize("lanes", [2, 3, 15, 16, 17])
def test_lanes(lanes: int) -> None:
    """Up to 64 bytes of them; elements that lie apart are brought together."""
    rng = np.random.default_rng(lanes)
    for dtype, padding in itertools.product(FLOATS, (0, (3, 5))):
        wide = np.concatenate([signed(rng, (14, 16, lanes), dtype), rough(rng, (14, 16, lanes), dtype)], axis=2)
        geometry = parse_window((9, 11), 1, padding, 1, False, (0, 1)).on((14, 16, lanes))
        check_picks(np.ascontiguousarray(wide[..., :lanes]), geometry)
        check_sums(np.ascontiguousarray(wide[..., lanes:]), geometry)
        check_picks(wide[..., :lanes], geometry)
        check_sums(wide[::-1, :, lanes:][..., ::-1], geometry)


def test_strides_and_dilations_use_separable_passes() -> None:
    rng = np.random.default_rng(1)
    for stride, dilation in (((2, 1), 1), ((1, 2), 1), (1, (2, 1)), (1, (1, 2))):
        geometry = parse_window((9, 9), stride, (1, 2), dilation).on((2, 20, 22))
        check_picks(signed(rng, (2, 20, 22), np.dtype("f")), geometry)
        check_sums(rough(rng, (2, 20, 22), np.dtype("f")), geometry)


@pytest.mark.parametrize("dtype", ["f", ">f4", "e", "B", "?", "h", "i", "q", "F"])
def test_other_dtypes_and_layouts(dtype: str) -> None:
    """Rows that are converted, swapped, turned round or taken apart on their way in."""
    rng = np.random.default_rng(3)
    wide = rough(rng, (2, 24, 40), np.dtype("f"))
    for x in (wide, wide[:, ::-1], wide[..., ::2], wide.transpose(0, 2, 1), wide[..., ::-1]):
        x = (x * 50).astype(dtype) if x is wide or dtype != "F" else (x + 1j * x[::-1]).astype(dtype)
        for axes in ((1, 2), (2, 1)):
            geometry = parse_window((10, 9), 1, (2, 4), 1, False, axes).on(x.shape)
            check_sums(x, geometry)
            if dtype != "F":
                check_picks(x, geometry)


# ------------------------------------------------------------------------------------------- what strips hold


@pytest.mark.parametrize("k", [16, 31, 32, 33, 47, 63, 64, 65])
def test_trees_of_sums(k: int) -> None:
    """Powers of two and their neighbours, down and along, over several steps of rows."""
    rng = np.random.default_rng(k)
    for (down, along), dtype in itertools.product(((k, 9), (9, k)), FLOATS):
        shape = (down + 36, along + 12)
        check_sums(rough(rng, shape, dtype), parse_window((down, along), 1).on(shape))


@pytest.mark.parametrize("k", [9, 10, 31, 64])
def test_blocks_of_maxima(k: int) -> None:
    rng = np.random.default_rng(k)
    for (down, along), dtype in itertools.product(((k, 9), (9, k)), DTYPES):
        shape = (2 * down + 5, along + 12)
        check_picks(signed(rng, shape, dtype), parse_window((down, along), 1, (down // 3, 2)).on(shape))


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_is_found_wherever_it_is(dtype: np.dtype[Any]) -> None:
    """One of them, in any column of a vector, in the first and last elements that a strip reads, and in a last row."""
    rng = np.random.default_rng(0)
    shape = (21, 29)
    geometry = parse_window((9, 9), 1).on(shape)
    for row, column in [*((4, c) for c in range(29)), (0, 0), (0, 28), (20, 0), (20, 28), (12, 11)]:
        x = signed(rng, shape, dtype)
        x[row, column] = np.nan
        x[row - 1, column - 1] = -np.nan
        check_picks(x, geometry)
        if column % 7 == 0:
            check_sums(x, geometry)
    check_picks(with_nans(rng, signed(rng, shape, dtype), 81), geometry)


def test_planes_of_more_than_one_strip() -> None:
    """Strips with the default limits, too: side by side, one above the other, and whole planes."""
    rng = np.random.default_rng(5)
    for shape, k in (((2, 12, 2200), (9, 10)), ((900, 70), (33, 9)), ((40, 2100), (31, 20))):
        x = rng.standard_normal(shape).astype("f")
        geometry = parse_window(k, 1).on(shape)
        expected = [reference.select(x, geometry, True, False)[0], reference.avg_pool(x, geometry, False, None, True)]
        for case in ways(x, geometry):
            with case.setting():
                assert same_bits(core.select(x, geometry, True, False), expected[0])
                assert same_bits(core.avg_pool(x, geometry, False, None, True), expected[1])


# ------------------------------------------------------------------------------------- norms and smooth maxima

HOWS = [*(("smooth", beta) for beta in (1.0, -2.5)), *(("lp", p) for p in (1.0, 2.0, 3.0, 4.0))]


def pooled(module: Any, name: str, x: Array, geometry: Any, how: float) -> Array:
    out: Array = module.lp_pool(x, geometry, how) if name == "lp" else module.smooth_max_pool(x, geometry, how, None)
    return out


def check_norm(name: str, how: float, x: Array, k: tuple[int, int], padding: Any = 0) -> None:
    """The same bits as the passes have, and those near the reference: rounded to the dtype, a few units."""
    window = parse_window(k, 1, padding).on(x.shape)
    pads = [0, *([padding] * 2 if isinstance(padding, int) else padding)]
    through_passes = parse_window((1, *k), 1, [(p, p) for p in pads]).on((1, *x.shape))
    exact = pooled(reference, name, x.astype(float), window, how)
    within = 2.0**-20 * np.maximum(np.abs(exact), 1 / abs(how))
    if x.dtype.itemsize == 2:
        within = np.maximum(within, 2.0**-10 * np.abs(exact))
    for case in ways(x, window):
        with case.setting():
            got = pooled(core, name, x, window, how)
            passes = pooled(core, name, x[None], through_passes, how)[0]
        assert same_bits(got, passes), (case.level, case.threads, case.limits)
        finite = np.isfinite(exact)
        assert (np.abs(got[finite] - exact[finite]) <= within[finite]).all(), (case.level, case.threads)
        assert same_bits(got[~finite], exact[~finite].astype(x.dtype))


@pytest.mark.parametrize(("name", "how"), HOWS)
def test_norms(name: str, how: float) -> None:
    rng = np.random.default_rng(0)
    for i, k in enumerate([(8, 9), (9, 8), (9, 9), (17, 10), (31, 33)]):
        for dtype, padding in (("f", 0), ("f", (k[0] // 2, k[1] // 2)), ("e", (0, 3))):
            shape = (k[0] + [0, 5, 17, 40][i % 4], k[1] + [20, 7, 0, 11][i % 4])
            check_norm(name, how, rng.standard_normal(shape).astype(dtype), k, padding)


@pytest.mark.parametrize(("name", "how"), HOWS)
def test_norms_with_elements_beyond_the_fp32_range_check(name: str, how: float) -> None:
    """In no row, in one, in the first and the last, in a few, in more rows than are recorded."""
    rng = np.random.default_rng(1)
    for rows, value in (
        ([], 0.0),
        ([20], 1e9),
        ([0, 339], np.inf),
        ([5, 50, 52, 200], np.nan),
        (range(8, 340, 19), 1e30),
    ):
        x = rng.standard_normal((340, 21)).astype("f")
        for i, row in enumerate(rows):
            x[row, i % 21] = value
        check_norm(name, how, x, (9, 10))


@pytest.mark.parametrize("beta", [4.0, -4.0])
def test_smooth_maxima_next_to_the_largest_element(beta: float) -> None:
    """Some windows give a result above all their elements, others exactly the largest: from the first row on, the last,
    or the one where a step begins; in the rows of one element, or in all that follow."""
    rng = np.random.default_rng(2)
    for row in (0, 1, 7, 8, 15, 16, 17, 23, 24, 31, 32, 40, 47):
        for after in (row + 1, 48):
            x = (rng.standard_normal((48, 35)) * 0.1).astype("f")
            tall = rng.random(x.shape) < 0.02
            tall[:row] = tall[after:] = False
            tall[row, 17] = True
            x = np.where(tall, np.float32(np.sign(beta)) * rng.uniform(2, 9, x.shape).astype("f"), x)
            check_norm("smooth", beta, x, (9, 9))
    check_norm("smooth", beta, np.zeros((30, 40), "f"), (9, 9), (8, 8))
    x = np.full((30, 40), -9 * np.sign(beta), "f")  # one element is all that counts: results are equal to it
    x[14, 20] = 9 * np.sign(beta)
    check_norm("smooth", beta, x, (9, 9), (1, 0))
