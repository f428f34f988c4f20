"""Arguments of rolling windows: the advised call has the values of pandas, and of xarray's coarsen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import cenote as cn
from advice import NAMES, advised

V = np.random.default_rng(13).standard_normal(17)
GAPS = np.where(V > 0.9, np.nan, V)
POOLS = {"avg_pool": "mean", "max_pool": "max", "min_pool": "min", "sum_pool": "sum", "median_pool": "median"}


def followed(name: str, x: Any, *args: Any, **options: Any) -> Any:
    with pytest.raises(TypeError, match=": write ") as failure:
        getattr(cn, name)(x, *args, **options)
    return eval(advised(str(failure.value)) or "", NAMES | {"x": x})


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("name", POOLS)
def test_rolling_windows(name: str, k: int) -> None:
    for x in (V, GAPS):
        rolled = pd.Series(x).rolling(k, min_periods=1)
        centred = pd.Series(x).rolling(k, min_periods=1, center=True)
        for options, of in (
            ({"min_periods": 1}, rolled),
            ({"min_periods": 1, "center": False}, rolled),
            ({"min_periods": 1, "center": True}, centred),
            ({"center": True, "min_periods": 1}, centred),
        ):
            expected = getattr(of, POOLS[name])().to_numpy()
            got = followed(name, x, (k,), **options)
            np.testing.assert_allclose(got, expected, rtol=1e-9)
            np.testing.assert_array_equal(followed(name, x, k, **options), got)
    for center in (True, False):
        expected = getattr(pd.Series(V).rolling(k, center=center), POOLS[name])().dropna()
        np.testing.assert_allclose(followed(name, V, window=k, center=center), expected, rtol=1e-9)


@pytest.mark.parametrize("size", [15, 17])
def test_the_boundary_of_coarsen(size: int) -> None:
    x = xr.DataArray(V[:size], dims="t")
    expected = x.coarsen(t=3, boundary="trim").mean()
    np.testing.assert_allclose(followed("avg_pool", V[:size], (3,), boundary="exact"), expected, rtol=1e-12)
