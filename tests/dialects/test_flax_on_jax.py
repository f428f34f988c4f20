"""The flax dialect on JAX arrays: JAX arrays out, the bits of the dialect on NumPy arrays, and flax's training runs."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flax.linen as flax_linen
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from flax import nnx as flax_nnx

import cenote as cn
from cases import same_bits
from cenote.dialects import flax
from cenote.dialects.flax import linen, nnx
from flax_oracle import FUNCTIONS, REDUCERS, Question, cotangent
from vocabulary import one_nan

PADDINGS: list[Any] = ["VALID", "SAME", "same_lower", ((1, 2), (0, 1)), ((4, 0), (3, 5)), ((-1, 3), (2, -2))]


def questions() -> Iterator[Question]:
    """Every function with every kind of padding; ties, dtypes, NaN, no elements."""
    rng = np.random.default_rng(0)
    for i, padding in enumerate(PADDINGS):
        for function, flag in (("max_pool", None), ("min_pool", None), ("avg_pool", bool(i % 2))):
            x = rng.standard_normal(((), (2,), (2, 3))[i % 3] + (7, 6, 2))
            yield Question(function, x, (2, 3), (None, (2, 2), (1, 3))[i % 3], padding, flag, seed=i)
    tied = rng.integers(0, 3, (2, 9, 8, 2)).astype(float)
    tied[0, :3, 0, 0] = np.nan, np.inf, -np.inf
    yield Question("max_pool", tied, (3, 2), (2, 1), "SAME", seed=5)
    yield Question("min_pool", tied, (3, 2), (2, 1), ((2, 1), (0, 3)), seed=5)
    for dtype in ("?", "u1", "i4", "i8", "f2", ml_dtypes.bfloat16, "c8"):
        x = (10 * rng.standard_normal((1, 6, 5, 2))).astype(int).astype(dtype)
        yield Question("max_pool", x, (2, 3), None, ((3, 0), (0, 2)))
        yield Question("avg_pool", x, (2, 3), None, "SAME", True)
    yield Question("max_pool", np.zeros((0, 4, 2)), (2,), None, "SAME", seed=1)
    yield Question("min_pool", np.ones((2, 4, 3)), (9,), None, "VALID", seed=1)
    yield Question("max_pool", np.ones((2, 4, 3)), (), None, "VALID", seed=1)


def both(function: Any, question: Question) -> Any:
    """The call, and its gradient if the question asks for it."""

    def run(x: Any) -> Any:
        if question.seed is None:
            return (function(x),)
        y, pull = jax.vjp(function, x)
        return y, pull(jnp.asarray(cotangent(question.seed, y.shape).astype(y.dtype)))[0]

    return run


@pytest.mark.parametrize("question", list(questions()), ids=str)
def test_jax_arrays_have_the_bits_of_numpy(question: Question) -> None:
    """test_dialect_flax.py compares those with flax itself."""

    def function(x: Any) -> Any:
        return getattr(flax, question.function)(x, *question.arguments(np, str))

    with jax.enable_x64(True):
        got = jax.jit(both(function, question))(question.x)
    with np.errstate(all="ignore"):
        y = function(question.x)
        expected = [y]
        if question.seed is not None:
            expected.append(cn.vjp(function, question.x)[1](cotangent(question.seed, y.shape).astype(y.dtype))[0])
    for mine, real in zip(got, expected, strict=True):
        assert isinstance(mine, jax.Array)
        assert same_bits(one_nan(np.asarray(mine)), one_nan(real))


# ------------------------------------------------------------------------------------------------ vs. flax itself

X = np.random.default_rng(0).standard_normal((2, 9, 8, 3)).astype(np.float32)
WINDOWS: list[tuple[Any, ...]] = [
    ((2, 2), (2, 2), "VALID"),
    ((3, 3), (2, 2), "SAME"),
    ((3, 2), None, ((1, 1), (0, 1))),
    ((2, 3), (1, 2), "SAME_LOWER"),
]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("name", ["avg_pool", "max_pool", "min_pool"])
def test_a_drop_in_for_nnx(name: str, window: tuple[Any, ...]) -> None:
    check_drop_in(nnx, flax_nnx, name, window)


@pytest.mark.parametrize("name", ["avg_pool", "max_pool"])  # it has no min_pool
def test_a_drop_in_for_linen(name: str) -> None:
    check_drop_in(linen, flax_linen, name, WINDOWS[1])


def check_drop_in(mine: Any, theirs: Any, name: str, window: tuple[Any, ...]) -> None:
    def run(x: Any) -> Any:
        results = []
        for module in (mine, theirs):
            y, pull = jax.vjp(lambda x, m=module: getattr(m, name)(x, *window), x)
            results.append((y, pull(y)[0]))
        return results

    ours, real = jax.jit(run)(X)
    for a, b in zip(ours, real, strict=True):
        assert (a.dtype, a.shape, a.weak_type) == (b.dtype, b.shape, b.weak_type)
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
    if name != "avg_pool":
        assert same_bits(np.asarray(ours[0]), np.asarray(real[0]))


REDUCTIONS: list[tuple[Any, str]] = [(0.0, "add"), (-np.inf, "maximum"), (np.inf, "minimum"), (1.0, "multiply")]


@pytest.mark.parametrize("dtype", ["f", "i"])
@pytest.mark.parametrize(("init", "name"), REDUCTIONS)
def test_pool_with_functions_of_lax(init: Any, name: str, dtype: str) -> None:
    x = (10 * X[:, :5, :4]).astype(dtype)
    function = getattr(jax.lax, REDUCERS[name])
    if dtype == "i":
        init = {"maximum": -np.inf, "minimum": np.inf}.get(name, int(init) if np.isfinite(init) else init)
    got = jax.jit(lambda x: nnx.pool(x, init, function, (2, 2), (1, 2), "SAME"))(x)
    expected = flax.pool(x, init, getattr(np, name), (2, 2), (1, 2), "SAME")
    assert got.dtype == jax.dtypes.canonicalize_dtype(expected.dtype)
    np.testing.assert_array_equal(got, expected)
    for same in (getattr(jnp, name), getattr(np, name)):
        np.testing.assert_array_equal(nnx.pool(jnp.asarray(x), init, same, (2, 2), (1, 2), "SAME"), got)
    if dtype == "f":
        real = flax_nnx.pool(x, init, function, (2, 2), (1, 2), "SAME")
        np.testing.assert_allclose(got, real, rtol=1e-5, atol=1e-5)
        assert got.dtype == real.dtype


def test_the_modules_have_the_same_functions() -> None:
    for module in (nnx, linen):
        assert set(FUNCTIONS) == set(module.__all__)
        assert all(getattr(module, name) is getattr(flax, name) for name in FUNCTIONS)


def test_parameters_of_a_network_are_arrays() -> None:
    parameter = flax_nnx.Param(jnp.asarray(X))
    assert isinstance(nnx.max_pool(parameter, (2, 2)), jax.Array)


# ---------------------------------------------------------------------------------------------------- training


def example() -> Any:
    path = Path(__file__).parents[2] / "examples" / "flax_network.py"
    spec = importlib.util.spec_from_file_location("flax_network", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_training_run_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """Twenty steps of Adam: the losses are equal, to the bit."""
    network = example()
    data, _ = network.load()
    _, ours = network.train(data, 20)
    _, theirs = network.train(data, 20, flax_nnx.max_pool)
    assert ours == theirs
    assert ours[-1] < 0.75 * ours[0]
    assert capsys.readouterr().out.count("step ") == 2 * 11
