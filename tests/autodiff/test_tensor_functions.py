"""Every NumPy function and method that Tensors have, vs. NumPy's own: values, both derivatives, second order.

A function that the package registers and this file does not test fails a test.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import cenote as cn
from cenote.autodiff.elementwise import DIFFERENTIABLE, FLAT, PLAIN
from cenote.autodiff.tensor import FUNCTIONS, METHODS, UFUNCS

Array = NDArray[Any]
H = 1e-6


def sample(shape: tuple[int, ...], low: float = -2.0, high: float = 2.0, seed: int = 0) -> Array:
    """Numbers apart from each other, of any two seeds, and from 0: no finite difference steps over an edge."""
    count = int(np.prod(shape))
    elements = low + (high - low) * (np.arange(count) + 0.31 + 0.1 * seed) / (count + 0.5)
    return np.random.default_rng(seed).permutation(elements).reshape(shape)


def label(key: Any) -> str:
    return key if isinstance(key, str) else str(key.__name__)


def check(f: Callable[..., Any], *arrays: Array, order: int = 2) -> None:
    """A function of arrays, which NumPy itself computes, against the same on Tensors."""
    rng = np.random.default_rng(1)
    expected = np.asarray(f(*arrays))
    out = f(*map(cn.Tensor, arrays))
    assert type(out) is cn.Tensor
    assert (out.shape, out.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(out.data, expected, rtol=1e-14, atol=1e-14)
    y, pull = cn.vjp(f, *arrays)
    assert type(y) is np.ndarray
    g = rng.standard_normal(y.shape)
    pulled = pull(g)
    for i, x in enumerate(arrays):
        t = rng.standard_normal(x.shape)
        tangents = [t if j == i else np.zeros(a.shape) for j, a in enumerate(arrays)]
        _, dy = cn.jvp(f, arrays, tangents)
        near = [f(*(a + sign * H * d for a, d in zip(arrays, tangents, strict=True))) for sign in (1, -1)]
        np.testing.assert_allclose(dy, (near[0] - near[1]) / (2 * H), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose((pulled[i] * t).sum(), (g * dy).sum(), rtol=1e-11, atol=1e-11)
        assert (pulled[i].shape, pulled[i].dtype) == (x.shape, x.dtype)
    if order < 2:
        return
    gradient = cn.grad(lambda *a: (g * f(*a) ** 2).sum(), tuple(range(len(arrays))))
    along = [rng.standard_normal(x.shape) for x in arrays]
    _, curved = cn.jvp(gradient, arrays, along)
    near = [gradient(*(a + sign * H * d for a, d in zip(arrays, along, strict=True))) for sign in (1, -1)]
    for found, plus, minus in zip(curved, *near, strict=True):
        np.testing.assert_allclose(found, (plus - minus) / (2 * H), rtol=1e-5, atol=1e-6)


# ---------------------------------------------------------------------------------------------------- ufuncs

POSITIVE = (0.2, 2.0)
DOMAINS: dict[Any, list[tuple[float, float]]] = {
    np.true_divide: [(-2, 2), POSITIVE],
    np.power: [POSITIVE, (-2, 2)],
    np.float_power: [POSITIVE, (-2, 2)],
    np.arcsin: [(-0.9, 0.9)],
    np.arccos: [(-0.9, 0.9)],
    np.arctanh: [(-0.9, 0.9)],
    np.arccosh: [(1.1, 3)],
    np.tan: [(-1, 1)],
    np.remainder: [(5.1, 5.9), (-2.4, -2.0)],
    np.fmod: [(-5.9, -5.1), (2.0, 2.4)],
    **{key: [POSITIVE] for key in (np.log, np.log2, np.log10, np.log1p, np.sqrt, np.cbrt, np.reciprocal)},
}
BITS = {np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift}


def domain(ufunc: Any) -> list[tuple[float, float]]:
    return DOMAINS.get(ufunc, [(-2, 2)] * ufunc.nin)


def test_every_ufunc_is_of_one_kind() -> None:
    reductions = {key for key in UFUNCS if isinstance(key, tuple)}
    assert set(UFUNCS) == DIFFERENTIABLE | {np.matmul} | set(FLAT) | set(PLAIN) | reductions
    assert reductions == {(u, "reduce") for u in (np.add, np.multiply, np.maximum, np.minimum)}


@pytest.mark.parametrize("ufunc", sorted(DIFFERENTIABLE, key=label), ids=label)
def test_smooth_ufuncs(ufunc: Any) -> None:
    ranges = domain(ufunc)
    check(ufunc, *(sample((3, 4), *r, seed=i) for i, r in enumerate(ranges)))
    if ufunc.nin == 2:  # what is broadcast forward is summed in reverse
        check(ufunc, sample((3, 1), *ranges[0]), sample((2, 1, 4), *ranges[1], seed=1))
        check(ufunc, sample((), *ranges[0]), sample((2,), *ranges[1], seed=1))
        check(lambda a: ufunc(a, sample((3,), *ranges[1], seed=2)), sample((2, 3), *ranges[0]))
        check(lambda b: ufunc(sample((2, 3), *ranges[0], seed=2).tolist(), b), sample((3,), *ranges[1]))
    for dtype in (np.float32, np.float16):
        held = [cn.Tensor(sample((3,), *r).astype(dtype)) for r in ranges]
        out = ufunc(*held)
        assert out.dtype == ufunc(*(h.data for h in held)).dtype
        out.backward()
        assert [h.grad is not None and h.grad.dtype for h in held] == [dtype] * ufunc.nin


@pytest.mark.parametrize("ufunc", FLAT, ids=label)
def test_flat_ufuncs(ufunc: Any) -> None:
    arrays = [sample((3, 4), 0.2, 2.0, seed=i) for i in range(ufunc.nin)]
    out = ufunc(*map(cn.Tensor, arrays))
    assert type(out) is cn.Tensor
    assert out.constant
    np.testing.assert_array_equal(out.data, ufunc(*arrays))
    assert not any(part.any() for part in cn.vjp(ufunc, *arrays)[1](np.ones((3, 4))))


@pytest.mark.parametrize("ufunc", PLAIN, ids=label)
def test_ufuncs_that_only_look(ufunc: Any) -> None:
    arrays = [np.array(a, int if ufunc in BITS else float) for a in ([3, 0, 2], [1, 0, 2])][: ufunc.nin]
    out = ufunc(*map(cn.Tensor, arrays))
    assert type(out) is np.ndarray
    np.testing.assert_array_equal(out, ufunc(*arrays))


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum], ids=label)
def test_reductions_of_ufuncs(ufunc: Any) -> None:
    for options in ({}, {"axis": 1}, {"axis": None}, {"axis": -1, "keepdims": True}):
        check(lambda a, o=options: ufunc.reduce(a, **o), sample((2, 3)))


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.mod]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_operators_with_numbers_on_either_side(op: Any) -> None:
    x = sample((2, 3), 1.2, 1.9)
    check(lambda a: op(a, 2), x)
    check(lambda a: op(2.5, a), x)
    check(lambda a: op(a, np.float64(1.1)), x)
    check(lambda a: op(np.array([1.5, 2.5, 3.5]), a), x)


def test_other_operators() -> None:
    x = sample((2, 3))
    check(lambda a: -a + +a + abs(a), x)
    assert (cn.Tensor(x) // 0.7).data.tolist() == (x // 0.7).tolist()
    assert (cn.Tensor(x) > 0).tolist() == (x > 0).tolist()


# ------------------------------------------------------------------------------------------- other functions

X, Y, Z = sample((2, 3)), sample((2, 3), seed=1), sample((2, 3, 4), seed=2)
MASK = X > 0
Case = tuple[Callable[..., Any], tuple[Array, ...]]


def on(*arrays: Array) -> Callable[..., list[Case]]:
    return lambda *functions: [(f, arrays) for f in functions]


CASES: dict[Any, list[Case]] = {
    np.reshape: on(X)(lambda a: np.reshape(a, (3, 2)), lambda a: np.reshape(a, -1)),
    np.ravel: on(X)(np.ravel),
    np.transpose: on(Z)(np.transpose, lambda a: np.transpose(a, (1, -1, 0))),
    np.swapaxes: on(Z)(lambda a: np.swapaxes(a, 0, -1)),
    np.moveaxis: on(Z)(lambda a: np.moveaxis(a, 0, -1), lambda a: np.moveaxis(a, (0, 1), (1, 0))),
    np.expand_dims: on(X)(lambda a: np.expand_dims(a, 1), lambda a: np.expand_dims(a, (0, -1))),
    np.squeeze: on(Z[:1, :, :1])(np.squeeze, lambda a: np.squeeze(a, 0)),
    np.atleast_1d: on(X[0, 0])(np.atleast_1d, lambda a: np.atleast_1d(a, 2 * a)[1]),
    np.broadcast_to: on(X)(lambda a: np.broadcast_to(a, (4, 2, 3))),
    "getitem": on(Z)(
        lambda a: a[1], lambda a: a[..., -1], lambda a: a[:, None, ::-2], lambda a: a[[0, 0, 1]], lambda a: a[[]],
        lambda a: a[np.array([[1, 0], [1, 1]]), :, 2], lambda a: a[a > 0], lambda a: a[np.array([True, False])],
        lambda a: a[0, [2, 0, 2], [1, 1, 1]], lambda a: a[True], lambda a: a[1, 2, 3], lambda a: a[2:],
    ),
    np.take: on(Z)(lambda a: np.take(a, [0, 0, 5]), lambda a: np.take(a, [[1, 0]], -1), lambda a: np.take(a, 1, 1)),
    np.flip: on(Z)(np.flip, lambda a: np.flip(a, 1), lambda a: np.flip(a, (0, -1))),
    np.roll: on(Z)(lambda a: np.roll(a, 5), lambda a: np.roll(a, -1, 2), lambda a: np.roll(a, (1, 2), (0, -1))),
    np.repeat: on(X)(lambda a: np.repeat(a, 2), lambda a: np.repeat(a, [1, 0, 2], axis=-1)),
    np.astype: on(X)(lambda a: np.astype(a, np.float64), lambda a: np.astype(a, np.int64) * a),
    np.pad: on(X)(
        lambda a: np.pad(a, 1), lambda a: np.pad(a, ((1, 0), (0, 2)), constant_values=3.0),
        lambda a: np.pad(a, (2, 1)), lambda a: np.pad(a, ((1,), (2,)), "constant"),
    ),
    np.concatenate: on(X, Y)(
        lambda a, b: np.concatenate([a, b]), lambda a, b: np.concatenate((a, np.ones((2, 1)), b), -1),
        lambda a, b: np.concatenate([a, [[1.0]], b], axis=None), lambda a, b: np.concatenate([a, a, b]),
    ),
    np.stack: on(X, Y)(lambda a, b: np.stack([a, b]), lambda a, b: np.stack([a, b.tolist() if b is Y else b], -1)),
    np.split: on(X)(
        lambda a: np.split(a, 3, axis=1)[1], lambda a: np.split(a, [1, 1], axis=-1)[2], lambda a: np.split(a, 2)[0],
    ),
    np.where: on(X, Y)(
        lambda a, b: np.where(MASK, a, b), lambda a, b: np.where(MASK[0], a, 2.0) * np.where(a > b, 1.0, b),
    ),
    np.clip: on(X)(
        lambda a: np.clip(a, -0.5, 1), lambda a: np.clip(a, None, 1), lambda a: np.clip(a, min=-1),
        lambda a: np.clip(a, [0, -1, 1], np.ones(3)), lambda a: np.clip(a, min=-1, max=1),
    ),
    np.sum: on(Z)(np.sum, lambda a: np.sum(a, 1), lambda a: np.sum(a, (0, -1), keepdims=True), lambda a: np.sum(a, ())),
    np.mean: on(Z)(np.mean, lambda a: np.mean(a, (0, 2)), lambda a: np.mean(a, -1, keepdims=True)),
    np.var: on(Z)(np.var, lambda a: np.var(a, 1), lambda a: np.var(a, (0, 2), ddof=1, keepdims=True)),
    np.std: on(Z)(np.std, lambda a: np.std(a, 1), lambda a: np.std(a, (0, 2), ddof=1, keepdims=True)),
    np.prod: on(Z)(
        lambda a: np.prod(a, 1), lambda a: np.prod(a[0, :2]),
        lambda a: np.prod(a * np.array([0.0, 1.0])[:, None, None], (0, 2), keepdims=True),  # zeros are no obstacle
    ),
    np.max: on(Z)(
        np.max, lambda a: np.max(a, 1), lambda a: np.max(a, (0, -1), keepdims=True), lambda a: np.max(a[0, 0, 0]),
    ),
    np.min: on(Z)(np.min, lambda a: np.min(a, 1), lambda a: np.min(a, (0, -1), keepdims=True)),
    np.cumsum: on(Z)(np.cumsum, lambda a: np.cumsum(a, 1), lambda a: np.cumsum(a, -1)),
    np.linalg.norm: on(Z)(
        np.linalg.norm, lambda a: np.linalg.norm(a, axis=1), lambda a: np.linalg.norm(a, "fro", (0, 2), keepdims=True),
        lambda a: np.linalg.norm(a[0, 0], 2), lambda a: np.linalg.norm(a, 2, -1),
    ),
    np.dot: on(X, sample((3, 2), seed=3))(
        np.dot, lambda a, b: np.dot(a[0], b), lambda a, b: np.dot(a, b[:, 0]), lambda a, b: np.dot(a[0], b[:, 0]),
        lambda a, b: np.dot(a, 2.0) + np.dot(3, b.T), lambda a, b: np.dot(a, np.stack([b, b])),
    ),
    np.tensordot: on(Z, sample((3, 4, 2), seed=3))(
        np.tensordot, lambda a, b: np.tensordot(a, b, 0), lambda a, b: np.tensordot(a, b, ((0, 2), (2, 1))),
        lambda a, b: np.tensordot(a, b, (1, 0)),
    ),
    np.outer: on(X, Y)(np.outer),
    np.inner: on(X, Y)(np.inner, lambda a, b: np.inner(a[0], b[0]), lambda a, b: np.inner(a, 2.0) * b),
    np.einsum: on(X, Y, Z)(
        lambda a, b, c: np.einsum("ij,ijk->k", a, c) + b.sum(), lambda a, b, c: np.einsum("ij,kj", a, b) * c.sum(),
        lambda a, b, c: np.einsum("ij, ij, ijk -> jk", a, b, c, optimize=True),
        lambda a, b, c: np.einsum("ij->j", a) * b * c.sum(), lambda a, b, c: np.einsum("i,i", a[0], b[0]) * c,
        lambda a, b, c: np.einsum("ij,ij->ij", a[:1], b) * np.einsum("ijk->", c),
    ),
    np.matmul: on(X, Z)(
        lambda a, b: a @ b, lambda a, b: b.swapaxes(1, 2) @ a.T, lambda a, b: a[0] @ b, lambda a, b: b @ b[0, 0] * a[0],
        lambda a, b: a[0] @ b[0, :, 0], lambda a, b: a @ [1.0, 2.0, 3.0] + [1.0, 2.0] @ a @ b[0, :, 1],
    ),
}  # fmt: skip
SAME = {np.amax: np.max, np.amin: np.min}
ROUNDED = {np.round, np.around}


@pytest.mark.parametrize("key", CASES, ids=label)
def test_functions(key: Any) -> None:
    for f, arrays in CASES[key]:
        check(f, *arrays)
    for other, one in SAME.items():
        assert FUNCTIONS[other] is FUNCTIONS[one]


# The results of these are plain, as NumPy's are.
ONE = [
    np.shape, np.ndim, np.size, np.argmax, np.argmin, np.argsort, np.any, np.all, np.count_nonzero, np.nonzero,
    np.zeros_like, np.ones_like, np.iscomplexobj, np.isrealobj, np.result_type, np.array_repr, np.array_str,
    np.array2string, np.histogram, np.min_scalar_type,
]  # fmt: skip
TWO = [np.allclose, np.isclose, np.array_equal, np.array_equiv, np.may_share_memory, np.shares_memory]
LOOKS: dict[Any, tuple[Any, ...]] = {
    **dict.fromkeys(ONE, (X,)),
    **dict.fromkeys(TWO, (X, Y)),
    np.full_like: (X, 3.0),
    np.searchsorted: (np.sort(Y[0]), X),
    np.can_cast: (np.float32, np.float64),
}
APART = {np.empty_like, np.save, np.copyto, np.broadcast_shapes}


@pytest.mark.parametrize("function", LOOKS, ids=label)
def test_functions_that_only_look(function: Any) -> None:
    arrays = LOOKS[function]
    out = FUNCTIONS[function](*(cn.Tensor(a) if isinstance(a, np.ndarray) else a for a in arrays))
    expected = function(*arrays)
    assert type(out) is type(expected)
    for a, b in zip(out, expected, strict=True) if isinstance(out, tuple) else [(out, expected)]:
        np.testing.assert_array_equal(a, b)


def test_the_rest_of_those(tmp_path: Any) -> None:
    t = cn.Tensor(X)
    assert np.empty_like(t).shape == X.shape
    np.save(tmp_path / "x.npy", t)
    assert np.load(tmp_path / "x.npy").tolist() == X.tolist()
    target = np.zeros((2, 3))
    np.copyto(target, t)
    assert target.tolist() == X.tolist()
    assert FUNCTIONS[np.broadcast_shapes]((2, 1), (3,)) == (2, 3)


@pytest.mark.parametrize("function", sorted(ROUNDED, key=label), ids=label)
def test_rounding_is_constant(function: Any) -> None:
    out = function(cn.Tensor(X), 1)
    assert out.constant
    np.testing.assert_array_equal(out.data, np.round(X, 1))


def test_no_function_is_left_out() -> None:
    assert set(FUNCTIONS) == (set(CASES) - {np.matmul}) | set(SAME) | ROUNDED | set(LOOKS) | APART


# ----------------------------------------------------------------------------------------------------- methods

ARGUMENTS: dict[str, list[tuple[Any, ...]]] = {
    "reshape": [(3, 2), ((3, -1),), (-1,)], "ravel": [()], "flatten": [()], "transpose": [(), (1, 0), ((1, 0),)],
    "swapaxes": [(0, 1)], "squeeze": [()], "take": [([0, 0, 4],), ([1, 1], 1)], "repeat": [(2,), (2, 1)],
    "astype": [(np.float64,)], "copy": [()], "clip": [(-1, 1), (0,)], "sum": [(), (0,)], "mean": [(), (-1,)],
    "var": [(), (1,)], "std": [(), (1,)], "prod": [(), (1,)], "max": [(), (0,)], "min": [(), (0,)],
    "cumsum": [(), (1,)], "dot": [(Y.T,), (2.0,)],
}  # fmt: skip
LOOKING = ("argmax", "argmin", "argsort", "any", "all", "nonzero")


@pytest.mark.parametrize("name", ARGUMENTS)
def test_methods(name: str) -> None:
    for args in ARGUMENTS[name]:
        check(lambda a, args=args: getattr(a, name)(*args), X)


def test_methods_that_only_look_and_no_method_is_left_out() -> None:
    for name in LOOKING:
        out, expected = getattr(cn.Tensor(X), name)(), getattr(X, name)()
        np.testing.assert_array_equal(np.asarray(out), np.asarray(expected))
        assert type(out) is type(expected)
    assert cn.Tensor(X).round(1).data.tolist() == X.round(1).tolist()
    assert set(METHODS) == {*ARGUMENTS, *LOOKING, "round"}


@pytest.mark.parametrize("dtype", [">f4", ">f8", "<f4"])
def test_sums_are_in_the_byte_order_of_the_machine(dtype: str) -> None:
    x = np.arange(6, dtype=dtype).reshape(2, 3)
    functions: list[Callable[[Any], Any]] = [lambda x: x.sum(), lambda x: x.sum(axis=0), lambda x: x.mean()]
    for f in functions:
        expected = f(x)
        for found in (f(cn.Tensor(x)).data, cn.vjp(f, x)[0]):
            assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())
