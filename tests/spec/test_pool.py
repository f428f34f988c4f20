"""The generic pool: any function folded over windows."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import cenote as cn
from cases import Case, cases, examples


def fold_by_hand(case: Case, x: Any, init: Any, fn: Any) -> Any:
    """One element at a time, from the definition."""
    axes = case.geometry.axes
    out = np.empty(case.geometry.out_shape, object)
    for place in np.ndindex(*out.shape):
        held = init
        for taps in itertools.product(*(range(axis.k) for axis in axes)):
            element = list(place)
            for axis, tap in zip(axes, taps, strict=True):
                element[axis.position] = int(axis.elements[place[axis.position], tap])
            if all(0 <= element[axis.position] < axis.n for axis in axes):
                held = fn(held, int(x[tuple(element)]))
        out[place] = held
    return out


@examples(60)
@given(cases([np.dtype("b")]))
def test_any_function_is_folded_in_row_major_order(case: Case) -> None:
    if np.prod(case.geometry.out_shape) * np.prod(case.arguments["window"]) > 5000:
        return
    x = np.asarray(case.x, np.int64)
    # Neither commutative nor associative: the order shows.
    got = cn.pool(x, init=7, reduce_fn=lambda a, b: (3 * a + b) % 1009, **case.arguments)
    expected = fold_by_hand(case, x, 7, lambda a, b: (3 * a + b) % 1009)
    np.testing.assert_array_equal(got, expected.astype(np.int64))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "complex64"])
def test_ufuncs_with_a_kernel_mean_the_same(dtype: str) -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2 if dtype == "bool" else 9, (7, 11)).astype(dtype)
    ufuncs = [np.add] if dtype == "complex64" else [np.add, np.maximum, np.minimum]
    for ufunc in ufuncs:
        window: dict[str, Any] = {"window": (3, 2), "stride": 2, "padding": ((4, 1), (2, 0))}
        fast = cn.pool(x, init=1, reduce_fn=ufunc, **window)
        slow = cn.pool(x, init=1, reduce_fn=functools.partial(ufunc), **window)
        assert fast.dtype == slow.dtype == x.dtype
        np.testing.assert_array_equal(fast, slow)


def test_integers_wrap_as_numpy_has_it() -> None:
    assert cn.pool(np.full(4, 100, np.int8), (4,), 0, np.add).item() == 400 - 512


def test_dtypes_follow_numpy() -> None:
    x = np.arange(1, 5)
    assert cn.pool(x, (2,), 1, np.true_divide).tolist() == [0.5, 1 / 12]
    assert cn.pool(x, (2,), np.float32(0), np.add).dtype == np.result_type(np.float32, np.int64)
    assert cn.pool(x.astype(np.float32), (2,), 0, np.add).dtype == np.float32
    assert cn.pool(x, (2,), 0, np.logaddexp).dtype == np.float64
    # Padding on one side only: the windows that no real element has reached yet take the new dtype too.
    got = cn.pool(x, (2,), 1, np.true_divide, padding=[(2, 0)])
    assert got.tolist() == [1, 0.5, 1 / 12]


def test_called_once_per_window_offset() -> None:
    calls = []

    def add(a: Any, b: Any) -> Any:
        calls.append(np.shape(a))
        return a + b

    for x in (np.zeros((8, 9, 10)), cn.Tensor(np.zeros((8, 9, 10))), cn.Tensor(np.zeros((8, 9, 10)), constant=True)):
        cn.pool(x, (2, 3), 0.0, add)
        assert calls == [(8, 4, 3)] * 6
        calls.clear()


def test_a_tensor_may_give_integers() -> None:
    """Only their derivative is refused."""
    out: Any = cn.pool(cn.Tensor(np.arange(4.0)), (2,), 0.0, np.greater)
    assert out.data.tolist() == [False, False]
    with pytest.raises(TypeError, match="greater has no known derivative"):
        out.backward()


def test_reducer_is_a_function() -> None:
    double = cn.reducer(lambda a, b: a + 2 * b, lambda a, b: (np.ones_like(a), np.full_like(b, 2)))
    assert cn.pool(np.arange(4.0), (2,), 0.0, double).tolist() == [2, 10]


@pytest.mark.parametrize("fn", [np.negative, np.sqrt, np.isnan, np.divmod])
def test_a_ufunc_that_does_not_take_two_arrays_leaves_x_alone(fn: np.ufunc) -> None:
    """np.sqrt(a, b) writes into b."""
    x = np.arange(1.0, 17.0).reshape(4, 4)
    for reduce_fn in (fn, cn.reducer(fn, lambda a, b: (a, b))):
        with pytest.raises(TypeError, match="a function of two arrays that returns one is needed"):
            cn.pool(x, (2, 2), 0.0, reduce_fn)
    assert np.array_equal(x, np.arange(1.0, 17.0).reshape(4, 4))
