"""Norms and smooth maxima of small windows that overlap are computed in strips: near the reference, and to the bit what
the passes give, which arrays of the other byte order go through."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from cases import Array, same_bits
from cenote import core
from cenote.geometry.axes import Geometry
from cenote.geometry.window import parse_window
from cenote.reference import pooling as reference
from path_checks import ways

HOWS = [*(("smooth", beta) for beta in (1.0, 0.25, -1.0, -7.3)), *(("lp", p) for p in (1.0, 2.0, 3.0, 4.0))]
EPS = 2.0**-23


def pooled(module: Any, name: str, x: Array, geometry: Geometry, how: float, pad: float | None = None) -> Array:
    out: Array = module.lp_pool(x, geometry, how) if name == "lp" else module.smooth_max_pool(x, geometry, how, pad)
    return out


def check(name: str, how: float, x: Array, geometry: Geometry, pad: float | None = None) -> None:
    exact = pooled(reference, name, x.astype(float), geometry, how, pad)
    within = 3 * EPS * np.maximum(np.abs(exact), 1 / abs(how) if name == "smooth" else 0.0)
    swapped = x.astype(">f4")
    for case in ways(x, geometry):
        with case.setting():
            got = pooled(core, name, x, geometry, how, pad)
            passes = pooled(core, name, swapped, geometry, how, pad)
        assert same_bits(got, passes), (case.level, case.threads, geometry)
        finite = np.isfinite(exact) & np.isfinite(within)
        assert (np.abs(got[finite] - exact[finite]) <= within[finite]).all(), (case.level, geometry)
        assert same_bits(got[~finite], exact[~finite].astype("f"))


def elements(shape: tuple[int, ...], how: float, name: str, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 3 / (abs(how) if name == "smooth" else 1.0)
    return np.where(rng.random(shape) < 0.3, 0.0, x).astype("f")  # windows of zeros, and with one other element


@pytest.mark.parametrize(("name", "how"), HOWS)
def test_windows_around_the_limits_of_column_strips(name: str, how: float) -> None:
    """Taps, rows and lanes at, below and above the limits; every kind of cut."""
    for i, (k, n) in enumerate(itertools.product((1, 2, 3, 4), (7, 8, 9, 16, 30))):
        padding = [(0, 0), (1, 0), (k, 1), (k + 2, k + 3)][i % 4]
        lead, step = [(3, 1), (2, 1), (3, 2), (1, 1), (4, 1)][i % 5]
        shape = (2, 7, n + k - 1 - min(sum(padding), n - 1))
        window = parse_window((lead, k), (step, 1), ((i % 3, 1), padding), 1, bool(i % 2))
        check(name, how, elements(shape, how, name), window.on(shape))
    for i, (lanes, s) in enumerate(itertools.product((15, 16, 17, 40), (1, 2))):
        deep = (2, 6, 9, lanes)
        window = parse_window((3, 1 + i % 3), (1 + i % 2, s), (i % 3, i % 4), 1, False, (1, 2))
        check(name, how, elements(deep, how, name), window.on(deep))


@pytest.mark.parametrize(("name", "how"), [HOWS[0], HOWS[2], HOWS[5], HOWS[6]])
def test_rows_longer_than_a_strip(name: str, how: float) -> None:
    for n, k in itertools.product((2047, 2048, 2049, 4098), (2, 3)):
        shape = (2, 5, n + 2)
        check(name, how, elements(shape, how, name), parse_window((k, 3), 1, (1, 0)).on(shape))
    for lanes, k in itertools.product((1024, 2048, 2064), (2, 3)):
        shape = (5, 5, lanes)
        check(name, how, elements(shape, how, name), parse_window((k, 3), 1, (0, 1), 1, False, (0, 1)).on(shape))


@pytest.mark.parametrize(("name", "how"), HOWS)
def test_two_rows_at_a_time(name: str, how: float) -> None:
    """An even and an odd number of window rows; row lengths around a whole number of vectors; windows cut by the edge
    to one element or none."""
    for i, (rows, n) in enumerate(itertools.product((1, 2, 3, 4, 7), (7, 8, 9, 15, 16, 17, 32))):
        k = 2 + i % 2
        along = [(0, 0), (1, 1), (k - 1, k - 1), (0, k), (k, 0)][i % 5]
        shape = (2, rows + k - 1, n)
        check(name, how, elements(shape, how, name, i), parse_window((k, k), 1, ((i % 3, i % 4), along)).on(shape))
    for i, (rows, lanes) in enumerate(itertools.product((1, 2, 5), (15, 16, 17, 24))):
        deep = (rows + 2, 5, lanes)
        geometry = parse_window((3, 3), 1, (i % 2, i % 4), 1, False, (0, 1)).on(deep)
        check(name, how, elements(deep, how, name, i), geometry)
    for d in (11, 12, 13):  # elements of 12 columns: windows further apart than that may have none in their middle
        geometry = parse_window((2, 2), 1, (0, 13), (1, d)).on((5, 12))
        check(name, how, elements((5, 12), how, name, d), geometry)


@pytest.mark.parametrize(("name", "how"), [HOWS[0], HOWS[2], HOWS[5], HOWS[6]])
def test_other_geometries(name: str, how: float) -> None:
    """Dilated windows up to where the ring ends, one axis, lanes that are not in one piece, other orders of axes."""
    for d in (2, 7, 8):  # rows of a ring: 5, 15, 17
        shape = (20, 40)
        check(name, how, elements(shape, how, name), parse_window((3, 3), 1, (d, 0), (d, 2)).on(shape))
    for d in (31, 32, 33, 10**9):  # along the row, with padding that no memory is made for
        check(name, how, elements((3, 90), how, name), parse_window((2, 3), 1, (0, d), (1, d)).on((3, 90)))
        check(name, how, elements((70, 16), how, name), parse_window((3,), 1, d, d, False, 0).on((70, 16)))
    check(name, how, elements((3, 50), how, name), parse_window((3,), 1, 1).on((3, 50)))
    check(name, how, elements((3, 9, 20), how, name), parse_window((3,), 1, 1, 1, False, 1).on((3, 9, 20)))
    wide = elements((2, 8, 18, 48), how, name)
    for x in (wide[:, :, ::2], wide[..., ::2], wide[..., :24], wide[:, ::-1], wide[:, :, ::-1]):
        for axes in ((1, 2), (2, 1), (2, 3)):
            check(name, how, x, parse_window((3, 2), 1, 1, 1, False, axes).on(x.shape))


@pytest.mark.parametrize("beta", [1.0, -1.0])
@pytest.mark.parametrize("pad", [0.0, 5.0, -np.inf])
def test_padding_that_counts(beta: float, pad: float) -> None:
    for shape, axes in (((2, 8, 30), (1, 2)), ((2, 6, 8, 20), (1, 2))):
        for padding in (0, 1, 4):
            geometry = parse_window((3, 3), 1, padding, 1, False, axes).on(shape)
            check("smooth", beta, elements(shape, beta, "smooth"), geometry, pad)


@pytest.mark.parametrize(("name", "how"), HOWS)
def test_elements_that_are_not_moderate(name: str, how: float) -> None:
    """At, below and above the limits, as few as one in an array: the same windows are computed the long way."""
    most = np.float32(40 / abs(how)) if name == "smooth" else np.float32(1e7)
    around = [most, np.nextafter(most, np.float32(0)), np.nextafter(most, np.float32(np.inf))]
    if name == "lp":
        least = np.float32(1e-7)
        around += [least, np.nextafter(least, np.float32(0)), np.nextafter(least, np.float32(1)), np.float32(1e-42)]
    quiet, payload = np.float32(np.nan), np.array([0x7FC00001], np.uint32).view("f")[0]
    for i, value in enumerate([*around, np.float32(np.inf), np.float32(1e30), quiet, payload]):
        for sign in (1, -1):
            x = elements((2, 9, 35), how, name)
            x[1, i % 9, 3 * i + (sign > 0)] = np.float32(sign) * value
            check(name, how, x, parse_window((3, 3), 1, i % 2).on(x.shape))
