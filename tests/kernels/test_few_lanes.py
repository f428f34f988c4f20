"""Pixels of a few channels (channels last): reduced in groups of up to 64 bytes, 16 at a time; a row of pixels is read
and written at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cenote as cn
from cases import REALS
from cenote.geometry.window import parse_window
from path_checks import check_all, check_picks, check_sums, rough, ties

# Taps, stride, dilation: those that are compiled on their own, a four, and some of them with a rest and without.
WINDOWS = [
    (2, 2, 1),
    (3, 2, 1),
    (3, 3, 1),
    (1, 2, 1),
    (4, 4, 1),
    (5, 3, 2),
    (7, 7, 1),
    (8, 6, 1),
    (13, 13, 1),
    (29, 30, 1),
]


def lanes_around(size: int) -> list[int]:
    """Less than 16 bytes, which are read and written with what lies behind them; 16 and some more; 64 and more."""
    some = {2, 3, 5, 16 // size - 1, 16 // size, 16 // size + 1, 48 // size + 1, 64 // size, 64 // size + 1}
    return sorted(n for n in some if n > 1)


@pytest.mark.parametrize("dtype", REALS, ids=str)
@pytest.mark.parametrize(("k", "s", "d"), WINDOWS, ids=str)
def test_groups(dtype: np.dtype[Any], k: int, s: int, d: int) -> None:
    for i, lanes in enumerate(lanes_around(dtype.itemsize)):
        padding = [(0, 0), (1, 0), (0, k - 1), (k, k // 2)][i % 4]
        windows = (1, 2, 6, 20)[i % 4]  # the last ones of a row are made elsewhere: also where these are all
        n = (windows - 1) * s + (k - 1) * d + 1 + i % 2
        shape = (3, 5, n, lanes)
        window = parse_window((2, k), (2, s), ((i % 2, 0), padding), (1, d), bool(i % 3 == 2), (1, 2))
        check_all(window.on(shape), dtype)


@pytest.mark.parametrize("dtype", [np.dtype(t) for t in "Bfe"], ids=str)
def test_channels_that_are_not_in_one_piece(dtype: np.dtype[Any]) -> None:
    """Three of four channels, every second element, rows that are longer than the array, axes the other way round."""
    rng = np.random.default_rng(4)
    for make in (ties, rough):
        whole = make(rng, (9, 32, 4), dtype)
        for x in (whole[..., :3], whole[:, ::2, 1:], whole[:, 3:20, :], whole[::-1], whole[..., ::-1]):
            for axes in ((0, 1), (1, 0)):
                for stride in (1, 2, 3):
                    geometry = parse_window((3, 3), stride, ((1, 0), (0, 1)), 1, False, axes).on(x.shape)
                    (check_picks if make is ties else check_sums)(x, geometry)


@pytest.mark.parametrize("window", [(2, 2), (3, 3), (8, 8), (5, 5)])
@pytest.mark.parametrize("stride", [None, 1, 2])
def test_a_picture_is_its_channels(window: tuple[int, int], stride: int | None) -> None:
    """All reductions of an array with channels last against those of each channel; norms to the bit too."""
    x = np.random.default_rng(5).standard_normal((40, 50, 3)).astype("f")
    for pool in (cn.max_pool, cn.min_pool, cn.sum_pool, cn.avg_pool, cn.lp_pool, cn.smooth_max_pool):
        for data in (x, (x * 50).astype(np.int8)):
            for padding in (0, 2):
                how: dict[str, Any] = {"stride": stride, "padding": padding}
                found = pool(data, window, axes=(0, 1), **how)
                for c in range(3):
                    np.testing.assert_array_equal(
                        found[..., c], pool(data[..., c].copy(), window, **how), pool.__name__
                    )
