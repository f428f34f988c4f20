"""Small windows, which are joined in registers, against the reference: in shapes that are compiled on their own and in
others, in rows and lanes around the width of a vector, with every kind of cut."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import cenote as cn
from cases import BFLOAT16, LEVELS, REALS, Array, same_bits
from cenote import core
from cenote.geometry.window import parse_window
from cenote.reference import pooling as reference
from path_checks import check_all, check_picks, check_sums, rough, ties, ways, with_nans

# The shortest rows have 32 bytes and a window, with argmax of floats 16 bytes; these are up to two vectors of most
# dtypes, and a few windows.
ROWS = [4, 5, 6, 7, 8, 9, 10, 16, 17, 31, 33, 34, 64, 67]
HALVES = [np.dtype("e"), BFLOAT16]
FLOATS = [np.dtype("f"), np.dtype("d")]


def pairs(k: int, n: int) -> list[tuple[int, int]]:
    """No padding, some, and as much as there is room for: windows that lack some elements, and windows without one."""
    return [(0, 0), (1, 0), (k - 1, 1), (2 * n % 5 + k, k)]


@pytest.mark.parametrize("dtype", REALS, ids=str)
@pytest.mark.parametrize(("k", "s"), [(2, 2), (3, 2), (2, 1), (3, 1), (4, 2), (1, 2)])
def test_rows(dtype: np.dtype[Any], k: int, s: int) -> None:
    for i, n in enumerate(ROWS):
        low, high = pairs(k, n)[i % 4]
        lead, step = [(k, s), (3, 2), (2, 1), (1, 1), (2, 3)][i % 5]
        d = 2 if i % 3 == 2 else 1
        shape = (2, 7, (n - 1) * s + (k - 1) * d + 1 - min(low, n))
        window = parse_window((lead, k), (step, s), ((i % 3 and lead - 1, 1), (low, high)), (1, d), bool(i % 2))
        check_all(window.on(shape), dtype)


@pytest.mark.parametrize("dtype", REALS, ids=str)
@pytest.mark.parametrize("window", [(2, 2), (3, 3), (2, 3), (3,), (2,), (2, 2, 2), (3, 2, 2), (3, 1), (4, 4), (2,) * 4])
def test_lanes(dtype: np.dtype[Any], window: tuple[int, ...]) -> None:
    """64 bytes of lanes are enough."""
    rank, size = len(window), dtype.itemsize
    for i, lanes in enumerate((64 // size - 1, 64 // size, 64 // size + 1, 70)):
        stride = tuple(max(1, k - (i + q) % 3) for q, k in enumerate(window))
        padding = tuple(((i + q) % 2, k - 1 if i == 3 else 0) for q, k in enumerate(window))
        shape = (2, *(k + 3 + q for q, k in enumerate(window)), lanes)
        dilation = 2 if i == 1 and max(window) < 4 else 1
        geometry = parse_window(window, stride, padding, dilation, i == 2, tuple(range(1, rank + 1))).on(shape)
        check_all(geometry, dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_volumes_in_rows(dtype: np.dtype[Any]) -> None:
    for window, stride in (
        ((2, 2, 2), 2),
        ((3, 3, 2), (1, 1, 2)),
        ((2, 3, 3), 2),
        ((4, 4, 2), 2),
        ((3, 3, 3), (2, 2, 1)),
    ):
        for padding in (0, ((1, 0), (0, 1), (1, 1)), 2):
            check_all(parse_window(window, stride, padding).on((2, 6, 7, 40)), dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype("B"), np.dtype("e")], ids=str)
def test_another_order_of_axes_is_another_order_of_elements(dtype: np.dtype[Any]) -> None:
    """Rows and lanes whose axes lie the other way round in memory, and arrays that are not in one piece."""
    rng = np.random.default_rng(1)
    base = ties(rng, (3, 12, 20, 72), dtype), rough(rng, (3, 12, 20, 72), dtype)
    for axes in ((1, 2), (2, 1), (2, 3), (3, 2)):
        geometry = parse_window((2, 3), (1, 2), ((0, 1), (1, 0)), 1, False, axes).on((3, 12, 20, 72))
        for tied, x in (base, tuple(v.swapaxes(1, 2).copy().swapaxes(1, 2) for v in base)):
            check_picks(tied, geometry)
            check_sums(x, geometry)
        wide = rng.integers(0, 5, (3, 12, 40, 72)).astype(dtype)
        check_picks(wide[:, :, ::2], geometry)
        check_sums(wide[:, :, ::2], geometry)


def test_nans_are_made_quiet_wherever_they_lie() -> None:
    """A bfloat16 NaN that is not: in whole vectors, at the end of a row, and in rows that are too short for them."""
    x = np.full((2, 2, 70), 0x7F81, np.uint16).view(BFLOAT16)
    rows = cn.max_pool(x, (2, 2), padding=(0, 1)).view(np.uint16)
    assert (rows == 0x7FC1).all()
    assert (cn.max_pool(x[:, :, :4], (2, 2)).view(np.uint16) == 0x7FC1).all()


@pytest.mark.parametrize("dtype", [*FLOATS, *HALVES], ids=str)
def test_zeros_keep_the_sign_that_the_order_of_elements_gives_them(dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(2)
    for shape, axes in (((2, 9, 70), (1, 2)), ((2, 9, 11, 32), (1, 2))):
        x = rng.choice(np.array([0.0, -0.0]), shape).astype(dtype)
        for padding in (0, 1):
            for window, stride in (((2, 2), 2), ((3, 3), 2), ((3, 3), 1)):
                geometry = parse_window(window, stride, padding, 1, False, axes).on(shape)
                check_picks(x, geometry)
                check_sums(x, geometry)
                check_sums(np.full(shape, -0.0, dtype), geometry)


# ------------------------------------------------------------------------------------------- backward


@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize("window", [(2,), (3,), (2, 2), (1, 2), (2, 2, 2), (3, 2)])
def test_sum_backward_of_tiling_windows(dtype: str, window: tuple[int, ...]) -> None:
    """The transpose of a sum over windows that tile: rows cut at odd and even elements, unseen elements."""
    for i, (n, stride) in enumerate(itertools.product((16, 17, 33, 64), (0, 1))):
        steps = tuple(k + stride * (q % 2) for q, k in enumerate(window))
        for lanes, low in ((1, 0), (1, 1), (16, 0), (33, 1)):
            shape = (2, *(5,) * (len(window) - 1), n * steps[-1] + i % 3, lanes)
            padding = tuple((min(low, k - 1), 0) for k in window)
            back = parse_window(window, steps, padding, 1, False, tuple(range(1, len(window) + 1))).on(shape)
            g = rough(np.random.default_rng(n), back.out_shape, np.dtype(dtype))
            g[..., 0] = -0.0
            expected = reference.sum_pool(g, back.transposed, False)
            divided = {by: reference.avg_pool(g, back.transposed, False, by, True) for by in (4.0, 3.0, 0.3)}
            for case in ways(g, back.transposed):
                with case.setting():
                    assert same_bits(core.sum_pool(g, back.transposed, False), expected), (shape, window)
                    for by, result in divided.items():
                        assert same_bits(core.avg_pool(g, back.transposed, False, by, True), result), by


# ----------------------------------------------------------------------------------- norms and smooth maxima


@pytest.mark.parametrize("power", [2.0, 3.0])
@pytest.mark.parametrize(("window", "stride"), [((2, 2), 2), ((3, 3), 2), ((3, 3), 1), ((2, 3), (1, 2)), ((4, 4), 4)])
def test_norms(power: float, window: tuple[int, int], stride: int | tuple[int, int]) -> None:
    check_norm(lambda x, **how: cn.lp_pool(x, p=power, **how), window, stride)


@pytest.mark.parametrize(("window", "stride"), [((2, 2), 2), ((2, 2), 1), ((3, 3), 3), ((2, 2), 3)])
def test_smooth_maxima(window: tuple[int, int], stride: int) -> None:
    check_norm(lambda x, **how: cn.smooth_max_pool(x, pad_value=None, **how), window, stride)


def check_norm(pool: Any, window: tuple[int, int], stride: int | tuple[int, int]) -> None:
    """Near float64's result, with the bits of each window on its own, which is too short for this path; also next to
    elements beyond the fp32 range check."""
    rng = np.random.default_rng(3)
    for shape, axes in (((2, 9, 70), (1, 2)), ((9, 8, 40), (0, 1))):
        calm = rng.standard_normal(shape).astype("f")
        wild = calm.copy()
        wild[rng.random(shape) < 0.01] = np.array([np.inf, np.nan, 1e20, -1e-20])[rng.integers(0, 4)]
        for x, padding in itertools.product((calm, wild, with_nans(rng, calm, 30)), (0, 1, 5)):
            how = {"window": window, "stride": stride, "padding": padding, "axes": axes}
            geometry = parse_window(window, stride, padding, 1, False, axes).on(shape)
            exact = pool(x.astype(float), **how)
            every = results(pool, x, how, geometry)
            np.testing.assert_allclose(every[0], exact, 4e-7, 4e-7, equal_nan=True)
            assert all(same_bits(y, every[0]) for y in every)
            some = tuple(slice(1, 2) if n not in axes else slice(0, window[axes.index(n)]) for n in range(3))
            if padding == 0:
                alone = pool(x[some], window=window, axes=axes)
                first = every[0][tuple(slice(1, 2) if n not in axes else slice(0, 1) for n in range(3))]
                assert same_bits(alone, first)


def results(pool: Any, x: Array, how: dict[str, Any], geometry: Any) -> list[Array]:
    found = []
    for case in ways(x, geometry):
        if case.level != "baseline" or LEVELS == ["baseline"]:  # another level may give other bits
            with case.setting():
                found.append(pool(x, **how))
    return found
