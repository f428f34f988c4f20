"""Coordinates along pooled dimensions: each is made of the elements that its window sees, by a slow definition."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import cenote as cn

WORDS = ("mean", "first", "last", "min", "max", "center")
N = {"y": 5, "x": 9}


def seen(n: int, o: int, k: int, s: int, d: int, low: int) -> list[list[int]]:
    """The elements of each window."""
    return [[p for t in range(k) if 0 <= (p := j * s - low + t * d) < n] for j in range(o)]


def definition(values: Any, windows: list[list[list[int]]], word: str) -> list[Any]:
    """The coordinate of each window of a one- or two-dimensional one, None where a window has no element."""
    out: list[Any] = []
    for positions in itertools.product(*windows):
        if not all(positions):
            out.append(None)
            continue
        elements = values[np.ix_(*positions)]
        if word == "center":
            elements = values[np.ix_(*([p[(len(p) - 1) // 2], p[len(p) // 2]] for p in positions))]
        flat = elements.ravel()
        if word in ("mean", "center"):
            out.append(flat[0] if (flat == flat[0]).all() else average(flat))
        else:
            out.append({"first": flat[0], "last": flat[-1], "min": min(flat), "max": max(flat)}[word])
    return out


def average(flat: Any) -> Any:
    if flat.dtype.kind in "mM":
        return flat[0] + np.array(sum((flat - flat[0]).astype(int).tolist()) // len(flat)).astype(
            (flat - flat[0]).dtype
        )
    return float(np.mean(flat.astype(float)))


def check(got: xr.DataArray, expected: list[Any], exact: bool) -> None:
    found = got.values.ravel()
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        if b is None:
            assert pd.isnull(a)
        elif isinstance(b, (np.datetime64, np.timedelta64)):
            assert abs(int((a - b).astype(int))) <= (not exact), (found, expected)
        elif exact or isinstance(b, str):
            assert a == b, (found, expected)
        else:
            assert float(a) == pytest.approx(float(b), rel=1e-6, abs=1e-6)


rng = np.random.default_rng(3)
ALONG_X: dict[str, Any] = {
    "ints": rng.integers(-50, 50, 9),
    "floats": rng.standard_normal(9),
    "singles": rng.standard_normal(9).astype("f4"),
    "flags": rng.random(9) < 0.5,
    "times": np.sort(rng.integers(0, 10**9, 9)).astype("M8[s]"),
    "nanoseconds": np.datetime64("2001-02-03", "ns") + rng.integers(0, 10**14, 9).astype("m8[ns]"),
    "lengths": rng.integers(-(10**6), 10**6, 9).astype("m8[ms]"),
}
LABELS = np.array(list("hbdacgeif"))
PLANE: dict[str, Any] = {
    "lat": rng.standard_normal((5, 9)),
    "count": rng.integers(0, 9, (5, 9)),
    "overpass": rng.integers(0, 10**9, (5, 9)).astype("M8[s]"),
}


def random_window() -> tuple[dict[str, int], dict[str, Any], dict[str, list[list[int]]]]:
    while True:
        window = {"y": int(rng.integers(1, 5)), "x": int(rng.integers(1, 6))}
        stride = {d: int(rng.integers(1, 4)) for d in window}
        dilation = {d: int(rng.integers(1, 3)) for d in window}
        padding = {d: (int(rng.integers(0, 4)), int(rng.integers(0, 4))) for d in window}
        how: dict[str, Any] = {
            "stride": stride,
            "dilation": dilation,
            "padding": padding,
            "ceil_mode": bool(rng.integers(2)),
        }
        try:
            sizes = cn.output_shape(xr.DataArray(np.zeros(tuple(N.values())), dims=tuple(N)), window, **how)
        except ValueError:
            continue
        windows = {
            d: seen(N[d], o, window[d], stride[d], dilation[d], padding[d][0]) for d, o in zip(N, sizes, strict=True)
        }
        return window, how, windows


@pytest.mark.parametrize("word", WORDS)
def test_coordinates_are_made_of_the_elements_of_each_window(word: str) -> None:
    x = xr.DataArray(np.zeros(tuple(N.values())), dims=tuple(N))
    x = x.assign_coords({name: ("x", values) for name, values in ALONG_X.items()})
    x = x.assign_coords({name: (("y", "x"), values) for name, values in PLANE.items()})
    names = dict.fromkeys((*ALONG_X, *PLANE), word)
    if word not in ("mean", "center"):
        x = x.assign_coords(label=("x", LABELS))
        names["label"] = word
    for _ in range(25):
        window, how, windows = random_window()
        got = cn.max_pool(x, window, coord_func=names, **how)
        for name in ALONG_X:
            check(got[name], definition(ALONG_X[name], [windows["x"]], word), word not in ("mean", "center"))
        for name in PLANE:
            both = [windows["y"], windows["x"]]
            check(got[name], definition(PLANE[name], both, word), word not in ("mean", "center"))
        if "label" in names:
            check(got.label, definition(LABELS, [windows["x"]], word), True)


@pytest.mark.parametrize("word", WORDS)
def test_coordinates_of_bins_and_of_whole_dimensions(word: str) -> None:
    values = ALONG_X["floats"]
    x = xr.DataArray(np.zeros(9), dims="x", coords={"x": values})
    for o in range(1, 14):
        bins = [list(range(i * 9 // o, -(-(i + 1) * 9 // o))) for i in range(o)]
        got = cn.adaptive_max_pool(x, {"x": o}, coord_func=word)
        check(got.x, definition(values, [bins], word), word not in ("mean", "center"))
    got = cn.global_avg_pool(x, axes="x", coord_func=word)
    check(got.x, definition(values, [[list(range(9))]], word), word not in ("mean", "center"))
    assert cn.adaptive_avg_pool(x, {"x": None}).x.values.tolist() == values.tolist()


def test_a_word_is_for_the_coordinates_of_dimensions() -> None:
    """As in coarsen: the others are means, unless a dict names them."""
    x = xr.DataArray(np.zeros(4), dims="x", coords={"x": [1, 2, 4, 8], "z": ("x", [1, 2, 4, 8])})
    got = cn.max_pool(x, {"x": 2}, coord_func="last")
    assert (got.x.values.tolist(), got.z.values.tolist()) == ([2, 8], [1.5, 6.0])
    assert got.x.dtype == int
    got = cn.max_pool(x, {"x": 2}, coord_func={"z": "last"})
    assert (got.x.values.tolist(), got.z.values.tolist()) == ([1.5, 6.0], [2, 8])
    got = cn.max_pool(x, {"x": 2}, coord_func=np.max)
    assert got.x.values.tolist() == [2, 8]


def test_coordinates_of_filters_are_those_of_the_elements_that_they_are_centred_on() -> None:
    x = xr.DataArray(np.arange(8.0), dims="x", coords={"x": np.arange(8) ** 2, "label": ("x", list("abcdefgh"))})
    assert cn.correlate(x, [1, 2, 3], axes="x", mode="same").label.values.tolist() == list("abcdefgh")
    assert cn.convolve(x, [1, 2, 3], axes="x", mode="valid").label.values.tolist() == list("bcdefg")
    assert cn.convolve(x, [1, 2], axes="x", mode="same", stride=2).label.values.tolist() == list("aceg")
    assert cn.correlate(x, [1, 2, 3], axes="x", mode="valid", dilation=2, stride=3).x.values.tolist() == [4, 25]
    assert not cn.correlate(x, [1, 2, 3], axes="x").coords
    coord_func = {"x": "first", "label": "last"}
    whole = cn.correlate(x, [1, 2, 3], axes="x", coord_func=coord_func)
    assert whole.label.values.tolist() == list("abcdefghhh")
    channels = x.expand_dims(c=[7], axis=1)
    got = cn.conv(channels, np.ones((3, 1, 2)), padding="same", stride=2)
    assert got.label.values.tolist() == list("bdfh")
    assert "c" not in got.coords
    assert cn.conv(channels, np.ones((2, 1, 1)), padding="same").label.values.tolist() == list("abcdefgh")
    first = cn.conv(channels.transpose("c", "x"), np.ones((2, 1, 3)), layout="channels_first")
    assert (first.dims, first.label.values.tolist()) == (("c", "x"), list("bcdefg"))
    assert "x" not in cn.conv_transpose(channels, np.ones((3, 2, 1)), stride=2).coords


def test_an_empty_dimension() -> None:
    x = xr.DataArray(np.zeros((0, 4)), dims=("y", "x"), coords={"y": np.zeros(0), "x": [1, 2, 3, 4]})
    got = cn.max_pool(x, {"x": 2})
    assert (got.shape, got.x.values.tolist()) == ((0, 2), [1.5, 3.5])
    got = cn.sum_pool(x, {"y": 2}, padding=1)
    assert got.shape == (1, 4)
    assert np.isnan(got.y.item())
    assert cn.max_pool(x, {"y": 2, "x": 2}, padding="same").shape == (0, 2)


def test_missing_times_are_not_the_smallest() -> None:
    times = np.array(["NaT", "2000-01-03", "2000-01-02", "NaT", "NaT", "NaT"], "M8[s]")
    x = xr.DataArray(np.zeros(6), dims="x", coords={"when": ("x", times)})
    for word, day in (("min", "2000-01-02"), ("max", "2000-01-03")):
        got = cn.max_pool(x, {"x": 3}, coord_func={"when": word}).when.values
        assert got[0] == np.datetime64(day)
        assert np.isnat(got[1])
