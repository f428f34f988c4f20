"""Changes of mygrad's Tensors in place: the same programs here and in mygrad itself."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import mygrad
import numpy as np
import pytest

import cenote as cn
from cenote.dialects import mygrad as mg

# Each program ends with the Tensors that are compared: values, gradients, constness.
PROGRAMS = {
    "a leaf": "x = T([1.0, 2.0, 3.0]); x += 1; (x * x).sum().backward(); out = x,",
    "a leaf by a variable": "x, y = T([1.0, 2.0]), T([3.0, 4.0]); x *= y; (x * x).sum().backward(); out = x, y",
    "all of the operators": "x = T([1.0, 2.0]) * 1; y = x; x += 2; x -= 1; x *= 3; x /= 2; x **= 2; x.sum()."
    "backward(); out = x, y",
    "by itself": "x = T([1.0, 2.0]) * 1; x += x; x.sum().backward(); out = x,",
    "broadcast": "x, y = T([[1.0, 2.0], [3.0, 4.0]]), T([5.0, 6.0]); z = x * 1; z *= y; (z * z).sum().backward(); "
    "out = x, y, z",
    "what was computed before": "x = T([1.0, 2.0, 3.0]); y = x**2; x += 1; y.backward(); out = x, y",
    "before and after": "x = T([1.0, 2.0]); y = x**2; x *= 2; (x * y).sum().backward(); out = x, y",
    "an entry": "x = T([1.0, 2.0, 3.0]); x[0] = 3; (x * x).sum().backward(); out = x,",
    "an entry by a variable": "x, y = T([1.0, 2.0, 3.0]), T(5.0); x[:2] = y; (x * x).sum().backward(); out = x, y",
    "an entry of a result": "x = T([1.0, 2.0, 3.0]); z = x * 2; z[1] = 0; (z * z).sum().backward(); out = x, z",
    "a row": "x, y = T([[1.0, 2.0], [3.0, 4.0]]), T([[7.0], [8.0]]); z = x * x; z[:, 1:] = y; "
    "(z * z).sum().backward(); out = x, y, z",
    "broadcast rows": "x, y = T([[1.0, 2.0], [3.0, 4.0]]), T([[7.0], [8.0]]); z = x * x; z[...] = y; "
    "(z * z).sum().backward(); out = x, y, z",
    "by a mask": "x, y = T([1.0, 2.0, 3.0]), T([7.0, 8.0]); x[x.data > 1] = y; (x * x).sum().backward(); out = x, y",
    "twice in one element": "x, y = T([1.0, 2.0]), T([5.0, 6.0]); x[[0, 0]] = y; (x * 2).sum().backward(); out = x, y",
    "shifted": "x = T([1.0, 2.0, 3.0, 4.0]); w = x * 1; w[1:] = w[:-1]; (w * T([1.0, 10.0, 100.0, 1000.0])).sum()."
    "backward(); out = x, w",
    "an entry plus something": "x = T([1.0, 2.0]); x[0] += 5; (x * x).sum().backward(); out = x,",
    "a constant": "x, y = T([1.0, 2.0], constant=True), T(5.0); x += y; x[0] = y; x.sum().backward(); out = x, y",
    "integers": "x = T([1, 2]); x += 1; x[0] = 7; out = x,",
    "another dtype": "x, y = T([1.0, 2.0], dtype='float32'), T([3.0, 4.0]); x += y; x.sum().backward(); out = x, y",
    "a view": "x = T([0.0, 1.0, 2.0, 3.0]); v = x[:2]; v *= 10; (x * x).sum().backward(); out = x, v",
    "what a view sees": "x = T([0.0, 1.0, 2.0]); v = x[:2]; x[0] = 7; v.sum().backward(); out = x, v",
    "a view of a view": "x = T([0.0, 1.0, 2.0, 3.0]); v = x.reshape(2, 2).T; v[0] = T([9.0, 8.0]); "
    "(x * x).sum().backward(); out = x, v",
    "a view and its other uses": "x = T([0.0, 1.0, 2.0, 3.0]); y = x * 1; v = y[:2]; w = v * 2; v += 5; "
    "(y.sum() + w.sum()).backward(); out = x, y, v, w",
    "two views": "x = T([0.0, 1.0, 2.0]); u, v = x[:2], x[1:]; u += 1; v *= u; (x * x).sum().backward(); out = x, u, v",
    "rows in a loop": "x, y = T([[1.0, 2.0], [3.0, 4.0]]), T([5.0, 6.0])\nfor row in x: row += y\n"
    "(x * x).sum().backward(); out = x, y",
    "a view that nothing was computed from": "x = T([0.0, 1.0, 2.0]); v = x[:2]; (x * x).sum().backward(); out = x, v",
    "more axes of length 1": "x = T([1.0, 2.0]); y = x[None] * 2; z = x * 1; z[...] = y; (z * z).sum().backward(); "
    "out = x, y, z",
    "copies have no history": "x = T([1.0, 2.0]); y = x.copy(); z = x.astype('float32'); (y * y).sum().backward(); "
    "(z * z).sum().backward(); out = x, y, z",
    "ravel of a strided view": "x = T([0.0, 1.0, 2.0, 3.0]); v = x[::2].ravel(); v += 1; w = x.ravel(); w *= 2; "
    "(x * x).sum().backward(); out = x, v, w",
    "copies are no views": "x = T([0.0, 1.0]); u, v, w = x.copy(), x.flatten(), x[[0, 1]]; u += 1; v += 2; w += 3; "
    "(x * x).sum().backward(); out = x, u, v, w",
    "steps of a descent": "w = T([1.0, 2.0])\nfor _ in range(3): (w * w).sum().backward(); w += -0.1 * w.grad\n"
    "out = w,",
    "on from a result": "x = T([1.0, 2.0]); y = x * 2; y.sum().backward(); (y * 3).sum().backward(); out = x, y",
    "a ufunc's out": "x, y = T([1.0, 2.0]), T([3.0, 4.0]); z = x * 1; np.multiply(z, y, out=z); z.sum().backward(); "
    "out = x, y, z",
    "pooling": "x = T([[0.0, 10.0, 8.0], [2.0, 7.0, 3.0]]); x[0, 1] = -1; y = pool(x, (2, 2), 1); y *= y; "
    "y.sum().backward(); out = x, y",
}


def run(program: str, system: Any, pool: Any) -> list[Any]:
    names: dict[str, Any] = {"T": system.Tensor, "np": np, "pool": pool}
    exec(program, names)
    return [
        (t.data.tolist(), t.dtype, t.constant, t.grad is not None and (t.grad.tolist(), t.grad.dtype))
        for t in names["out"]
    ]


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_same_as_in_mygrad(program: str) -> None:
    from mygrad.nnet import max_pool

    assert run(program, mg, mg.max_pool) == run(program, mygrad, max_pool)


def test_the_object_stays_and_knows_its_base() -> None:
    x = mg.tensor([1.0, 2.0, 3.0])
    y, v = x, x[:2]
    assert v.base is x
    assert x.base is None
    x += 1
    assert y is x
    assert v.data.tolist() == [2.0, 3.0]
    given = np.array([1.0, 2.0])
    z = mg.tensor(given, copy=False)
    z += 1
    assert given.tolist() == [1.0, 2.0]  # as in mygrad, the Tensor changes and not the array that it was made of


def test_every_result_is_a_tensor_of_mygrad_s() -> None:
    x = mg.tensor(np.arange(16.0).reshape(4, 4))
    for out in (
        x + 1, 1 + x, np.exp(x), np.ones((4, 4)) * x, x @ x, x.sum(), x.mean(0), x[0], x.T, x.reshape(-1), np.sum(x),
        cn.max_pool(x, (2, 2)), cn.conv(x[..., None], np.ones((2, 2, 1, 1))), cn.Tensor([1.0] * 4) + x,
        copy.copy(x), pickle.loads(pickle.dumps(x)), mg.max_pool(x, (2, 2), 2),
        mg.max_pool(cn.Tensor(x.data), (2, 2), 2),
    ):  # fmt: skip
        assert isinstance(out, mg.Tensor)
        out += 1.0
    values, indices = cn.max_pool(x, (2, 2), return_indices=True)
    assert (type(values), type(indices)) == (mg.Tensor, np.ndarray)
    assert all(isinstance(part, mg.Tensor) for part in np.split(x, 2))


def test_a_tensor_of_cenote_s_is_still_not_written_into() -> None:
    x = cn.Tensor([1.0, 2.0])
    with pytest.raises(TypeError, match="a Tensor is not written into"):
        x[0] = 1
    with pytest.raises(TypeError, match=r"write x = x \+ y"):
        x += 1


@pytest.mark.parametrize(
    ("kind", "program", "message"),
    [
        (TypeError, "x = T([1, 2]); x += 0.5", "add: the result has dtype float64, which out cannot hold, of int64"),
        (ValueError, "x = T([1.0]); x += T([1.0, 2.0])", r"add: the result has shape \(2,\), out has \(1,\)"),
        (ValueError, "x = T([1.0, 2.0, 3.0]); x[:2] = [1.0, 2.0, 3.0]", "could not be broadcast"),
        (IndexError, "x = T([1.0, 2.0]); x[5] = 1", "out of bounds"),
    ],
)
def test_refusals(kind: type[Exception], program: str, message: str) -> None:
    names: dict[str, Any] = {"T": mg.Tensor}
    with pytest.raises(kind, match=message):
        exec(program, names)
    before = names["x"]
    assert before.grad is None
    with pytest.raises(kind):
        exec(program, {"T": vars(mygrad)["Tensor"]})


def test_nothing_is_lost_inside_of_a_transform() -> None:
    x = mg.tensor([1.0, 2.0])

    def f(a: Any) -> Any:
        nonlocal x
        x += a
        return x

    def g(a: Any) -> Any:
        x[0] = a[0]
        return x

    for function in (f, g):
        with pytest.raises(TypeError, match="cannot be changed in place inside of vjp"):
            cn.vjp(function, np.ones(2))
    assert x.data.tolist() == [1.0, 2.0]
