"""Every fast path of the core against the reference, at, just below and just above the size where it takes over."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import cenote as cn
from cases import BFLOAT16, COMPLEX, REALS, Array, lay_out, same_bits
from cenote import core
from cenote.geometry.axes import Geometry
from cenote.geometry.window import adaptive_geometry, parse_window
from cenote.reference import pooling as reference
from path_checks import DTYPES, check_all, check_pick, check_picks, check_sums, rough, ties, ways, with_nans

RUNS = [1, 3, 16, 31, 32, 33, 64, 112, 200]


# ------------------------------------------------------------------------------------------- ways of a pass


@pytest.mark.parametrize("k", [8, 9, 10, 15, 16, 17, 31, 32, 33, 63, 64, 65])
def test_log_step_windows(k: int) -> None:
    """Strides on both sides of k = s·(levels + 3), dilation, padding, and runs that end in a shorter chunk."""
    border = max(1, (k - 1) // (k.bit_length() + 2))
    ways_on = [(1, 1, (0, 0)), (border, 1, (k // 2, k // 3)), (border + 1, 2, (3, 0)), (1, 3, (0, 4)), (1, 1, (5, 1))]
    for i, run in enumerate(RUNS):
        for s, d, padding in (ways_on[(i + k) % 5], ways_on[(i + k + 2) % 5]):
            n = (k - 1) * d + 1 + 4 * s
            # Lines of elements follow each other in one pass along axis 1, which is the second one where there are two.
            window, axes = (((1, k), (0, 1)), ((k, 2), (1, 0)))[k < 18 and i % 2]
            stride, dilation, padded = (1, s), (1, d), ((1, 0), padding)
            if axes == (1, 0):
                stride, dilation, padded = (s, 1), (d, 1), (padding, (1, 0))
            geometry = parse_window(window, stride, padded, dilation, False, axes).on((2, n, run))
            check_all(geometry, DTYPES[(i + s + k) % len(DTYPES)])


@pytest.mark.parametrize("k", [5, 6, 7, 8, 9, 21])
def test_van_herk_gil_werman(k: int) -> None:
    """Runs of about 256 bytes and more, strides about k / 2, fewer and more windows than make up a block."""
    rng = np.random.default_rng(k)
    for i, run in enumerate((1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130, 257, 300)):
        for j, (s, count) in enumerate(((1, 3), (1, 4), (1, 2 * k + 3), (2, k + 2), (k // 2, 6), (k // 2 + 1, 5))):
            padding = ((0, 0), (2, k // 2), (k - 1, k - 1))[(i + j) % 3]
            n = max(1, k + (count - 1) * s - sum(padding))
            geometry = parse_window((2, k), (1, s), ((0, 0), padding), 1, False, (0, 1)).on((3, n, run))
            dtype = DTYPES[(i + j + k) % len(DTYPES)]
            x = ties(rng, (3, n, run), dtype)
            if dtype.kind == "f":
                x = with_nans(rng, np.where(rng.random(x.shape) < 0.3, np.array(-0.0, dtype), x), 2 * k)
            check_picks(x, geometry)


@pytest.mark.parametrize("k", [2, 3, 5, 8, 9, 13])
def test_short_lines(k: int) -> None:
    """Lines of about 256 bytes, padding included; fewer lines than go together, as many, and more."""
    for i, (lines, run) in enumerate(itertools.product((1, 2, 3, 63, 64, 65, 130), (1, 2, 3))):
        dtype = DTYPES[(i + k) % len(DTYPES)]
        full = 256 // (run * (4 if dtype.char == "e" else dtype.itemsize))  # halves are widened
        for j, length in enumerate((full - 1, full, full + 1, k + 3)):
            d = 2 if (i + j) % 5 == 0 and length > 2 * k else 1
            padding = ((0, 0), (1, 0), (k // 2, k // 2), (k - 1, 1))[(i + j) % 4]
            n = max(1, length - sum(padding))
            if n + sum(padding) <= (k - 1) * d or n * lines > 3000:
                continue
            window = (((1, k), (0, 1)), ((k, 2), (1, 0)))[i % 2 and lines < 64]
            dilation, padded = ((1, d), ((0, 0), padding)) if i % 2 == 0 or lines > 63 else ((d, 1), (padding, (1, 0)))
            geometry = parse_window(window[0], 1, padded, dilation, False, window[1]).on((lines, n, run))
            check_all(geometry, dtype)


PLANES = 8192  # bytes of planes up to which some are taken together


@pytest.mark.parametrize(("dtype", "lanes"), [("f", 1), ("d", 1), ("B", 1), ("h", 1), ("e", 1), ("f", 3)])
def test_small_planes(dtype: str, lanes: int) -> None:
    """Planes of a few rows, and of as many elements as are just taken together, or not."""
    held = np.dtype(dtype)
    rng = np.random.default_rng(lanes)
    wide = PLANES // ({"e": 4, "B": 2, "h": 4}.get(dtype, held.itemsize) * lanes * 8)
    for i, shape in enumerate(((5, 7), (2, 2), (1, 9), (20, 20), (8, wide - 1), (8, wide), (8, wide + 1), (3, 66))):
        for window, stride, padding in (((3, 3), 1, 1), ((5, 2), (2, 1), (2, 1)), ((2, 2), 2, 0), ((1, 3), (1, 2), 0)):
            if any(n + 2 * p < k for n, k, p in zip(shape, window, np.broadcast_to(padding, 2), strict=True)):
                continue
            planes = (2, 3, 1, 24)[i % 4] if math.prod(shape) < 500 else 3
            geometry = parse_window(window, stride, padding, 1, False, (2, 3)).on((2, planes, *shape, lanes))
            check_all(geometry, held)
            # Other planes between the rows of one.
            x = rough(rng, (2, planes, *shape, lanes), held)
            check_sums(np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, 2)), 2, 1), geometry)


@pytest.mark.parametrize("s", [1, 2, 3, 7, 64, 65])
def test_windows_in_a_row(s: int) -> None:
    for i, run in enumerate((1, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 255, 256, 257)):
        for k, d, padding in ((2, 1, 0), (3, 2, 1), (5, 1, 2), (8, 1, 3)):
            shape = (2, (k - 1) * d + 1 + 5 * s, run)
            geometry = parse_window((2, k), (1, s), ((0, 1), (padding, padding)), (1, d), True, (0, 1)).on(shape)
            check_all(geometry, DTYPES[(i + k) % len(DTYPES)])


@pytest.mark.parametrize("n", [4, 5, 6])
def test_windows_of_mostly_padding(n: int) -> None:
    """Padding is materialized while (k-1)·d is at most 2n + 64."""
    for k in (2 * n + 64, 2 * n + 65, 2 * n + 66):
        for lanes in (1, 5):
            geometry = parse_window((k,), 1, k - 1, 1, False, 0).on((n, lanes))
            check_all(geometry, DTYPES[k % 3])


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int16", "float64"])
def test_halving(dtype: str) -> None:
    for k in (31, 32, 33, 100):
        for n, s, padding in (
            (4 * k, k, (0, 0)),
            (4 * k, k + 5, (0, 0)),
            (k, 1, (0, 0)),
            (3 * k, k, (k // 2, k // 2)),
            (5, k, (k - 3, k - 2)),
        ):
            geometry = parse_window((1, k), (1, s), ((0, 0), padding)).on((3, n))
            check_all(geometry, np.dtype(dtype))
            # The indices' second pass: a second plane is there already.
            geometry = parse_window((k, 2), (s, 1), (padding, (1, 0)), 1, False, (1, 0)).on((3, n))
            check_all(geometry, np.dtype(dtype))
    for n, o in ((92, 3), (95, 3), (97, 3), (98, 3), (129, 4), (50, 7), (33, 1), (700, 11)):
        check_all(adaptive_geometry((2, n), (o,), None), np.dtype(dtype))


def paired(x: Array) -> Array:
    """The tree of a sum over the last axis, by levels: as reference.tree_sum, but fast."""
    size = 1 << (x.shape[-1] - 1).bit_length()
    x = np.concatenate([x, np.zeros((*x.shape[:-1], size - x.shape[-1]), x.dtype)], -1)
    while x.shape[-1] > 1:
        x = x[..., ::2] + x[..., 1::2]
    return x


@pytest.mark.parametrize("k", [8191, 8192, 8193, 20000, 9 * 8192 - 1, 9 * 8192 + 1, 17 * 8192 + 5])
def test_halving_by_blocks(k: int) -> None:
    """Blocks of 8192 elements; what more than eight of them give is halved in turn."""
    rng = np.random.default_rng(k)
    few = rough(rng, (3, 100), np.dtype("f"))
    assert same_bits(paired(few)[:, 0], reference.tree_sum(few, 1))
    geometry = parse_window((k,)).on((2, k))
    x = rough(rng, (2, k), np.dtype("f"))
    x[:, k // 2 :: 100] = x.max()
    gaps = with_nans(rng, x, 100)
    total, left = paired(x), paired(np.where(np.isnan(gaps), np.float32(0), gaps))
    mean = (left / (~np.isnan(gaps)).sum(1, keepdims=True)).astype("f")
    shorts = rough(rng, (2, k), np.dtype("h"))
    for case in ways(x, geometry):
        with case.setting():
            for largest, first in ((True, x.argmax(1)), (False, x.argmin(1))):
                values, where = core.select_with_indices(x, geometry, largest, False)
                assert where is not None
                np.testing.assert_array_equal(where[:, 0], first)
                np.testing.assert_array_equal(values[:, 0], x[[0, 1], first])
                assert same_bits(core.select(x, geometry, largest, False), values)
            assert same_bits(core.sum_pool(x, geometry, False), total)
            assert same_bits(core.sum_pool(gaps, geometry, True), left)
            assert same_bits(core.avg_pool(gaps, geometry, True, None, True), mean)
            np.testing.assert_array_equal(core.sum_pool(shorts, geometry, False), shorts.sum(1, keepdims=True))


@pytest.mark.parametrize("s", [1, 2, 3, 5, 64, 65])
def test_transposes(s: int) -> None:
    """Odd and even lengths, elements that no window sees, padding, and runs on both sides of 256 bytes."""
    for i, run in enumerate((1, 3, 31, 32, 33, 63, 64, 65)):
        for k, padding, more in ((1, 0, 0), (2, 1, 1), (3, 1, 0), (4, (0, 2), 2), (7, (3, 1), 1)):
            n = k + 9 * s + more if s < 9 else k + s + more
            back = parse_window((k,), s, (padding,) if isinstance(padding, tuple) else padding, 1, False, 1).on(
                (2, n, run)
            )
            for dtype in ("f", "d", "D") if i % 2 else ("f", "F"):
                g = rough(np.random.default_rng(k), back.out_shape, np.dtype(dtype))
                expected = reference.sum_pool(g, back.transposed, False)
                divided = reference.avg_pool(g, back.transposed, False, 3.0, True)
                for case in ways(g, back.transposed):
                    with case.setting():
                        assert same_bits(core.sum_pool(g, back.transposed, False), expected), (k, run, dtype)
                        assert same_bits(core.avg_pool(g, back.transposed, False, 3.0, True), divided)


@pytest.mark.parametrize("taps", [15, 16, 17, 24, 25, 100, 1000])
def test_sums_of_tall_windows(taps: int) -> None:
    for run in (2, 1023, 1024, 1025, 2050) if taps < 100 else (3, 1024, 1025):
        for dtype in ("f", "d", "B", "q"):
            if taps * run > 300_000 and dtype != "f":
                continue
            shape = (taps + 5, run) if taps > 100 else (2 * taps + 3, run)
            geometry = parse_window((taps,), taps, (3, 0)[taps == 24], 1, taps == 25, 0).on(shape)
            check_sums(rough(np.random.default_rng(run), shape, np.dtype(dtype)), geometry)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("axes", [(0, 1), (1, 0)])
def test_padding_never_takes_a_tie(dtype: str, axes: tuple[int, int]) -> None:
    for window in ((2, 3), (9, 2), (3, 10), (33, 1), (1, 33)):
        padding = tuple((k // 2, k - 1) for k in window)
        for stride in (1, 2, 40):
            for shape in ((5, 7), (5, 7, 1), (5, 7, 4)):
                geometry = parse_window(window, stride, padding, 1, False, axes).on(shape)
                for largest in (True, False):
                    check_pick(np.full(shape, reference.least(np.dtype(dtype), largest)), geometry, largest, False)


def test_rows_that_overlap_in_memory() -> None:
    """Neighbouring elements of 96 lanes share half of them: 48 is what doubling takes at a time."""
    base = rough(np.random.default_rng(0), (12000,), np.dtype("f"))
    for rows in (24, 48, 80):
        x = np.lib.stride_tricks.as_strided(base, (100, 96), (rows * 4, 4))
        for k in (3, 9, 20):
            geometry = parse_window((k,), 1, 0, 1, False, 0).on(x.shape)
            check_picks(x, geometry)
            check_sums(x, geometry)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bins_of_negative_zeros(dtype: str) -> None:
    """Bins shorter than the longest one: the sign of a zero total is that of the reference."""
    for geometry in (adaptive_geometry((5,), (3,), None), parse_window((3,), 2).on((7,)).transposed):
        check_sums(np.full(geometry.shape, -0.0, dtype), geometry)


# --------------------------------------------------------------------------- small integers, and rows two apart


@pytest.mark.parametrize(("dtype", "value"), [("uint8", 255), ("int8", -128), ("bool", True)])
def test_sums_of_bytes(dtype: str, value: int) -> None:
    """128 elements are summed in int16, 2^23 in int32."""
    for window in ((1, 127), (1, 128), (1, 129), (8, 16), (16, 8), (3, 43), (127, 1), (128, 1), (129, 1), (129, 129)):
        for stride, padding in ((1, 0), (window, 0), (window, tuple(k // 2 for k in window))):
            geometry = parse_window(window, stride, padding).on((130, 130))
            full = np.full((130, 130), value, dtype)
            total = np.asarray(geometry.counts(False) * int(value) + np.zeros(geometry.out_shape, np.int64))
            for case in ways(full, geometry):
                with case.setting():
                    got = core.sum_pool(full, geometry, False)
                    average = core.avg_pool(full, geometry, False, None, False)
                np.testing.assert_array_equal(got.astype(np.int64), total)
                np.testing.assert_array_equal(average, np.full(geometry.out_shape, float(value)))
    for n in (2**23, 2**23 + 1, 8_421_505, 2**24 + 1):  # 255 times the third, −128 times the last is beyond int32
        assert cn.sum_pool(np.full(n, value, dtype), (n,)).item() == n * int(value)
        assert cn.avg_pool(np.full(n, value, dtype), (n,)).item() == float(value)


@pytest.mark.parametrize(("dtype", "value"), [("uint16", 65535), ("int16", -32768), ("uint32", 2**32 - 1)])
def test_sums_of_shorts(dtype: str, value: int) -> None:
    """2^15 elements are summed in int32."""
    for shape in ((2**15 - 1, 1), (2**15, 1), (2**15 + 1, 1), (1, 2**15), (1, 2**15 + 1), (128, 256), (128, 257)):
        x = np.full((2, *shape), value, dtype)
        for geometry in (
            parse_window(shape).on(x.shape),
            parse_window(shape, 1, tuple((int(n > 1), 0) for n in shape)).on(x.shape),
        ):
            for case in ways(x, geometry):
                with case.setting():
                    got = core.sum_pool(x, geometry, False)
                    average = core.avg_pool(x, geometry, False, None, False)
                np.testing.assert_array_equal(
                    got.astype(np.int64), geometry.counts(False) * value + 0 * got.astype(int)
                )
                np.testing.assert_array_equal(average, np.full(geometry.out_shape, float(value)))


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("axes", [(0, 1), (1, 0)])
def test_rows_two_apart(k: int, axes: tuple[int, int]) -> None:
    """Rows of 1 to 70 windows; with axes=(1, 0) the pass along the rows is the second one of the indices."""
    for n in range(1, 71):
        padding = ((1, 0), (1, k - 1)) if n % 3 == 0 else ((0, 0), (0, 0))
        window = parse_window((2, k), (1, 2), padding, 1, False, (0, 1))
        if axes == (1, 0):
            window = parse_window((k, 2), (2, 1), padding[::-1], 1, False, axes)
        check_all(window.on((3, 2 * n + k - 2)), DTYPES[n % len(DTYPES)])


# ----------------------------------------------------------------------------------------- few large windows


LARGE: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], str]] = [
    ((40, 50), (40, 50), (0, 1), "c"),
    ((40, 50), (50, 40), (1, 0), "fortran"),
    ((40, 50), (39, 49), (0, 1), "big endian"),
    ((1, 900), (1, 900), (0, 1), "c"),
    ((900, 1), (1, 900), (1, 0), "c"),
    ((2, 33), (1, 33), (0, 1), "every other"),
    ((2, 30, 20), (30, 10), (1, 2), "unaligned"),
    ((12, 10, 9), (9, 12, 10), (2, 0, 1), "permuted"),
    ((12, 10, 9, 1), (6, 10, 8), (0, 1, 2), "reversed"),
    ((30, 2, 20), (30, 20), (0, 2), "c"),
    ((30, 20, 2), (30, 20), (0, 1), "c"),
]


@pytest.mark.parametrize("dtype", [*REALS, *COMPLEX], ids=str)
def test_few_large_windows(dtype: np.dtype[Any]) -> None:
    """Pooled in two steps when there are fewer windows than threads."""
    rng = np.random.default_rng(3)
    for shape, window, axes, layout in LARGE:
        spaced = parse_window(tuple(-(-k // 2) for k in window), 50, 0, 2, False, axes)
        for geometry in (parse_window(window, None, 0, 1, False, axes).on(shape), spaced.on(shape)):
            check_sums(lay_out(rough(rng, shape, dtype), layout, rng), geometry)
            if dtype.kind != "c":
                check_picks(lay_out(ties(rng, shape, dtype), layout, rng), geometry)


# ---------------------------------------------------------------------- smooth maxima and norms in single precision

SINGLES: list[tuple[str, float]] = [
    *(("smooth", beta) for beta in (1.0, -1.0, 0.24, 0.25, 0.26, -0.25, 7.3, -300.0, 1e6, 1.1e6)),
    *(("lp", p) for p in (1.0, 2.0, 3.0, 4.0)),
]
EPS = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
WILD = [41.0, -41.0, 1e4, np.inf, -np.inf, np.nan, 1.1e15, 1e30, -1e30, 1e-16, -1e-30, 1e-40]


def norm(module: Any, name: str, x: Array, geometry: Geometry, how: float) -> Any:
    return module.lp_pool(x, geometry, how) if name == "lp" else module.smooth_max_pool(x, geometry, how, None)


@pytest.mark.parametrize("dtype", [np.dtype("f"), np.dtype("e"), BFLOAT16], ids=str)
@pytest.mark.parametrize(("name", "how"), SINGLES)
def test_single_precision_is_accurate(name: str, how: float, dtype: np.dtype[Any]) -> None:
    """float32 to a few units in the last place of the larger of the result and 1/β; halves, and what is computed in
    double precision because β is small or huge, to half a unit of the result."""
    rng = np.random.default_rng(8)
    scale = 1 / abs(how) if name == "smooth" else 0.0
    single = dtype == np.float32 and (name == "lp" or 0.25 <= abs(how) <= 1e6)
    for k, s in ((1, 1), (2, 2), (3, 1), (9, 1), (33, 40)):
        for size in (0.01, 1.0, 12.0):
            x = (rng.standard_normal((40, 45)) * size * max(scale, 1e-3)).astype(dtype)
            geometry = parse_window((1, k), (1, s), ((0, 0), (k // 2, 0))).on(x.shape)
            exact = norm(reference, name, x.astype(float), geometry, how)
            unit = EPS[dtype.name] * (3 if single else 0.51)
            least = 2.0**-25 if dtype == np.float16 else 0.0  # half of its smallest number
            within = unit * np.maximum(np.abs(exact), scale if dtype != np.float32 or single else 1e-6 * scale) + least
            for case in ways(x, geometry):
                with case.setting():
                    got = norm(core, name, x, geometry, how)
                assert got.dtype == dtype
                assert (np.abs(got.astype(float) - exact) <= within).all(), (k, size)
                if k == 1 and (name == "lp" or single):
                    assert same_bits(got, np.abs(x) if name == "lp" else x)


@pytest.mark.parametrize("dtype", [np.dtype("f"), np.dtype("e"), BFLOAT16], ids=str)
@pytest.mark.parametrize(("name", "how"), SINGLES)
def test_a_window_does_not_depend_on_other_elements(name: str, how: float, dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(9)
    n, unit, rounding = 120, 1.0 if name == "lp" else abs(how), EPS[dtype.name]
    for k, s in ((1, 1), (2, 2), (3, 1), (10, 1), (12, 12)):
        calm = (rng.standard_normal((2, n)) / unit).astype(dtype)
        wild = calm.copy()
        with np.errstate(over="ignore"):
            wild[:, 3::23] = np.reshape(np.array(WILD) / unit, (2, 6)).astype(dtype)
        geometry = parse_window((k,), s).on(calm.shape)
        piece = parse_window((k,), s).on((1, k))
        for case in ways(calm, geometry):
            with case.setting():
                before, after = norm(core, name, calm, geometry, how), norm(core, name, wild, geometry, how)
                for x, y in ((calm, before), (wild, after)):
                    for row in range(2):
                        alone = [
                            norm(core, name, x[row : row + 1, j : j + k], piece, how) for j in range(0, n - k + 1, s)
                        ]
                        assert same_bits(np.concatenate(alone, 1), y[row : row + 1]), (k, s)
            same = np.array([(wild[0, j : j + k] == calm[0, j : j + k]).all() for j in range(0, n - k + 1, s)])
            assert same_bits(before[0, same], after[0, same])
            exact = norm(reference, name, wild.astype(float), geometry, how).astype(dtype).astype(float)
            np.testing.assert_allclose(after.astype(float), exact, 4 * rounding, 4 * rounding / unit, equal_nan=True)
