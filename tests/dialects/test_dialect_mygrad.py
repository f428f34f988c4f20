"""cenote.dialects.mygrad vs. the installed mygrad, and the examples of its documentation number for number."""

from __future__ import annotations

import inspect
import itertools
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from mygrad import tensor as real_tensor  # type: ignore[attr-defined]  # it does not list what it exports
from mygrad.nnet import conv_nd as real_conv_nd
from mygrad.nnet import max_pool as real_max_pool
from numpy.typing import NDArray

import cenote as cn
from cenote.dialects import mygrad as mg

Array = NDArray[Any]


# ---------------------------------------------------------------------------------------- what its users read


def test_two_axes_of_a_matrix() -> None:
    x = mg.Tensor([[0.0, 10.0, 8.0], [2.0, 7.0, 3.0], [5.0, 7.0, 20.0]])
    out = mg.max_pool(x, pool=(2, 2), stride=1)
    assert repr(out) == "Tensor([[10., 10.],\n        [ 7., 20.]])"
    out.sum().backward()
    assert repr(x.grad) == "array([[0., 2., 0.],\n       [0., 1., 0.],\n       [0., 0., 1.]])"


def test_rows_of_a_matrix() -> None:
    x = mg.Tensor([[0.0, 10.0, 8.0], [9.0, 7.0, 3.0], [5.0, 0.0, 20.0]])
    assert repr(mg.max_pool(x, pool=(2,), stride=1)) == "Tensor([[10., 10.],\n        [ 9.,  7.],\n        [ 5., 20.]])"


def test_the_last_axes_of_a_batch() -> None:
    x = mg.Tensor(np.random.default_rng(0).random((10, 3, 12, 12)))
    assert mg.max_pool(x, (2, 2), (2, 1)).shape == (10, 3, 6, 11)
    assert mg.max_pool(x, (3, 2, 2), (1, 2, 1)).shape == (10, 1, 6, 11)


@pytest.mark.parametrize(
    "data",
    [
        3.0, 3, [1.5, -2.0], [[1, 2], [3, 4]], [True, False], [], np.zeros((0, 2)), np.arange(2000.0),
        np.array([1, 2], "f"), np.array([[1e-3, 1e3]], "e"), np.array([1], "b"), np.full((2, 2, 2), np.nan),
        np.arange(30.0).reshape(3, 10) / 7,
    ],
)  # fmt: skip
def test_a_tensor_looks_like_mygrads(data: Any) -> None:
    assert repr(mg.tensor(data)) == repr(real_tensor(data))


# ------------------------------------------------------------------------------------------------- signatures


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(mg.max_pool, real_max_pool), (mg.conv_nd, real_conv_nd), (mg.tensor, real_tensor)],
    ids=["max_pool", "conv_nd", "tensor"],
)
def test_signatures_are_those_of_mygrad(ours: Any, theirs: Any) -> None:
    mine, real = (inspect.signature(f).parameters.values() for f in (ours, theirs))
    assert [(p.name, p.default, p.kind) for p in mine] == [(p.name, p.default, p.kind) for p in real]


def test_the_names() -> None:
    assert mg.__all__ == ["Tensor", "conv_nd", "max_pool", "tensor"]
    assert issubclass(mg.Tensor, cn.Tensor)


# ------------------------------------------------------------------------------------- values and derivatives

GRID = list(
    itertools.product([(6,), (2, 5), (2, 3, 4), (2, 2, 4, 5)], [(1,), (2,), (3,), (2, 2), (2, 3), (1, 2, 2)], [1, 2, 3])
)


def outcome(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except (ValueError, AssertionError) as failure:
        return failure


@pytest.mark.parametrize(("shape", "pool", "stride"), GRID)
def test_values_and_gradients(shape: tuple[int, ...], pool: tuple[int, ...], stride: Any) -> None:
    """Refused by both, or the same in both; ties are everywhere."""
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, shape).astype(float)
    mine, real = mg.tensor(x), real_tensor(x)
    ours, theirs = outcome(mg.max_pool, mine, pool, stride), outcome(real_max_pool, real, pool, stride)
    if isinstance(theirs, Exception):
        assert isinstance(ours, ValueError)
        assert re.match(r"max_pool: (pool|stride)=", str(ours))
        return
    np.testing.assert_array_equal(ours.data, theirs.data)
    g = rng.standard_normal(ours.shape)
    ours.backward(g)
    theirs.backward(g)
    np.testing.assert_allclose(np.asarray(mine.grad), np.asarray(real.grad), rtol=1e-15)
    np.testing.assert_array_equal(ours.grad, theirs.grad)
    # The same by functions, and forward mode is the transpose of it.
    _, pull = cn.vjp(lambda a: mg.max_pool(a, pool, stride), x)
    np.testing.assert_array_equal(pull(g)[0], mine.grad)
    t = rng.standard_normal(shape)
    _, tangent = cn.jvp(lambda a: mg.max_pool(a, pool, stride), (x,), (t,))
    np.testing.assert_allclose((tangent * g).sum(), (t * pull(g)[0]).sum())


def test_most_of_the_grid_is_legal() -> None:
    legal = [case for case in GRID if not isinstance(outcome(real_max_pool, np.zeros(case[0]), *case[1:]), Exception)]
    assert len(GRID) > len(legal) > len(GRID) // 3


@pytest.mark.parametrize("dtype", [np.dtype(t) for t in "?bBhHiIqQefd"], ids=str)
def test_dtypes(dtype: np.dtype[Any]) -> None:
    x = np.random.default_rng(0).integers(0, 9, (3, 8)).astype(dtype)
    ours, theirs = mg.max_pool(mg.tensor(x), (2,), 2), real_max_pool(real_tensor(x), (2,), 2)
    assert (ours.dtype, ours.constant) == (theirs.dtype, theirs.constant)
    np.testing.assert_array_equal(ours.data, theirs.data)
    if not ours.constant:
        held = mg.tensor(x)
        mg.max_pool(held, (2,), 2).backward()
        assert held.grad is not None
        assert held.grad.dtype == dtype


def test_bfloat16_which_mygrad_lacks() -> None:
    x = mg.tensor([1.0, 2.0, 4.0, 3.0], dtype=ml_dtypes.bfloat16)
    mg.max_pool(x, (2,), 2).backward()
    assert x.grad is not None
    assert x.grad.dtype == ml_dtypes.bfloat16
    assert x.grad.tolist() == [0, 1, 1, 0]


def test_the_first_nan_is_followed_and_an_empty_batch_passes() -> None:
    x = mg.tensor([1.0, np.nan, 5.0, np.nan])
    out = mg.max_pool(x, (4,), 1)
    assert np.isnan(out.data).all()
    out.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0, 1, 0, 0]
    empty = mg.tensor(np.zeros((0, 4)))
    mg.max_pool(empty, (2,), 2).backward()  # a ValueError in mygrad
    assert empty.grad is not None
    assert empty.grad.shape == (0, 4)


# ---------------------------------------------------------------------------------------------------- constant


@pytest.mark.parametrize("constant", [None, True, False])
@pytest.mark.parametrize("given", ["array", "list", "variable", "constant"])
def test_constant(given: str, constant: bool | None) -> None:
    x = np.array([1.0, 2.0, 4.0, 3.0])

    def run(tensor: Any, max_pool: Any) -> Any:
        held = {"array": x, "list": x.tolist(), "variable": tensor(x), "constant": tensor(x, constant=True)}[given]
        out = max_pool(held, (2,), 2, constant=constant)
        if not out.constant:
            out.backward()
        grad = getattr(held, "grad", None)
        return out.constant, None if grad is None else grad.tolist(), out.data.tolist()

    assert run(mg.tensor, mg.max_pool) == run(real_tensor, real_max_pool)


def test_only_a_tensor_is_given_back_whatever_comes_in() -> None:
    for x in (np.zeros(4), [0.0, 0.0], np.zeros(4, int), mg.Tensor([1.0, 2.0])):
        assert type(mg.max_pool(x, (2,), 2)) is mg.Tensor


# ------------------------------------------------------------------------------------------------------ tensor


def described(t: Any) -> Any:
    return t.data.tolist(), t.dtype, t.shape, t.constant


@pytest.mark.parametrize("options", [
    {}, {"dtype": "float32"}, {"dtype": np.int16}, {"dtype": float}, {"constant": True}, {"ndmin": 3}, {"ndmin": -1},
    {"copy": False}, {"copy": False, "ndmin": 2}, {"copy": False, "dtype": "f"}, {"constant": True, "copy": False},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("data", [3, 2.5, [1, 2], [[1.0, 2.0]], np.array([1, 2], "f"), [True]], ids=str)
@pytest.mark.parametrize("wrapped", [False, True])
def test_tensor(data: Any, options: dict[str, Any], wrapped: bool) -> None:
    ours = mg.tensor(mg.tensor(data) if wrapped else data, **options)
    theirs = real_tensor(real_tensor(data) if wrapped else data, **options)
    assert described(ours) == described(theirs)


def test_copies_and_what_is_shared() -> None:
    x = np.array([1.0, 2.0])
    assert mg.tensor(x, copy=False).data is x
    assert not np.shares_memory(mg.tensor(x).data, x)
    held = mg.tensor(x)
    assert mg.tensor(held, copy=False) is held
    assert mg.tensor(held, copy=False, constant=True) is not held
    # More axes of the same Tensor are a function of it; a copy has a history of its own.
    (mg.tensor(held, copy=False, ndmin=2) * 3.0).sum().backward()
    assert held.grad is not None
    assert held.grad.tolist() == [3.0, 3.0]
    held.null_grad()
    (mg.tensor(held) * 3.0).sum().backward()
    assert held.grad is None


# ------------------------------------------------------------------------------------------------------ errors

REFUSED = [
    (TypeError, "max_pool(x, 2, 2)", "pool=2: "),
    (TypeError, "max_pool(x, (2.0,), 2)", "pool=(2.0,): ints are needed, not the float 2.0"),
    (TypeError, "max_pool(x, (True,), 2)", "pool=(True,): ints are needed"),
    (TypeError, "max_pool(x, (2,), 2.5)", "stride=2.5: an int or a tuple of ints is needed, not a float"),
    (TypeError, "max_pool(x, (2,), (2.5,))", "stride=(2.5,): ints are needed"),  # mygrad makes a 2 of it
    (TypeError, "max_pool(x, (2,), None)", "stride=None: "),
    (TypeError, "max_pool(x, (2,), 2, constant=1)", "constant=1: True or False is needed"),
    (TypeError, "max_pool(x * 1j, (2,), 2)", "x has dtype complex128: complex numbers have no order"),
    (TypeError, "max_pool('x', (2,), 2)", "x is a str"),
    (ValueError, "max_pool(x, (), 2)", "pool=() is empty"),
    (ValueError, "max_pool(x, (0,), 2)", "pool=(0,): 0 is too small"),
    (ValueError, "max_pool(x, (2,), 0)", "stride=0 is too small"),
    (ValueError, "max_pool(x, (2,), (1, 1))", "stride=(1, 1) has 2 entries"),
    (ValueError, "max_pool(x, (2, 2), 1)", "pool=(2, 2) has 2 axes, shape (6,) has 1: 1 too many"),
    (ValueError, "max_pool(x, (7,), 1)", "pool=(7,) on shape (6,) does not fit on axis 0: it needs 7 elements"),
    (ValueError, "max_pool(x, (3,), 2)", "stride=2 does not bring pool=(3,) to the end of shape (6,): 1 element"),
    (ValueError, "max_pool(x[:0], (1,), 1)", "pool=(1,) on shape (0,) does not fit"),
    (ValueError, "max_pool(x.astype(int), (2,), 2, constant=False)", "constant=False: data of dtype int64 is constant"),
    (TypeError, "tensor(1j)", "arr_like has dtype complex128: mygrad knows real numbers only"),
    (TypeError, "tensor('a')", "arr_like is a str"),
    (TypeError, "tensor(x, dtype=complex)", "dtype=<class 'complex'>: bool, an integer type"),
    (TypeError, "tensor(x, dtype='no')", "dtype='no' is no dtype"),
    (TypeError, "tensor(x, np.longdouble)", "dtype=<class 'numpy.longdouble'>: bool"),
    (TypeError, "tensor(x, constant=1)", "constant=1: True or False is needed"),
    (TypeError, "tensor(x, ndmin=1.5)", "ndmin=1.5: an int"),
    (ValueError, "tensor(x, ndmin=65)", "ndmin=65 is too large"),
    (ValueError, "tensor([1, 2], constant=False)", "constant=False: data of dtype int64 is constant"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "call", "cause"), REFUSED)
def test_refusals(kind: type[Exception], call: str, cause: str) -> None:
    with pytest.raises(kind) as caught:
        eval(f"mg.{call}", {"mg": mg, "np": np, "x": np.arange(6.0)})
    assert type(caught.value) is kind
    assert str(caught.value).startswith(f"{call.partition('(')[0]}: {cause}")
