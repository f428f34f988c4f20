"""The objects that the calls of xarray_errors.txt are about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import cenote as cn

x = xr.DataArray(
    np.arange(48.0).reshape(2, 4, 6), dims=("t", "y", "x"), name="v", coords={"x": np.arange(6), "y": np.arange(4)}
)
index = pd.MultiIndex.from_product([[1, 2], [3, 4, 5]], names=["p", "q"])
NAMES: dict[str, Any] = {
    **{name: getattr(cn, name) for name in cn.__all__},
    "np": np,
    "xr": xr,
    "x": x,
    "n": x.values,
    "ds": xr.Dataset({"v": x, "m": ("y", np.arange(4)), "s": ("x", list("abcdef")), "z": 1}),
    "text": x.astype(str),
    "days": xr.DataArray(pd.date_range("2000", periods=6, unit="ns").values, dims="x"),
    "s": x.assign_coords(s=("x", list("abcdef"))),
    "multi": xr.DataArray(np.arange(6.0), dims="z").assign_coords(xr.Coordinates.from_pandas_multiindex(index, "z")),
    "zones": xr.DataArray(
        np.arange(6.0), dims="x", coords={"x": pd.date_range("2000", periods=6, tz="UTC", unit="ns")}
    ),
    "i": xr.zeros_like(x, int),
    "k": np.ones((2, 2)),
    "dk": xr.DataArray(np.ones((2, 2)), dims=("y", "x")),
    "w": np.ones((2, 6, 1)),
}
