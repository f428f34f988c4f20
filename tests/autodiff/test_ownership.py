"""Whose an array is: what functions hand out may be written to, what they are given is not, and empty batches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import cenote as cn
from cenote.arguments.arrays import Array
from cenote.autodiff import owning
from cenote.autodiff.owning import copied, is_shared
from cenote.core import indexing

X = np.random.default_rng(0).standard_normal((2, 6, 6))
W = np.random.default_rng(1).standard_normal((3, 3, 1, 2))

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "max_pool": lambda x: cn.max_pool(x, (2, 2)),
    "max_pool, split": lambda x: cn.max_pool(x, (2, 2), ties="split"),
    "min_pool": lambda x: cn.min_pool(x, (2, 2), stride=1),
    "sum_pool": lambda x: cn.sum_pool(x, (2, 2)),
    "avg_pool": lambda x: cn.avg_pool(x, (3, 3), padding=1),
    "avg_pool, omit": lambda x: cn.avg_pool(x, (3, 3), padding=1, nan="omit"),
    "lp_pool": lambda x: cn.lp_pool(x, (2, 2), p=3),
    "lp_pool, infinite": lambda x: cn.lp_pool(x, (2, 2), p=np.inf),
    "lp_pool, far apart": lambda x: cn.lp_pool(x * 1e200, (2, 2), p=3),
    "smooth_max_pool": lambda x: cn.smooth_max_pool(x, (2, 2)),
    "smooth_max_pool, far apart": lambda x: cn.smooth_max_pool(x * 1e4, (2, 2)),
    "median_pool": lambda x: cn.median_pool(x, (2, 3)),
    "adaptive_avg_pool": lambda x: cn.adaptive_avg_pool(x, (4, 5)),
    "adaptive_max_pool": lambda x: cn.adaptive_max_pool(x, (4, 5)),
    "global_avg_pool": lambda x: cn.global_avg_pool(x, axes=(-2, -1)),
    "global_max_pool": lambda x: cn.global_max_pool(x, axes=(-2, -1)),
    "pool": lambda x: cn.pool(x, (2, 2), 1.0, np.multiply),
    "pool, compiled": lambda x: cn.pool(x, (2, 2), 1.0, np.add),
    "pool, reducer": lambda x: cn.pool(x, (2, 2), 1.0, cn.reducer(np.hypot, lambda a, b: (a, b))),
    "max_unpool": lambda x: cn.max_unpool(x, np.arange(x.size).reshape(x.shape) % 36, (1, 1)),
    "conv": lambda x: cn.conv(x[..., None], W),
    "conv by w": lambda w: cn.conv(X[..., None], w[0, :3, :3, None, None]),
    "conv_transpose": lambda x: cn.conv_transpose(x[..., None], W[:, :, :, :1], stride=2),
    "exp": np.exp,
    "sqrt": lambda x: np.sqrt(x * x + 1),
    "itself": lambda x: x,
    "a part": lambda x: x[1:],
    "transposed": lambda x: x.T,
    "repeated": lambda x: np.broadcast_to(x, (3, *x.shape)),
    "twice": lambda x: (np.exp(x),) * 2,
}


def parts(y: Any) -> tuple[Array, ...]:
    return y if isinstance(y, tuple) else (y,)


def ones_like(y: Any) -> Any:
    return tuple(map(np.ones_like, y)) if isinstance(y, tuple) else np.ones_like(y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_may_be_written_to(name: str, dtype: Any) -> None:
    f = FUNCTIONS[name]
    x = X.astype(dtype)
    before = x.copy()
    with np.errstate(all="ignore"):
        y, pull = cn.vjp(f, x)
        expected = pull(ones_like(y))[0]
        for part in parts(y):
            part[...] = 777
        np.testing.assert_array_equal(pull(ones_like(y))[0], expected)
        y, push = cn.linearize(f, x)
        tangents = push(np.ones_like(x))
        for part in parts(y):
            part[...] = 777
        for again, tangent in zip(parts(push(np.ones_like(x))), parts(tangents), strict=True):
            np.testing.assert_array_equal(again, tangent)
        y, _ = cn.jvp(f, (x,), (np.ones_like(x),))
        for part in parts(y):
            part[...] = 777
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments_may_be_written_to(name: str, dtype: Any) -> None:
    """Between vjp and pull, and between linearize and push; also an argument that is a view of other data."""
    f = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        y, pull = cn.vjp(f, X.astype(dtype))
        expected = pull(ones_like(y))[0]
        tangents = parts(cn.linearize(f, X.astype(dtype))[1](np.ones(X.shape, dtype)))
        for x in (X.astype(dtype), np.stack([X, X], 1).astype(dtype)[:, 1]):
            y, pull = cn.vjp(f, x)
            x[...] = np.nan
            np.testing.assert_array_equal(pull(ones_like(y))[0], expected)
            x[...] = X
            _, push = cn.linearize(f, x)
            x[...] = np.nan
            for again, tangent in zip(parts(push(np.ones_like(x))), tangents, strict=True):
                np.testing.assert_array_equal(again, tangent)


def test_all_arguments_of_a_convolution_may_be_written_to() -> None:
    x, w, b = X[..., None].copy(), W.copy(), np.ones(2)
    found = []
    for write in (False, True):
        y, pull = cn.vjp(lambda x, w, b: cn.conv(x, w, bias=b), x, w, b)
        if write:
            x[...] = w[...] = b[...] = np.nan
        found.append(pull(np.ones_like(y)))
    for g, again in zip(*found, strict=True):
        np.testing.assert_array_equal(g, again)


def test_arguments_are_copied_only_where_a_derivative_keeps_them(monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[Any] = []

    def counted(x: Any) -> Any:
        copies.append(x)
        return copied(x)

    monkeypatch.setattr(owning, "copied", counted)
    kept = {
        "max_pool": 0, "min_pool": 0, "sum_pool": 0, "avg_pool": 0, "adaptive_max_pool": 0, "max_unpool": 0,
        "lp_pool, infinite": 0, "a part": 0, "itself": 0, "smooth_max_pool": 1, "lp_pool": 1, "avg_pool, omit": 0,
        "max_pool, split": 1, "exp": 1, "sqrt": 1, "conv": 0,
    }  # fmt: skip
    for name, number in kept.items():
        cn.vjp(FUNCTIONS[name], X)
        assert (name, len(copies)) == (name, number)
        copies.clear()
    cn.vjp(lambda x: cn.smooth_max_pool(x, (2, 2)).sum() + cn.lp_pool(x, (2, 2)).sum() + (x * x).sum(), X)
    assert len(copies) == 1  # the three derivatives share it
    copies.clear()
    cn.grad(lambda x: cn.smooth_max_pool(x, (2, 2)).sum())(X)  # the derivative does not outlive the call
    cn.jvp(lambda x: cn.smooth_max_pool(x, (2, 2)), (X,), (X,))
    assert not copies


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("twice", "itself")])
def test_data_of_results_may_be_written_to(name: str) -> None:
    f = FUNCTIONS[name]
    gradients: list[Any] = []
    held = X.copy()
    for write in (False, True):
        x = cn.Tensor(held)
        y = f(x)
        if write:
            data = y.data
            data[...] = 777
            assert y.data is data
            np.testing.assert_array_equal(np.asarray(y), 777)
        with np.errstate(all="ignore"):
            y.backward()
        np.testing.assert_array_equal(x.data, X)
        gradients.append(x.grad)
    np.testing.assert_array_equal(gradients[0], gradients[1])


def test_values_are_copied_only_where_they_are_held() -> None:
    """The derivative of a smooth maximum needs the data alone, that of a maximum shared among ties its value too."""
    held: list[Any] = []

    def recorded(f: Any, x: Any) -> Any:
        y = f(x, (2, 2))
        held.append(y._value.ctypes.data)
        return y

    for f, copy in ((cn.smooth_max_pool, False), (partial(cn.max_pool, ties="split"), True)):
        y, _ = cn.vjp(partial(recorded, f), X)
        assert (y.ctypes.data != held.pop()) is copy


def test_gradients_of_tensors_are_their_own() -> None:
    """The cotangent of a sum is one array for both of its terms, and a view where it is repeated."""
    kept = np.ones((2, 3000), np.float32)
    passes = cn.reducer(np.add, lambda a, b: (kept[:, :2999], kept[:, :2999]))
    a, b, c = (cn.Tensor(np.ones((2, 3000), np.float32)) for _ in range(3))
    g = np.full((2, 3000), 2.0, np.float32)
    y = a + b
    y.backward(g)
    repeated = c.sum(axis=0)
    repeated.sum().backward()
    d = cn.Tensor(np.ones((2, 3000), np.float32))
    cn.pool(d, (2,), 0.0, passes, stride=1).backward()
    grads: list[Any] = [t.grad for t in (a, b, y, c, repeated, d)]
    everything = [*grads, g, kept, *(t.data for t in (a, b, y, c, d))]
    for i, grad in enumerate(grads):
        assert grad.flags.writeable
        assert not any(np.may_share_memory(grad, other) for j, other in enumerate(everything) if i != j)


def test_a_part_does_not_keep_the_whole() -> None:
    double = np.dtype(np.float64)
    assert owning.own([np.ones((100, 100))[:, :50]], 0, double).base is None
    assert owning.own([np.ones((100, 100)).T], 0, double).base is not None  # as large as what it is a view of
    half: Any = owning.own([np.ones((100, 100))], 0, np.dtype(np.float32))
    assert half.dtype == np.float32


def test_large_gradients_are_handed_out_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    scattered: list[int] = []

    def scatter_add(*args: Any) -> Array:
        out = indexing.scatter_add(*args)
        scattered.append(out.ctypes.data)
        return out

    monkeypatch.setattr("cenote.core.scatter_add", scatter_add)
    x = cn.Tensor(np.ones((100, 100), np.float32))
    cn.max_pool(x, (2, 2)).sum().backward()
    assert x.grad is not None
    assert [x.grad.ctypes.data] == scattered


def test_who_holds_an_array() -> None:
    values = [np.zeros(3), np.zeros(3)[1:]]
    assert not is_shared(values, 0)
    assert not is_shared(values, 1)
    other, base = values[0], values[1].base
    assert is_shared(values, 0)
    assert is_shared(values, 1)
    assert not is_shared(values, 0, 2)
    del other, base
    assert not is_shared(values, 0)
    assert not is_shared(values, 1)
    turned = np.arange(6.0).reshape(2, 3).T
    assert copied(turned).strides == turned.strides
    np.testing.assert_array_equal(copied(turned), turned)


def writes_left(a: Any, b: Any) -> Any:
    a += b
    return a


def writes_right(a: Any, b: Any) -> Any:
    b += a
    return b


def writes_both(a: Any, b: Any) -> Any:
    total = a + b
    a[...] = -1
    b[...] = -1
    return total


@pytest.mark.parametrize("fn", [writes_left, writes_right, writes_both])
def test_a_function_for_pool_may_write_into_its_arguments(fn: Callable[[Any, Any], Any]) -> None:
    expected = cn.sum_pool(X, (3, 3), stride=1, padding=1)
    for reduce in (fn, cn.reducer(fn, lambda a, b: (np.ones_like(a), np.ones_like(b)))):
        x = X.copy()
        np.testing.assert_allclose(cn.pool(x, (3, 3), 0.0, reduce, stride=1, padding=1), expected)
        np.testing.assert_array_equal(x, X)
    tensor = cn.Tensor(X)
    out = cn.pool(tensor, (3, 3), 0.0, reduce, stride=1, padding=1)
    np.testing.assert_allclose(out.data, expected)
    np.testing.assert_array_equal(tensor.data, X)
    out.backward()
    assert tensor.grad is not None
    np.testing.assert_allclose(tensor.grad, cn.sum_pool(np.ones_like(X), (3, 3), stride=1, padding=1))


def test_partials_may_write_into_their_arguments() -> None:
    def partials(a: Any, b: Any) -> tuple[Any, Any]:
        of_a, of_b = b.copy(), a.copy()
        a[...] = b[...] = 5
        return of_a, of_b

    expected = cn.vjp(lambda x: cn.pool(x, (2, 2), 1.0, np.multiply), X)[1](np.ones((2, 3, 3)))[0]
    x = X.copy()
    found = cn.vjp(lambda x: cn.pool(x, (2, 2), 1.0, cn.reducer(np.multiply, partials)), x)[1](np.ones((2, 3, 3)))[0]
    np.testing.assert_allclose(found, expected)
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "conv by w"])
def test_derivatives_of_an_empty_batch(name: str) -> None:
    f = FUNCTIONS[name]
    x = np.zeros((0, 6, 6))
    y, pull = cn.vjp(f, x)
    (g,) = pull(ones_like(y))
    assert g.shape == x.shape
    for part, tangent in zip(parts(y), parts(cn.jvp(f, (x,), (x,))[1]), strict=True):
        assert tangent.shape == part.shape
    for part, tangent in zip(parts(y), parts(cn.linearize(f, x)[1](x)), strict=True):
        assert tangent.shape == part.shape
    cn.check_grads(f, (x,), order=2)
    if name != "twice":
        tensor = cn.Tensor(x)
        f(tensor).backward()
        assert tensor.grad is not None
        assert tensor.grad.shape == x.shape


def test_the_filter_of_an_empty_batch() -> None:
    (g,) = cn.vjp(lambda w: cn.conv(np.zeros((0, 6, 6, 1)), w), W)[1](np.zeros((0, 4, 4, 2)))
    np.testing.assert_array_equal(g, np.zeros_like(W))
