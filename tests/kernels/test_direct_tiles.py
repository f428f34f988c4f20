"""Windows that share few elements: max and min reduce columns before rows, which must not change a bit. Windows of many
rows are reduced some rows at a time."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from cases import BFLOAT16, Array
from cenote.geometry.axes import Geometry
from cenote.geometry.window import adaptive_geometry, parse_window
from path_checks import check_pick, check_picks, check_sums, rough, ties

FLOATS = [np.dtype("f"), np.dtype("d")]
OTHERS = [np.dtype("e"), BFLOAT16, np.dtype("B"), np.dtype("i"), np.dtype("q"), np.dtype("?")]


def geometries(lanes: int) -> list[Geometry]:
    """Windows as far apart as they are long, further and less far; cut at either end; two, three and listed axes."""
    cases = [
        ((3, 3), (3, 3), 0, 1, (11, 34)),
        ((4, 4), (4, 4), ((1, 2), (3, 0)), 1, (13, 39)),
        ((5, 2), (3, 5), ((4, 4), (0, 1)), 1, (17, 41)),
        ((2, 7), (2, 7), 1, (3, 1), (9, 70)),
        ((8, 3), (8, 1), 0, 1, (24, 21)),
        ((9, 9), (9, 9), 2, 1, (20, 37)),
        ((1, 5), (2, 5), 0, 1, (8, 36)),
        ((17, 40), (17, 40), 0, 1, (17, 40)),
        ((7, 3), (7, 3), 0, 1, (43, 60)),  # a plane that is not small
    ]
    found = [parse_window(k, s, p, d, False, (1, 2)).on((2, *n, lanes)) for k, s, p, d, n in cases]
    found.append(parse_window((2, 3, 4), (2, 3, 4), 1, 1, False, (0, 1, 2)).on((5, 7, 18, lanes)))
    found.append(parse_window((4, 5), (4, 5), 0, 1, False, (2, 1)).on((2, 31, 13, lanes)))  # in the other order
    found.append(adaptive_geometry((2, 13, 29, lanes), (3, 4), (1, 2)))
    return found


def doubtful(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], kind: str) -> Array:
    """Elements whose order tells: zeros of both signs, or NaN of several payloads; often, or once in the array."""
    x: Array = -np.abs(rng.standard_normal(shape)).astype(dtype) - dtype.type(1)
    bits = x.view(f"u{dtype.itemsize}")
    nan = np.array(np.nan, dtype).view(bits.dtype)
    some = rng.random(shape) < 0.3
    if kind == "zeros":
        x[some] = rng.choice(np.array([0.0, -0.0], dtype), int(some.sum()))
    elif kind == "positive zeros":
        x[some] = 0
    elif kind == "NaN":
        payload = rng.integers(0, 1000, shape).astype(bits.dtype)
        sign = (rng.integers(0, 2, shape) << (8 * dtype.itemsize - 1)).astype(bits.dtype)
        bits[...] = np.where(some, nan | payload | sign, bits)
    else:  # two of them next to each other along the second of two axes down
        at = tuple(int(rng.integers(0, n)) for n in shape)
        for step, value in enumerate((-0.0, 0.0)):
            x[(*at[:1], min(shape[1] - 1, at[1] + 1 - step), max(0, at[2] - 1 + step), *at[3:])] = value
    return x


@pytest.mark.parametrize("lanes", [1, 5, 40])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("kind", ["zeros", "positive zeros", "NaN", "two zeros"])
def test_memory_order_makes_no_difference(kind: str, dtype: np.dtype[Any], lanes: int) -> None:
    rng = np.random.default_rng(lanes)
    for geometry in geometries(lanes):
        for _ in range(4 if kind == "two zeros" else 1):
            x = doubtful(rng, geometry.shape, dtype, kind)
            if kind == "NaN":
                for largest in (True, False):
                    check_pick(x, geometry, largest, False)
                x[np.isnan(x)] = np.nan  # left out, a window of them gives this one
            check_picks(x, geometry)


@pytest.mark.parametrize("lanes", [1, 5, 40])
@pytest.mark.parametrize("dtype", [*FLOATS, *OTHERS], ids=str)
def test_plain_elements(dtype: np.dtype[Any], lanes: int) -> None:
    rng = np.random.default_rng(1)
    for geometry in geometries(lanes):
        shape = geometry.shape
        check_picks(rng.random(shape) < 0.2 if dtype.kind == "b" else ties(rng, shape, dtype), geometry)
        check_picks(rng.random(shape) < 0.8 if dtype.kind == "b" else rough(rng, shape, dtype), geometry)


@pytest.mark.parametrize("k", [7, 8, 9, 10, 15, 16, 17, 22, 23, 24, 33])
@pytest.mark.parametrize("dtype", [np.dtype("f"), np.dtype("d"), np.dtype("h")], ids=str)
def test_windows_of_many_rows(dtype: np.dtype[Any], k: int) -> None:
    """Eight rows are joined at once, then seven with what was found; runs of a thousand elements at a time."""
    rng = np.random.default_rng(k)
    for (run, step), padding in itertools.product(((1, k), (3, 2), (37, k), (1023, k), (1024, 30), (1025, k)), (0, 3)):
        shape = (2 * k + 3, run)
        geometry = parse_window((k,), step, padding, 1, False, (0,)).on(shape)
        x = rough(rng, shape, dtype)
        if dtype.kind == "f":
            x = np.where(rng.random(shape) < 0.02, np.array(np.nan, dtype), x)
        check_picks(x, geometry)
        check_sums(x, geometry)
