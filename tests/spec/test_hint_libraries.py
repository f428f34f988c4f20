"""Advice to pad an array, or to transpose filters, in the words of the library that they are of."""

from __future__ import annotations

from typing import Any

import jax.numpy
import numpy as np
import pytest
import torch

import cenote as cn
from advice import NAMES, advised

free: Any = cn
OTHERS: dict[str, Any] = {"Tensor": cn.Tensor, "jax": jax.numpy.asarray, "torch": torch.tensor}
EXTENDED: dict[str, Any] = {
    "mode": lambda x, k: free.max_pool(x, (2, 2), mode="reflect"),
    "size": lambda x, k: free.avg_pool(x, size=3),
    "padding": lambda x, k: free.avg_pool(x, (2, 2), padding="reflect"),
    "padding_mode": lambda x, k: free.avg_pool(x, (2, 2), padding_mode="circular"),
    "borderType": lambda x, k: free.avg_pool(x, (2, 2), borderType=1),
    "boundary": lambda x, k: free.correlate(x, k, boundary="symm"),
    "filter2D": lambda x, k: free.correlate(x, -1, k),
    "zeros": lambda x, k: free.correlate(x, k, padding=1),
}


@pytest.mark.parametrize("library", OTHERS)
@pytest.mark.parametrize("name", EXTENDED)
def test_arrays_that_numpy_does_not_pad(name: str, library: str) -> None:
    """np.pad takes some arrays of other libraries, and would return one of its own for others."""
    x, k = OTHERS[library](np.arange(20.0).reshape(4, 5)), OTHERS[library](np.ones((3, 2)))
    with pytest.raises((TypeError, ValueError)) as failure:
        EXTENDED[name](x, k)
    call = advised(str(failure.value))
    assert (call is not None) == (library == "jax" or name == "zeros")  # torch pads matrices with zeros only
    if call is not None:
        assert type(eval(call, {**NAMES, "jnp": jax.numpy, "torch": torch, "x": x, "k": k})) is type(x)


def test_filters_of_torch_are_permuted() -> None:
    x, w = torch.ones(2, 3, 8, 9), torch.ones(2, 4, 3, 5)
    with pytest.raises(TypeError, match=r"write conv\(x, w\.permute\(3, 2, 0, 1\), layout='channels_first'\)"):
        free.conv(x, w, data_format="NCHW")
