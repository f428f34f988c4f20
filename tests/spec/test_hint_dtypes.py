"""dtype= where there is none: what is advised computes in that dtype, and does not overflow before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal
import torch

import cenote as cn
from advice import NAMES, advised

rng = np.random.default_rng(11)
BYTES, FILTER = rng.integers(100, 256, (5, 6), np.uint8), rng.integers(1, 9, (3, 3), np.uint8)


def followed(name: str, x: Any, *args: Any, **options: Any) -> Any:
    with pytest.raises(TypeError, match=": write ") as failure:
        getattr(cn, name)(x, *args, **options)
    return eval(advised(str(failure.value)) or "", NAMES | {"x": x, "k": args[0]})


@pytest.mark.parametrize("dtype", [float, np.float32, np.int64, "int32", np.uint16, complex], ids=str)
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_filters_do_not_overflow(name: str, dtype: Any) -> None:
    expected = getattr(scipy.signal, name)(BYTES.astype(int), FILTER.astype(int))
    for x in (BYTES, BYTES.tolist()):
        got = followed(name, x, FILTER, dtype=dtype)
        np.testing.assert_array_equal(got, expected)
        assert got.dtype == dtype or x is not BYTES
    got = followed(name, BYTES, FILTER.astype(float), dtype=np.float32)
    np.testing.assert_array_equal(got, expected)
    assert got.dtype == np.float32


@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_the_output_of_scipy(name: str) -> None:
    expected = getattr(scipy.ndimage, name)(BYTES, FILTER, output="float64", mode="mirror")
    for options in ({"output": "float64", "boundary": "mirror"}, {"boundary": "mirror", "output": np.dtype(float)}):
        np.testing.assert_array_equal(followed(name, BYTES, FILTER, mode="same", **options), expected)
    with pytest.raises(TypeError, match=r"output is called out here: write .*, out=out\)$"):
        getattr(cn, name)(BYTES, FILTER, output=expected)


def test_folds_do_not_overflow() -> None:
    sums, maxima = cn.sum_pool(BYTES.astype(float), (2, 2)), cn.max_pool(BYTES, (2, 2))
    np.testing.assert_array_equal(followed("pool", BYTES, (2, 2), 0, np.add, dtype=float), sums)
    np.testing.assert_array_equal(followed("pool", BYTES, (2, 2), 0, np.maximum, dtype=float), maxima)
    products = cn.pool(BYTES.astype(float), (2, 2), 1, np.multiply)
    np.testing.assert_array_equal(followed("pool", BYTES, (2, 2), 1, np.multiply, dtype=float), products)
    assert followed("sum_pool", BYTES, (2, 2), output=np.float32).dtype == np.float32


def test_tensors_of_torch_have_no_astype() -> None:
    free: Any = cn
    with pytest.raises(TypeError, match=r"max_pool has no dtype=, convert the result$"):
        free.max_pool(torch.ones(4), (2,), dtype=float)
