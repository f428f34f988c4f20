"""The dialects on arrays of other libraries: what they give on NumPy's, as arrays of that library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from cenote.dialects import d2l, flax, mygrad, nabla, torchlean

LIBRARIES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "torch": (torch.from_numpy, torch.Tensor),
    "jax": (jnp.asarray, jnp.ndarray),
    "dask": (lambda x: dask.array.from_array(x, chunks=3), dask.array.Array),
}
SPEC = torchlean.PoolSpec((2, 2), (2, 2), (0, 0))
PADDED = torchlean.PoolSpec((2, 2), (1, 1), (2, 2))  # windows of padding only are 0 there
CALLS: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "flax.max_pool": lambda of, x: flax.max_pool(of(x[None, :, :, None]), (2, 2)),
    "flax.min_pool, cropped": lambda of, x: flax.min_pool(of(x[None, :, :, None]), (2, 2), padding=((-1, 1), (0, 2))),
    "flax.avg_pool": lambda of, x: flax.avg_pool(of(x[None, :, :, None]), (2, 2), None, "SAME", False),
    "flax.pool": lambda of, x: flax.pool(of(x[None, :, :, None]), 0, np.add, (2, 2), (1, 1), "VALID"),
    "d2l.pool2d, max": lambda of, x: d2l.pool2d(of(x), (2, 2)),
    "d2l.pool2d, avg": lambda of, x: d2l.pool2d(of(x), (2, 2), "avg"),
    "nabla.max_pool2d": lambda of, x: nabla.max_pool2d(of(x[None, :, :, None]), kernel_size=2),
    "nabla.avg_pool2d": lambda of, x: nabla.avg_pool2d(of(x[None, :, :, None]), kernel_size=2),
    "torchlean.max_pool": lambda of, x: torchlean.max_pool(SPEC, of(x[None])),
    "torchlean.max_pool, padded": lambda of, x: torchlean.max_pool(PADDED, of(x[None])),
    "torchlean.avg_pool": lambda of, x: torchlean.avg_pool(SPEC, of(x[None])),
    "torchlean.smooth_max_pool": lambda of, x: torchlean.smooth_max_pool(SPEC, 1.0, of(x[None])),
    "torchlean.global_max_pool_flat_spec": lambda of, x: torchlean.global_max_pool_flat_spec(of(x[None])),
}


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_it_is_what_numpy_gives(library: str, name: str, dtype: type[np.generic]) -> None:
    x = np.random.default_rng(3).integers(0, 99, (6, 6)).astype(dtype)
    make, kind = LIBRARIES[library]
    out = CALLS[name](make, x)
    assert isinstance(out, kind)
    expected = CALLS[name](lambda a: a, x)
    if library == "jax":  # whose widest dtype has 32 bits by default
        expected = np.asarray(jnp.asarray(expected))
    found = np.asarray(out)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_derivatives_of_torchs_tensors_are_torchs() -> None:
    x = torch.arange(16.0).reshape(1, 4, 4)
    with pytest.raises(TypeError, match=r"max_pool_jvp: .* is a torch Tensor, and torch has derivatives of its own"):
        torchlean.max_pool_jvp(SPEC, x, x)
    g = torch.func.grad(lambda x: torchlean.max_pool(PADDED, x).sum())(x)
    assert np.array_equal(g.numpy(), torchlean.max_pool_vjp(PADDED, x.numpy(), np.ones((1, 7, 7), np.float32)))


@pytest.mark.parametrize("library", LIBRARIES)
def test_mygrads_tensors_hold_no_array_of_another_library(library: str) -> None:
    x = LIBRARIES[library][0](np.ones((1, 1, 4, 4)))
    with pytest.raises(TypeError, match=f"max_pool: x is a {library}.* which cannot be used here: pass "):
        mygrad.max_pool(x, (2, 2), 2)
    with pytest.raises(TypeError, match=f"conv_nd: filter_bank is a {library}.* which cannot be used here: pass "):
        mygrad.conv_nd(np.ones((1, 1, 4, 4)), x, stride=1)
