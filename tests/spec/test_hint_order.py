"""Arguments in another order, missing, or of another library: the advised call works."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr

import cenote as cn
from advice import NAMES, advised

m2 = NAMES["m"]


def test_the_array_after_the_window() -> None:
    with pytest.raises(TypeError, match="the array comes first: write max_pool") as failure:
        cn.max_pool((2, 2), m2)
    assert eval(advised(str(failure.value)) or "", {**NAMES, "x": m2}).shape == (3, 3)


def test_functions_of_torch_on_arrays_of_numpy() -> None:
    with pytest.raises(
        TypeError, match=r"^pool: reduce_fn=torch\.maximum takes tensors .* ndarray: write pool"
    ) as failure:
        cn.pool(m2, (2, 2), -np.inf, torch.maximum)
    got = eval(advised(str(failure.value)) or "", {**NAMES, "x": m2})
    np.testing.assert_array_equal(got, cn.max_pool(m2, (2, 2)))


def test_the_generic_pool_by_name_without_an_initial_value() -> None:
    x = xr.DataArray(m2, dims=("y", "x"))
    free: Any = cn
    with pytest.raises(
        TypeError, match=r"init is missing, which is 0 for np\.add: write pool\(x, {'y': 2}, 0, np\.add"
    ) as failure:
        free.pool(x, {"y": 2}, np.add)
    assert eval(advised(str(failure.value)) or "", {**NAMES, "x": x}).equals(cn.sum_pool(x, {"y": 2}))
