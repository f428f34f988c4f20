"""Values and coordinates are those of xarray's own coarsen and rolling, wherever both are defined."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import cftime
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import cenote as cn
from chunked import chunked
from labelled import CASES, volume

rng = np.random.default_rng(1)
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "max": ("max_pool", {}),
    "min": ("min_pool", {}),
    "mean": ("avg_pool", {"count_include_pad": False}),
    "sum": ("sum_pool", {}),
    "median": ("median_pool", {}),
}
SIZES = {"t": 2, "y": 6, "x": 7}


def field(dtype: str, nan: bool = True) -> xr.DataArray:
    """Data with coordinates of many kinds along its dimensions."""
    values = rng.integers(0, 99, tuple(SIZES.values())).astype(dtype)
    if nan and values.dtype.kind == "f":
        values[rng.random(values.shape) < 0.2] = np.nan
    lat = rng.standard_normal((6, 7))
    return xr.DataArray(
        values,
        dims=tuple(SIZES),
        name="v",
        attrs={"units": "K"},
        coords={
            "t": ("t", pd.date_range("2000-02-28", periods=2), {"long_name": "time"}),
            "y": [0.0, 0.5, 2.0, 3.0, 7.0, 7.5],
            "x": [3, 4, 9, 10, 11, 20, 30],
            "lat": (("y", "x"), lat, {"units": "degrees_north"}),
            "lon": (("x", "y"), lat.T.astype("f4")),
            "when": ("x", pd.date_range("1999-12-31T23:59:58", periods=7, freq="1s", unit="s")),
            "ns": ("y", pd.date_range("1970-01-01", periods=6, freq="7h", unit="ns")),
            "lasts": ("y", pd.timedelta_range("1h", periods=6, freq="90min")),
            "land": ("x", np.arange(7) % 2 == 0),
            "run": 3,
        },
    )


def backings(x: xr.DataArray) -> list[xr.DataArray]:
    return [x, x.copy(data=chunked(x.values, rng)), x.transpose("x", "t", "y", transpose_coords=False)]


def check(got: xr.DataArray, expected: xr.DataArray) -> None:
    expected = expected.transpose(*got.dims, transpose_coords=False)
    assert set(got.coords) == set(expected.coords)
    assert (got.name, got.attrs, got.dims) == (expected.name, expected.attrs, expected.dims)
    check_values(got, expected)
    for name, coordinate in got.coords.items():
        real = expected.coords[name]
        assert (coordinate.attrs, coordinate.dims) == (real.attrs, real.dims)
        check_values(coordinate, real)


def check_values(got: xr.DataArray, expected: xr.DataArray) -> None:
    if got.dtype.kind in "mMOU":  # to the last unit
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
    else:
        rough = 1e-6 if np.float32 in (got.dtype, expected.dtype) else 1e-12
        np.testing.assert_allclose(got, expected.astype(got.dtype), rtol=rough, atol=rough)


WINDOWS: list[dict[Any, int]] = [{"x": 2}, {"y": 3}, {"x": 3, "y": 2}, {"y": 4, "x": 5, "t": 2}, {"x": 7}]


@pytest.mark.parametrize(
    ("method", "dtype"),
    [case for case in itertools.product(METHODS, ["f8", "f4", "i4", "u1", "?"]) if case != ("median", "?")],
)  # NumPy has no median of bool
def test_values_and_coordinates_are_those_of_coarsen(method: str, dtype: str) -> None:
    name, options = METHODS[method]
    x = field(dtype)
    windows = WINDOWS if dtype == "f8" else WINDOWS[2:4]  # dtypes and windows do not meet in the code
    for window, skipna in itertools.product(windows, (True, False)):
        whole = x.isel({d: slice(0, n // window.get(d, 1) * window.get(d, 1)) for d, n in x.sizes.items()})
        late = x.isel({d: slice(n % window.get(d, 1), None) for d, n in x.sizes.items()})
        pads = {d: -x.sizes[d] % k for d, k in window.items()}
        cases: list[tuple[str, str, xr.DataArray, dict[str, Any]]] = [
            ("exact", "left", whole, {}),
            ("trim", "left", x, {}),
            ("trim", "right", x, {}),
            ("pad", "left", x, {"ceil_mode": True}),
            ("pad", "left", x, {"padding": {d: (0, pad) for d, pad in pads.items()}}),
            ("pad", "right", x, {"padding": {d: (pad, 0) for d, pad in pads.items()}}),
        ]
        for boundary, side, data, how in cases[: 6 if skipna else 3]:  # what is padded is missing there, not left out
            coarse = data.coarsen(window, boundary=boundary, side=side)  # type: ignore[arg-type]
            expected = getattr(coarse, method)() if skipna else coarse.reduce(getattr(np, method))
            if method == "sum" and skipna:  # that of no element is 0 there
                expected = expected.where(coarse.count() > 0)
            given = late if (boundary, side) == ("trim", "right") else data
            for array in backings(given) if window == WINDOWS[2] else [given]:
                check(
                    getattr(cn, name)(array, window, nan="omit" if skipna else "propagate", **options, **how), expected
                )


@pytest.mark.parametrize("word", ["mean", "min", "max", "first", "last"])
@pytest.mark.parametrize("boundary", ["exact", "trim", "pad"])
def test_each_word_for_coordinates_is_that_of_coarsen(word: str, boundary: str) -> None:
    x = field("f4", nan=False)
    if boundary == "exact":
        x = x.isel(x=slice(6))
    names = ["y", "x", "when", "lasts", "land", "ns", *(("lat", "lon") if word in ("mean", "min", "max") else ())]
    ceil_mode = boundary == "pad"
    for window in ({"x": 2, "y": 3}, {"x": 3}, {"y": 6}):
        for given in (word, dict.fromkeys(names, word)):
            if word in ("first", "last") and boundary != "pad":  # fails there on integers, which are as floats here
                x = x.assign_coords(x=x.x.astype(float))
            data = x
            if word in ("min", "max") and boundary == "pad":  # a time next to a missing one is missing there
                data = x.drop_vars(("when", "lasts", "ns"))
            own = given if isinstance(given, str) else {k: v for k, v in given.items() if k in data.coords}
            theirs: Any = own if isinstance(own, str) else dict(own)  # which is changed there
            expected = data.coarsen(window, boundary=boundary, coord_func=theirs).max()  # type: ignore[arg-type]
            check(cn.max_pool(data, window, ceil_mode=ceil_mode, coord_func=own), expected)
            check(cn.max_pool(data, window, ceil_mode=ceil_mode, coord_func=theirs), expected)


def test_missing_coordinates_are_skipped_as_there() -> None:
    x = xr.DataArray(np.arange(6.0), dims="x", coords={"x": [np.nan, 1.0, 2.0, np.nan, np.nan, np.nan]})
    x = x.assign_coords(when=("x", np.array(["NaT", "2000-01-02", "2000-01-04", "NaT", "NaT", "NaT"], "M8[s]")))
    for word in ("mean", "first", "last", "min"):
        coord_func = dict.fromkeys(("x", "when"), word)
        if word == "min":
            x = x.drop_vars("when")  # a missing time is the smallest there
            del coord_func["when"]
        check(cn.max_pool(x, {"x": 2}, coord_func=coord_func), x.coarsen(x=2, coord_func=dict(coord_func)).max())


@pytest.mark.parametrize("calendar", ["noleap", "360_day"])
def test_dates_of_climate_models(calendar: str) -> None:
    times = xr.date_range("2000-02-27", periods=8, freq="D", calendar=calendar, use_cftime=True)
    x = xr.DataArray(np.arange(8), dims="time", coords={"time": times})
    assert isinstance(times[0], cftime.datetime)
    for word in ("mean", "min", "max", "first", "last"):
        for window in (2, 4):
            expected = x.coarsen(time=window, coord_func=word).mean() if word not in ("first", "last") else None
            got = cn.avg_pool(x, {"time": window}, coord_func=word)
            if expected is not None:
                xr.testing.assert_identical(got, expected)
            else:
                assert got.time.values.tolist() == list(times[0 if word == "first" else window - 1 :: window])
    padded = cn.avg_pool(x, {"time": 3}, ceil_mode=True)
    assert padded.time.values.tolist() == [times[1], times[4], times[6] + (times[7] - times[6]) / 2]


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("nan", [True, False])
def test_values_and_coordinates_are_those_of_rolling(k: int, nan: bool) -> None:
    x = field("f8", nan=nan).drop_vars(("lon", "ns", "land"))
    for i, (method, (name, options)) in enumerate(METHODS.items()):
        data = backings(x)[(i + k) % 3]
        function = getattr(cn, name)
        # The windows that are full, each at its last element.
        full = getattr(x.rolling(x=k), method)().isel(x=slice(k - 1, None))
        got = function(data, {"x": k}, stride=1, coord_func={c: "last" for c, v in x.coords.items() if "x" in v.dims})
        check(got, full)
        # Those at the ends, too: as many windows as elements.
        ends = getattr(x.rolling(x=k, min_periods=1), method)()
        got = function(data, {"x": k}, stride=1, padding={"x": (k - 1, 0)}, nan="omit", **options)
        check(got.assign_coords(x.coords), ends)
        centred = getattr(x.rolling(x=k, min_periods=1, center=True), method)()
        got = function(data, {"x": k}, stride=1, padding="same_lower", nan="omit", **options)
        check(got.assign_coords(x.coords), centred)
        if k % 2:
            inside = centred.isel(x=slice(k // 2, x.sizes["x"] - k // 2))
            words = {c: "center" for c, v in x.coords.items() if "x" in v.dims}
            check(function(data, {"x": k}, stride=1, nan="omit", coord_func=words, **options), inside)


def test_windows_over_two_dimensions_are_those_of_rolling() -> None:
    x = field("f8", nan=False)
    windows = x.rolling(y=3, x=2).construct(y="wy", x="wx", stride=2)
    for method, (name, options) in METHODS.items():
        rolled = getattr(windows, method)(("wy", "wx"), skipna=True)
        low = {"y": (2, 0), "x": (1, 0)}
        got = getattr(cn, name)(x, {"y": 3, "x": 2}, stride=2, padding=low, nan="omit", **options)
        np.testing.assert_allclose(got, rolled.transpose(*got.dims), rtol=1e-12)
    reduced = x.rolling(x=3).reduce(np.max).isel(x=slice(2, None))
    np.testing.assert_array_equal(cn.max_pool(x, {"x": 3}, stride=1), reduced)


@pytest.mark.parametrize(("name", "ours", "theirs"), CASES, ids=[case[0] for case in CASES])
def test_what_is_timed_computes_the_same(name: str, ours: Any, theirs: Any) -> None:
    x = volume(12)
    for data in (x, x.chunk(5)):
        check(ours(data), theirs(data) if "coarsen" in name else theirs(x))


# --------------------------------------------------------------------------------------------------- the page

PAGE = (Path(__file__).parents[2] / "docs" / "xarray.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(da\..*?)` \| `(cn\..*?)`.* \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("theirs", "ours"), ROWS)
def test_the_table_of_the_page_is_true(theirs: str, ours: str) -> None:
    da = xr.DataArray(rng.standard_normal((4, 6)), dims=("y", "x"), coords={"x": [0, 1, 3, 4, 8, 9]}, name="v")
    expected, got = (eval(text, {"da": da, "cn": cn, "np": np}) for text in (theirs, ours))
    if "min_periods" in theirs:  # whose labels are fixed elements
        got = got.assign_coords(da.coords)
    check(got, expected)


def test_the_table_has_rows() -> None:
    assert len(ROWS) == 9
