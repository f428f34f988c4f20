"""What people pass with JAX arrays by mistake: a TypeError that names the argument, and advice that works."""

from __future__ import annotations

from typing import Any

import dask.array as da
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax.experimental import sparse

import cenote as cn
from cenote.backends import jax as backend

DATA, FILTER = np.arange(4.0, dtype=np.float32)[:, None], np.ones((2, 1, 1), np.float32)
JAX_DATA, JAX_FILTER = jnp.asarray(DATA), jnp.asarray(FILTER)
EXPECTED = cn.conv(DATA, FILTER)

# The arrays of conv(x, w), what the message says, and which argument to replace by what it says to pass.
MIXTURES: dict[str, tuple[Any, Any, str]] = {
    "NumPy data": (DATA, JAX_FILTER, "x is a NumPy array, and another argument is a JAX array: pass jnp.asarray(x)"),
    "NumPy filter": (JAX_DATA, FILTER, "w is a NumPy array, and another argument is a JAX array: pass jnp.asarray(w)"),
    "a list": (JAX_DATA, FILTER.tolist(), "w is a list, and another argument is a JAX array: pass jnp.asarray(w)"),
    "torch": (
        JAX_DATA,
        torch.ones((2, 1, 1), requires_grad=True),
        "w is a torch Tensor, and another argument is a JAX array: pass jnp.asarray(w.detach().cpu().numpy())",
    ),
    "dask": (da.asarray(DATA), JAX_FILTER, "w is a jax Array, which cannot be used here: pass np.asarray(w)"),
}


@pytest.mark.parametrize("kind", MIXTURES)
def test_a_mixture_of_libraries(kind: str) -> None:
    x, w, said = MIXTURES[kind]
    with pytest.raises(TypeError) as caught:
        cn.conv(x, w)
    assert str(caught.value) == f"conv: {said}"
    arrays: dict[str, Any] = {"x": x, "w": w}
    name, advice = said.partition(" is ")[0], said.partition(": pass ")[2]
    arrays[name] = eval(advice, {"np": np, "jnp": jnp, **arrays})
    np.testing.assert_array_equal(np.asarray(cn.conv(arrays["x"], arrays["w"])), EXPECTED)


def test_a_mixture_inside_of_jit() -> None:
    with pytest.raises(TypeError, match=r"^conv: bias is a NumPy array, .*: pass jnp.asarray\(bias\)"):
        jax.jit(lambda x, w: cn.conv(x, w, bias=np.ones(1)))(DATA, FILTER)


def test_a_tensor_and_a_jax_array() -> None:
    said = "^conv: JAX arrays and NumPy arrays, in a Tensor or not, take part in one call: make all of them NumPy"
    with pytest.raises(TypeError, match=said):
        cn.conv(cn.Tensor(DATA), JAX_FILTER)
    with pytest.raises(TypeError, match=r"^conv: w is a NumPy array, and another argument is a JAX array"):
        cn.grad(lambda x: cn.conv(x, FILTER).sum())(JAX_DATA)
    np.testing.assert_array_equal(cn.conv(cn.Tensor(DATA), np.asarray(JAX_FILTER)).data, EXPECTED)
    assert isinstance(cn.grad(lambda x: cn.conv(x, JAX_FILTER).sum())(JAX_DATA), jax.Array)


ONES = jnp.ones((4, 4))
REFUSED: dict[str, tuple[Any, str]] = {
    "float8": (
        ONES.astype(jnp.float8_e4m3fn),
        "x has dtype float8_e4m3fn, which is not supported: pass x.astype(jnp.float32)",
    ),
    "int4": (ONES.astype(jnp.int4), "x has dtype int4, which is not supported: pass x.astype(jnp.float32)"),
    "sparse": (sparse.BCOO.fromdense(ONES), "x is a BCOO, which is sparse: pass x.todense()"),
    "list": ([ONES[0]] * 4, "x is a list of jax Array objects: pass jnp.stack(x)"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_arrays_that_are_refused(kind: str) -> None:
    x, said = REFUSED[kind]
    with pytest.raises(TypeError) as caught:
        cn.max_pool(x, (2, 2))
    assert str(caught.value) == f"max_pool: {said}"
    y = cn.max_pool(eval(said.partition(": pass ")[2], {"jnp": jnp, "x": x}), (2, 2))
    assert isinstance(y, jax.Array)
    assert y.tolist() == [[1.0, 1.0]] * 2


def test_what_is_no_array_of_numbers() -> None:
    with pytest.raises(TypeError, match=r"^max_pool: x has dtype key<fry>, which is no dtype of numbers$"):
        cn.max_pool(jax.random.split(jax.random.key(0), 4), (2,))
    with pytest.raises(
        TypeError, match=r"^max_pool: x is a ShapeDtypeStruct, which has no data: jax.eval_shape\(f, x\)"
    ):
        cn.max_pool(jax.ShapeDtypeStruct((4,), np.float32), (2,))
    assert jax.eval_shape(lambda x: cn.max_pool(x, (2,)), jax.ShapeDtypeStruct((4,), np.float32)).shape == (2,)
    ref = jax.new_ref(ONES)
    for f in (lambda x: cn.max_pool(x, (2, 2)), jax.jit(lambda x: cn.max_pool(x, (2, 2)))):
        with pytest.raises(TypeError, match=r"^max_pool: x is a Ref, which is mutable: pass x\[\.\.\.\]"):
            f(ref)
    assert jax.jit(lambda x: cn.max_pool(x[...], (2, 2)))(ref).shape == (2, 2)
    with pytest.raises(TypeError, match=r"^max_pool: x has shape \(a,\): export with numbers instead of symbols"):
        jax.export.export(jax.jit(lambda x: cn.max_pool(x, (2,))))(
            jax.ShapeDtypeStruct(jax.export.symbolic_shape("a"), np.float32)
        )


# ------------------------------------------------------------------------------------------------ other devices


def test_an_array_on_another_device(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(backend, "platforms_of", lambda x: {"cuda"})
        with pytest.raises(TypeError) as caught:
            cn.max_pool(ONES, (2, 2))
    said = str(caught.value)
    assert said.startswith("max_pool: x is on cuda: cenote computes on the CPU, pass jax.device_put(x, ")
    moved = eval(said.partition(", pass ")[2], {"jax": jax, "x": ONES})
    assert cn.max_pool(moved, (2, 2)).shape == (2, 2)


def test_a_program_for_another_device() -> None:
    def f(x: Any) -> Any:
        return cn.max_pool(x, (2, 2))

    said = r"^cenote computes on the CPU, and this program is compiled for cuda: move its arrays to the CPU with jax\."
    with pytest.raises(TypeError, match=said):
        jax.export.export(jax.jit(f), platforms=["cuda"])(ONES)


# ------------------------------------------------------------------------------------------------------ numbers


def test_numbers_that_jax_holds() -> None:
    calls: tuple[tuple[Any, str], ...] = (
        (lambda v: cn.smooth_max_pool(ONES, (2, 2), beta=v), "beta"),
        (lambda v: cn.lp_pool(ONES, (2, 2), p=v), "p"),
        (lambda v: cn.avg_pool(ONES, (2, 2), divisor=v), "divisor"),
    )
    for call, name in calls:
        with pytest.raises(TypeError, match=rf"; pass float\({name}\)$"):
            call(jnp.float32(2.0))
        assert call(float(jnp.float32(2.0))).shape == (2, 2)
    with pytest.raises(TypeError, match=r"static_argnames='p'"):
        jax.jit(lambda p: cn.lp_pool(ONES, (2, 2), p=p))(2.0)
    assert (
        jax.jit(lambda x, p: cn.lp_pool(x, (2, 2), p=p), static_argnames="p")(ONES, p=2.0).tolist() == [[2.0] * 2] * 2
    )


def test_the_derivative_by_beta() -> None:
    x = jnp.asarray(np.random.default_rng(0).standard_normal((4, 4)), jnp.float32)
    said = r"; it has no value while JAX traces: pool beta \* x with beta=1.0, and divide the result by beta"
    with pytest.raises(TypeError, match=said):
        jax.grad(lambda beta: cn.smooth_max_pool(x, (2, 2), beta=beta).sum())(2.0)

    def advised(beta: Any) -> Any:
        return (cn.smooth_max_pool(beta * x, (2, 2), beta=1.0) / beta).sum()

    def direct(beta: float) -> float:
        return float(cn.smooth_max_pool(np.asarray(x, np.float64), (2, 2), beta=beta).sum())

    assert advised(2.0) == pytest.approx(direct(2.0))
    assert jax.grad(advised)(2.0) == pytest.approx((direct(2.001) - direct(1.999)) / 0.002, rel=1e-4)


def test_functions_without_a_derivative_in_jax() -> None:
    with pytest.raises(TypeError, match=r"^np.nextafter has no derivative in JAX: give cn.reducer\(fn, partials\)"):
        jax.grad(lambda x: cn.pool(x, (2, 2), 1.0, np.nextafter).sum())(ONES)
    with pytest.raises(TypeError, match=r"^pool: init is a jax Array, .*: pass np.asarray\(init\)$"):
        cn.pool(ONES, (2, 2), jnp.float32(0), np.add)
    assert cn.pool(ONES, (2, 2), np.asarray(jnp.float32(0)), np.add).tolist() == [[4.0] * 2] * 2


# -------------------------------------------------------------------------------------- our own transformations


X = np.random.default_rng(1).standard_normal((4, 6)).astype(np.float32)
LOSSES: dict[str, Any] = {
    "max": lambda x: (cn.max_pool(x, (2, 2)) ** 2).sum(),
    "smooth": lambda x: (cn.smooth_max_pool(x, (2, 2))[1:] ** 3).sum(),
    "avg": lambda x: (cn.avg_pool(x, (2, 3)) @ cn.avg_pool(x, (2, 3)).T).sum(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_transformations_of_cenote_on_jax_arrays(name: str) -> None:
    f = LOSSES[name]
    second = cn.grad(lambda x: (cn.grad(f)(x) ** 2).sum())
    every: list[Any] = [cn.grad(f), second, lambda x: cn.jvp(f, (x,), (x,))[1]]
    for transformed in every:
        expected = transformed(X)
        for way in (transformed, jax.jit(transformed)):
            got = way(jnp.asarray(X))
            assert isinstance(got, jax.Array)
            np.testing.assert_allclose(got, expected, rtol=2e-4, atol=1e-5)


def test_vjp_and_linearize_on_jax_arrays() -> None:
    def f(x: Any, n: Any) -> Any:
        return cn.max_pool(x, (2, 2), return_indices=True)[0], cn.sum_pool(n, (2, 2)), x.sum()

    n, g = np.arange(24, dtype=np.int32).reshape(4, 6), (X[::2, ::2], np.zeros((2, 3), np.int64), 2.0)
    y, pull = cn.vjp(f, jnp.asarray(X), jnp.asarray(n))
    for mine, real in zip((*y, *pull(g)), (*cn.vjp(f, X, n)[0], *cn.vjp(f, X, n)[1](g)), strict=True):
        assert isinstance(mine, jax.Array)
        np.testing.assert_allclose(mine, real, rtol=1e-6)
    y, push = cn.linearize(f, jnp.asarray(X), jnp.asarray(n))
    for mine, real in zip(push(X, 0 * n), cn.jvp(f, (X, n), (X, 0 * n))[1], strict=True):
        assert isinstance(mine, jax.Array)
        np.testing.assert_allclose(mine, real, rtol=1e-6)
    for one in (1, 1.0, True, np.int8(1), jnp.bfloat16(1), jnp.float32(1)):
        assert cn.vjp(lambda x: x.sum(), jnp.zeros(2))[1](one)[0].tolist() == [1.0, 1.0]
    zero = np.zeros(4, jax.dtypes.float0)
    for nothing in (zero, 0 * np.arange(4), 0 * jnp.arange(4), 0):
        tangents = (jnp.ones(()), nothing)
        assert cn.jvp(lambda x, n: x * n.sum(), (jnp.ones(()), jnp.arange(4)), tangents)[1] == 6.0
    assert cn.value_and_grad(lambda x: jnp.sin(x).sum())(jnp.zeros(2))[1].tolist() == [1.0, 1.0]
    z = np.array([1 + 2j, 3 - 1j], np.complex64)
    np.testing.assert_array_equal(cn.grad(lambda z: (z * z).sum())(jnp.asarray(z)), 2 * z)


def test_their_errors() -> None:
    x = jnp.asarray(X)
    f: Any = 3
    errors: tuple[tuple[Any, str], ...] = (
        (
            lambda: cn.grad(lambda x: np.tanh(x).sum())(x),
            "^grad: f gives JAX arrays to functions of NumPy: write it with",
        ),
        (lambda: cn.grad(lambda x: x)(x), r"^grad: f must give a scalar, it gave shape \(4, 6\): sum it"),
        (lambda: cn.grad(lambda x: x.sum())(jnp.arange(3)), "^grad: argument 0 has dtype int32: integers have no"),
        (lambda: cn.vjp(lambda x: x, x)[1](X[0]), r"g has shape \(6,\), the output of f has"),
        (lambda: cn.vjp(lambda x, y: x, x, X), r"^vjp: primals\[1\] is a NumPy array, .*: pass jnp.asarray\("),
        (
            lambda: cn.jvp(lambda x: x, (x,), (1j * X,)),
            r"^jvp: tangents\[0\] has dtype complex64, primals\[0\] is real",
        ),
        (lambda: cn.jvp(lambda x: x, (x,), ()), "^jvp: 0 tangents for 1 primals"),
        (
            lambda: cn.jvp(lambda n: cn.sum_pool(n, (2,)), (jnp.arange(4),), (jnp.arange(4),)),
            r"^jvp: tangents\[0\] is not zero, but primals\[0\] is an array of int32, a constant$",
        ),
        (lambda: cn.vjp(f, x), "^vjp: f=3 is an int: a function is needed"),
    )
    for call, said in errors:
        with pytest.raises((TypeError, ValueError), match=said):
            call()
    assert cn.grad(lambda x: jnp.tanh(x).sum())(x).shape == x.shape


def test_what_they_refuse() -> None:
    x = jnp.asarray(X)
    with pytest.raises(TypeError, match=r"^Tensor: data is a jax Array, .*: pass np.asarray\(data\)$"):
        cn.Tensor(x)
    assert cn.Tensor(np.asarray(x)).shape == x.shape
    with pytest.raises(TypeError, match=r"^check_grads: .*: pass np.asarray\(args\[0\]\)$"):
        cn.check_grads(LOSSES["max"], (x,))
    with pytest.raises(TypeError, match=r"^max_pool: out is for NumPy arrays only: leave it out$"):
        cn.max_pool(x, (2, 2), out=np.empty((2, 3), np.float32))


def test_a_reducer_has_no_derivative_by_what_else_it_uses() -> None:
    def pooled(s: Any, x: Any, reduced: bool) -> Any:
        def fn(a: Any, b: Any) -> Any:
            return a + b * s

        partials = cn.reducer(fn, lambda a, b: (jnp.ones_like(a), s * jnp.ones_like(b)))
        return cn.pool(x, (2,), 0.0, partials if reduced else fn).sum()

    x = jnp.arange(4.0)
    with pytest.raises(
        TypeError, match=r"^pool: reduce_fn depends on another array that JAX derives by, .*: give the f"
    ):
        jax.grad(pooled)(2.0, x, True)
    assert jax.grad(pooled)(2.0, x, False) == 6.0
    for reduced in (True, False):
        assert jax.grad(pooled, argnums=1)(2.0, x, reduced).tolist() == [2.0] * 4
