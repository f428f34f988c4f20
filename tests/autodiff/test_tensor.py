"""Tensor as its users meet it: what it holds, backward(), what it refuses, what it leaves behind."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import cenote as cn
from cenote.autodiff.linear import FEW

Array = NDArray[Any]


def tensor(*values: float, **options: Any) -> cn.Tensor:
    return cn.Tensor(np.array(values), **options)


def grad_of(t: cn.Tensor) -> Any:
    assert t.grad is not None
    assert t.grad.dtype == t.dtype
    return t.grad.tolist()


# ------------------------------------------------------------------------------------------------ what it holds


def test_it_holds_a_copy() -> None:
    x = np.array([1.0, 2.0])
    t = cn.Tensor(x)
    x[0] = 9.0
    assert t.data.tolist() == [1.0, 2.0]
    assert (t.shape, str(t.dtype), t.ndim, t.size, len(t), t.grad) == ((2,), "float64", 1, 2, 2, None)
    assert cn.Tensor(t).data is not t.data


def test_it_converts_like_an_array() -> None:
    t = cn.Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert np.asarray(t).tolist() == t.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert [row.tolist() for row in t] == [[1.0, 2.0], [3.0, 4.0]]
    assert t.T.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    one = t[0, 1]
    assert (float(one), int(one), bool(one), one.item(), f"{one:.3f}", f"{one}") == (
        2.0,
        2,
        True,
        2.0,
        "2.000",
        "Tensor(2.)",
    )
    assert [10, 20, 30][cn.Tensor(1)] == 20
    with pytest.raises(ValueError, match="ambiguous"):
        bool(t)
    with pytest.raises(TypeError, match="unsized"):
        iter(one)


@pytest.mark.parametrize("dtype", [np.dtype(t) for t in "?bBhHiIqQefdFD"] + [np.dtype(ml_dtypes.bfloat16)], ids=str)
def test_integers_are_constant_and_floats_are_not(dtype: np.dtype[Any]) -> None:
    t = cn.Tensor(np.ones(3, dtype))
    assert t.dtype == dtype
    assert t.constant == (dtype.kind in "biu")
    assert cn.Tensor(np.ones(3, dtype), constant=True).constant
    out = t * t
    assert (out.dtype, out.constant) == (dtype, t.constant)
    if t.constant:
        with pytest.raises(ValueError, match=r"Tensor: constant=False: data of dtype .* has no derivatives"):
            cn.Tensor(np.ones(3, dtype), constant=False)
    else:
        out.backward()
        assert grad_of(t) == [2, 2, 2]


def test_what_it_cannot_hold() -> None:
    for data in ("x", None, np.ma.masked_array([1.0], [True]), [[1.0], [2.0, 3.0]], np.array(["a"]), np.longdouble(1)):
        with pytest.raises((TypeError, ValueError), match=r"^Tensor: data "):
            cn.Tensor(data)
    with pytest.raises(TypeError, match="Tensor: constant=1: True, False or None is needed"):
        cn.Tensor([1.0], constant=1)  # type: ignore[arg-type]


def test_copies_have_a_history_of_their_own() -> None:
    x = tensor(1.0, 2.0)
    (x * 3.0).backward()
    for other in (copy.copy(x * 2.0), copy.deepcopy(x * 2.0), pickle.loads(pickle.dumps(x * 2.0))):
        assert (other.tolist(), other.constant, other.grad) == ([2.0, 4.0], False, None)
        other.backward()
        assert x.grad is None
    (x * 3.0).backward()
    assert grad_of(pickle.loads(pickle.dumps(x))) == [3.0, 3.0]
    assert pickle.loads(pickle.dumps(cn.Tensor([1]))).constant


# ----------------------------------------------------------------------------------------------------- backward


def test_backward_of_more_than_a_scalar_is_that_of_its_sum() -> None:
    x, y = tensor(1.0, 2.0, 3.0), tensor(1.0, 2.0, 3.0)
    (x * x).backward()
    (y * y).sum().backward()
    assert grad_of(x) == grad_of(y) == [2.0, 4.0, 6.0]


def test_backward_from_a_given_gradient() -> None:
    x = tensor(1.0, 2.0, 3.0)
    for g, expected in (([1.0, 0.0, 2.0], [2.0, 0.0, 12.0]), (3, [6.0, 12.0, 18.0]), (tensor(1.0), [2.0, 4.0, 6.0])):
        out = x * x
        out.backward(g)
        assert grad_of(x) == expected
        assert grad_of(out) == np.broadcast_to(np.asarray(g, float), 3).tolist()
    for bad, kind, message in (
        ([1.0, 2.0], ValueError, r"g has shape \(2,\), this Tensor has \(3,\)"),
        (np.ones((2, 3)), ValueError, r"g has shape \(2, 3\)"),
        ("a", TypeError, "g has dtype <U1"),
        (1j, TypeError, "g has dtype complex128, this Tensor has float64"),
    ):
        with pytest.raises(kind, match=f"backward: {message}"):
            (x * x).backward(bad)


def test_what_is_broadcast_is_summed() -> None:
    a, b, c = cn.Tensor(np.ones((2, 1))), cn.Tensor(np.ones(3)), cn.Tensor(2.0)
    (a * b * c).backward(np.arange(6.0).reshape(2, 3))
    assert (grad_of(a), grad_of(b), grad_of(c)) == ([[6.0], [24.0]], [6.0, 10.0, 14.0], 15.0)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_the_gradient_of_a_sum_is_an_array_of_its_own(dtype: Any, more: int) -> None:
    """Up to so many elements the gradient is made as an array, above as a view of one number."""
    x = cn.Tensor(np.zeros(FEW + more, dtype))
    held = x * 1
    held.sum().backward()
    for t in (x, held):
        assert t.grad is not None
        assert (t.grad == 1).all()
        assert t.grad.dtype == dtype
        assert t.grad.flags.writeable
        assert t.grad.flags.owndata


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float16, ">f4", np.float32, np.float64])
@pytest.mark.parametrize("name", ["max_pool", "avg_pool"])
def test_gradients_do_not_depend_on_the_layout(name: str, dtype: Any, order: Any) -> None:
    """Arrays that need no rearrangement go straight to the core."""
    data = np.asarray(np.random.default_rng(1).permutation(96).reshape(4, 4, 6), dtype, order=order)
    g = np.asarray(np.arange(24).reshape(4, 2, 3) % 5, order="F" if order == "C" else "C")
    x, same = cn.Tensor(data), cn.Tensor(np.ascontiguousarray(data, np.float64))
    pool = getattr(cn, name)
    pool(x, (2, 2)).backward(g)
    pool(same, (2, 2)).backward(np.ascontiguousarray(g))
    assert grad_of(x) == grad_of(same)


def test_constants_have_no_gradient() -> None:
    x, fixed, whole = tensor(2.0), tensor(3.0, constant=True), cn.Tensor([4])
    (x * fixed * whole).backward()
    assert (grad_of(x), fixed.grad, whole.grad) == ([12.0], None, None)
    assert (fixed * whole).constant
    constants: list[Any] = [fixed, fixed + 1.0, np.sign(x), np.round(x)]
    for nothing in constants:
        with pytest.raises(ValueError, match="backward: this Tensor is constant"):
            nothing.backward()


def test_the_graph_is_freed() -> None:
    x = tensor(1.0, 2.0)
    middle = x * 3.0
    first, second = middle.sum(), (middle * 2.0).sum()
    first.backward()
    for used in (first, second, middle * 1.0):
        with pytest.raises(ValueError, match=r"the graph was freed by an earlier backward\(\)"):
            used.backward()
    x.backward()  # a variable is its own graph
    assert grad_of(x) == [1.0, 1.0]


def test_a_gradient_stays_until_its_tensor_is_used_again() -> None:
    x, y = tensor(1.0), tensor(2.0)
    (x * y).backward()
    assert (grad_of(x), grad_of(y)) == ([2.0], [1.0])
    _ = x * 3.0
    assert (x.grad, grad_of(y)) == (None, [1.0])
    assert y.null_grad() is y
    assert y.grad is None
    (x * x + x).backward()  # every use of x in one computation counts, and no earlier one
    assert grad_of(x) == [3.0]


def test_tensors_between_have_gradients_while_they_are_held() -> None:
    x = tensor(1.0, 2.0)
    middle = x * 3.0
    (middle * middle).backward()
    assert (grad_of(middle), grad_of(x)) == ([6.0, 12.0], [18.0, 36.0])


def test_repeated_indices_accumulate() -> None:
    x = tensor(1.0, 2.0, 3.0)
    x[[0, 0, 2, 0]].backward([1.0, 10.0, 100.0, 1000.0])
    assert grad_of(x) == [1011.0, 0.0, 100.0]
    x[cn.Tensor([1, 1])].backward()
    assert grad_of(x) == [0.0, 2.0, 0.0]
    x[x > 1.5].backward([5.0, 7.0])
    assert grad_of(x) == [0.0, 5.0, 7.0]


def test_values_are_changed_through_data() -> None:
    x = tensor(1.0, 2.0)
    held = x.data
    for _ in range(60):
        ((x - np.array([3.0, -4.0])) ** 2).sum().backward()
        x.data -= 0.2 * np.asarray(x.grad)
    assert x.data is held
    np.testing.assert_allclose(held, [3.0, -4.0], atol=1e-9)
    x.data = 7.0
    assert held.tolist() == [7.0, 7.0]
    with pytest.raises(TypeError, match="a Tensor is not written into"):
        x[0] = 1.0
    with pytest.raises(TypeError, match=r"np.add: Tensors take no out: write x = x \+ y"):
        x += 1.0
    with pytest.raises(TypeError, match="inside of vjp, jvp, linearize or grad cannot be changed"):
        cn.grad(lambda a: setattr(a, "data", 1.0))(1.0)
    with pytest.raises(TypeError, match=r"backward\(\) works on Tensors, not inside"):
        cn.grad(lambda a: a.backward())(1.0)


def test_what_is_not_there_says_so() -> None:
    x = tensor(1.0, 2.0)
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: np.median(x), "np.median is not defined for Tensors: use it on their .data"),
        (lambda: np.add.outer(x, x), "np.add.outer is not defined for Tensors"),
        (lambda: np.spacing(x), "np.spacing is not defined for Tensors"),
        (lambda: np.exp(x, where=np.array([True, False])), "np.exp: Tensors take no where"),
        (lambda: np.sum(x, where=np.array([True, False])), "np.sum: Tensors take no where="),
        (lambda: x.astype(str), "astype: dtype="),
        (lambda: np.var(cn.Tensor([1j])), "the magnitude of a complex number has no complex derivative"),
    ]
    for call, message in calls:
        with pytest.raises(TypeError, match=message):
            call()
    with pytest.raises(AttributeError, match="Tensor has no attribute 'nothing'"):
        _ = x.nothing
    for bad in (
        lambda: x.sum(axis=1),
        lambda: x.sum(axis=(0, 0)),
        lambda: x @ 2.0,
        lambda: np.linalg.norm(x, 1),
        lambda: np.linalg.norm(x[:, None], 2),
    ):
        with pytest.raises(ValueError, match=r"axis|matmul|norm"):
            bad()


def test_integers_are_reduced_by_numpys_rules() -> None:
    x = np.array([[100, 100], [3, 4]], np.int8)
    functions: list[Any] = [np.sum, np.prod, np.mean, np.var, np.std, np.max, np.cumsum, np.linalg.norm]
    for f in functions:
        out, expected = f(cn.Tensor(x)), np.asarray(f(x))
        assert (out.dtype, out.constant) == (expected.dtype, True)
        np.testing.assert_allclose(out.data, expected)
    assert float(np.mean(cn.Tensor(np.ones(70000, np.float16)))) == 1.0  # a sum in half precision overflows
    half = np.linspace(0, 9, 50).astype(np.float16)
    averages: list[Any] = [np.mean, np.var, np.std, np.linalg.norm]
    for f in averages:
        out = f(cn.Tensor(half))
        assert out.dtype == np.float16
        np.testing.assert_allclose(out.data, f(half), rtol=2e-3)
    for f in (np.sum, np.max, np.prod):
        assert f(cn.Tensor(np.zeros((2, 0))), axis=0).shape == (0,)


def test_a_root_of_nothing_has_no_slope() -> None:
    functions: list[Any] = [np.linalg.norm, np.std]
    for f in functions:
        x = tensor(0.0, 0.0)
        f(x).backward()
        assert grad_of(x) == [0.0, 0.0]


# -------------------------------------------------------------------------------------------- memory and depth


def step(x: cn.Tensor) -> None:
    out = cn.max_pool(np.tanh(x * 2.0) + x[::-1], (2,), stride=1)
    (out @ out).backward()


def test_ten_thousand_steps_leave_nothing_behind() -> None:
    x = tensor(*np.arange(8.0))
    for _ in range(50):
        step(x)
    gc.collect()
    objects, blocks = len(gc.get_objects()), sys.getallocatedblocks()
    for _ in range(10_000):
        step(x)
    gc.collect()
    assert len(gc.get_objects()) - objects < 100
    assert sys.getallocatedblocks() - blocks < 1000


def test_no_cycle_keeps_a_graph_alive() -> None:
    cn.clear_cache()  # a geometry and its transpose know each other, and leave it together
    gc.collect()
    gc.disable()
    try:
        x = tensor(*np.arange(8.0))
        step(x)
        out = cn.lp_pool(cn.smooth_max_pool(x.reshape(2, 4), (1, 2)), (2, 1))
        cn.grad(lambda a: (a * cn.avg_pool(a, (2,), stride=1, padding="same")).sum())(x.data)
        del out
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_graph_deeper_than_the_stack() -> None:
    x = y = tensor(1.0)
    for _ in range(5000):
        y = y + x
    y.backward()
    assert grad_of(x) == [5001.0]
    for _ in range(5000):
        y = x * 1.0 + y
    del y


# ---------------------------------------------------------------------------------------------- vs. torch


def test_a_small_network() -> None:
    rng = np.random.default_rng(0)
    shapes = (6, 2, 8, 8), (18, 16), (16,), (16, 5)
    arrays = [rng.standard_normal(shape) for shape in shapes]
    labels = rng.integers(0, 5, 6)
    x, w, b, v = map(cn.Tensor, arrays)
    pooled = cn.max_pool(x, (3, 3), stride=2) + cn.avg_pool(x, (3, 3), stride=2)
    scores = np.tanh(pooled.reshape(6, -1) @ w + b) @ v
    shifted = scores - scores.max(axis=1, keepdims=True)
    loss = -(shifted[np.arange(6), labels] - np.log(np.exp(shifted).sum(axis=1))).mean()
    loss.backward()
    there = [torch.tensor(a, requires_grad=True) for a in arrays]
    planes = torch.nn.functional.max_pool2d(there[0], 3, 2) + torch.nn.functional.avg_pool2d(there[0], 3, 2)
    logits = torch.tanh(planes.reshape(6, -1) @ there[1] + there[2]) @ there[3]
    expected = torch.nn.functional.cross_entropy(logits, torch.tensor(labels))
    expected.backward()  # type: ignore[no-untyped-call]
    np.testing.assert_allclose(float(loss), expected.item(), rtol=1e-14)
    for ours, theirs in zip((x, w, b, v), there, strict=True):
        assert theirs.grad is not None
        np.testing.assert_allclose(np.asarray(ours.grad), theirs.grad.numpy(), rtol=1e-11, atol=1e-14)
