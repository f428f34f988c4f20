"""A new operation is an Op and its public function: every array library has it, and no list was edited.

The one that is added here is the sum of squares of each window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import dask.array as da
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
import xarray as xr

import cenote as cn
from cases import same_bits
from cenote import core
from cenote.api.call import OpOf, call
from cenote.api.types import pooling
from cenote.arguments.arrays import Array
from cenote.arguments.operations import OPERATIONS
from cenote.backends.torch import dynamo
from cenote.dtypes import native, norm_dtype
from cenote.geometry.window import parse_window
from cenote.ops.base import Applied, Bind, Derivatives, Spec, Value, WindowOp
from cenote.ops.elementwise import Multiply
from cenote.ops.sums import SumPool

# ----------------------------------------------------------------------------------------- all that an operation is


class SquarePool(WindowOp):
    """The sum of squares of each window."""

    name = "square_pool"

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        (x,) = operands
        return (core.sum_pool(x * x, self.geometry, False, result=self.after),)

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        (x,) = operands
        times = Applied(bind, Multiply(self.geometry.shape, self.before), x)
        half = Applied(bind, SumPool(self.geometry, self.before, self.after)) @ times
        return bind(self, x), [half + half]


def squares(*given: Any) -> OpOf:
    window = parse_window(*given)

    def op(spec: Spec) -> SquarePool:
        return SquarePool(window.on(spec.shape), native(spec.dtype), norm_dtype(spec.dtype))

    return op


def square_pool(
    x: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    axes: Any = None,
    out: Any = None,
) -> Any:
    """Sum of squares of each window."""
    return call(squares, x, (window, stride, padding, dilation, ceil_mode, axes), out)[0]


# ------------------------------------------------------------------------------------------------------ what it gives

X = np.random.default_rng(0).standard_normal((4, 9, 8))
WINDOW: dict[str, Any] = {"window": (3, 2), "stride": (2, 1), "padding": 1}


@pytest.fixture
def pool() -> Iterator[Any]:
    """The public function, decorated for the time of a test."""
    function = pooling(square_pool)
    yield function
    del OPERATIONS["square_pool"]
    dynamo.functions.remove(function)


def expected(x: Array) -> Any:
    return cn.sum_pool(x * x, **WINDOW)


def gradient(x: Array) -> Any:
    """Of the sum of all results: each element as often as windows see it."""
    return 2 * x * cn.grad(lambda x: cn.sum_pool(x, **WINDOW).sum())(x)


def test_numpy(pool: Any) -> None:
    assert same_bits(pool(X, **WINDOW), expected(X))
    out = np.empty_like(expected(X))
    assert pool(X, **WINDOW, out=out) is out
    assert same_bits(out, expected(X))
    assert pool([[3, 4]], 2, axes=1).tolist() == [[25.0]]
    with pytest.raises(TypeError, match=r"^square_pool: x has dtype complex128: a real dtype is needed"):
        pool(X * 1j, **WINDOW)
    with pytest.raises(TypeError, match=r"^square_pool: strides=1 is called stride here"):
        pool(X, (2,), strides=1)


def test_the_name_of_its_kernel(pool: Any) -> None:
    assert cn.which_kernel("square_pool", X, (3, 2)) == cn.which_kernel("sum_pool", X, (3, 2)) != "none"
    with pytest.raises(ValueError, match=r"op='square': one of max_pool, .*, square_pool is needed"):
        cn.which_kernel("square", X, (3, 2))


def test_tensor(pool: Any) -> None:
    t = cn.Tensor(X)
    pool(t, **WINDOW).sum().backward()
    assert t.grad is not None
    np.testing.assert_allclose(t.grad, gradient(X))
    cn.check_grads(lambda x: pool(x, **WINDOW), (X,), order=3)


@pytest.mark.parametrize("chunks", [(1, 4, 3), (4, (2, 7), 8)])
def test_dask(pool: Any, chunks: Any) -> None:
    lazy = pool(da.from_array(X, chunks=chunks), **WINDOW)
    assert isinstance(lazy, da.Array)
    assert same_bits(lazy.compute(), expected(X))
    _, pull = cn.vjp(lambda x: pool(x, **WINDOW), da.from_array(X, chunks=chunks))
    (g,) = pull(da.ones_like(lazy))
    np.testing.assert_allclose(g.compute(), gradient(X))


def test_xarray(pool: Any) -> None:
    x = xr.DataArray(X, dims=("t", "y", "x"), coords={"y": np.arange(9.0)}, name="heights")
    sizes: dict[str, Any] = {"stride": {"y": 2, "x": 1}, "padding": 1}
    found = pool(x, {"y": 3, "x": 2}, **sizes)
    xr.testing.assert_identical(found, cn.sum_pool(x, {"y": 3, "x": 2}, **sizes).copy(data=expected(X)))
    both = pool(x.to_dataset(), {"y": 3, "x": 2}, **sizes, coord_func="last")
    assert both["heights"].dims == ("t", "y", "x")
    assert both["y"].values.tolist() == [1, 3, 5, 7, 8]


@pytest.mark.filterwarnings("ignore")  # torch calls what it deprecates
def test_torch(pool: Any) -> None:
    t = torch.tensor(X, requires_grad=True)
    y = pool(t, **WINDOW)
    assert same_bits(y.detach().numpy(), expected(X))
    y.sum().backward()
    assert t.grad is not None
    np.testing.assert_allclose(t.grad.numpy(), gradient(X))
    assert torch.autograd.gradcheck(lambda t: pool(t, **WINDOW), (t,), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda t: pool(t, **WINDOW), (t,))
    mapped = torch.func.vmap(lambda t: pool(t, **WINDOW))(t.detach())
    assert same_bits(mapped.numpy(), expected(X))
    compiled = torch.compile(lambda t: pool(t, **WINDOW) + 1, fullgraph=True, backend="aot_eager")
    assert same_bits(compiled(t.detach()).numpy(), expected(X) + 1)


def test_jax(pool: Any) -> None:
    x = jnp.asarray(X, jnp.float32)
    usual = expected(np.asarray(x))
    assert same_bits(np.asarray(jax.jit(lambda x: pool(x, **WINDOW))(x)), usual)
    assert same_bits(np.asarray(jax.vmap(lambda x: pool(x, **WINDOW))(x)), usual)
    found = jax.jit(jax.grad(lambda x: pool(x, **WINDOW).sum()))(x)
    np.testing.assert_allclose(found, gradient(np.asarray(x)), rtol=1e-5)
