"""The derivatives of pooling: adjoint to each other exactly, right by differences, of any order, for every option."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cenote as cn
from cases import Case, cases, examples
from cenote import core
from cenote.geometry.window import parse_window

some = examples(200)
DOUBLE = [np.dtype("d")]

# Every pooling function with the options that it alone has. The functions of a window take its arguments besides.
WINDOWED: dict[str, Callable[..., Any]] = {
    "max": cn.max_pool,
    "max, omit": lambda x, **w: cn.max_pool(x, nan="omit", **w),
    "max, split": lambda x, **w: cn.max_pool(x, ties="split", **w),
    "min": cn.min_pool,
    "min, split, omit": lambda x, **w: cn.min_pool(x, ties="split", nan="omit", **w),
    "sum": cn.sum_pool,
    "sum, omit": lambda x, **w: cn.sum_pool(x, nan="omit", **w),
    "avg": cn.avg_pool,
    "avg, real elements": lambda x, **w: cn.avg_pool(x, count_include_pad=False, **w),
    "avg, divisor": lambda x, **w: cn.avg_pool(x, divisor=-3, **w),
    "avg, omit": lambda x, **w: cn.avg_pool(x, nan="omit", **w),
    "lp 1": lambda x, **w: cn.lp_pool(x, p=1, **w),
    "lp 2": cn.lp_pool,
    "lp 3.5": lambda x, **w: cn.lp_pool(x, p=3.5, **w),
    "lp inf": lambda x, **w: cn.lp_pool(x, p=np.inf, **w),
    "lp, far": lambda x, **w: cn.lp_pool(x * 1e180, **w) * 1e-180,
    "smooth": lambda x, **w: cn.smooth_max_pool(x, beta=1.5, **w),
    "smooth min": lambda x, **w: cn.smooth_max_pool(x, beta=-2.0, pad_value=1.0, **w),
    "smooth, no pads": lambda x, **w: cn.smooth_max_pool(x, pad_value=None, **w),
    "smooth, far": lambda x, **w: cn.smooth_max_pool(x * 1e3, pad_value=-1e3, **w) * 1e-3,
    "median": cn.median_pool,
    "median, omit": lambda x, **w: cn.median_pool(x, nan="omit", **w),
    "pool add": lambda x, **w: cn.pool(x, init=0.5, reduce_fn=np.add, **w),
    "pool maximum": lambda x, **w: cn.pool(x, init=0.25, reduce_fn=np.maximum, **w),
    "pool minimum": lambda x, **w: cn.pool(x, init=0.25, reduce_fn=np.minimum, **w),
    "pool multiply": lambda x, **w: cn.pool(x, init=2.0, reduce_fn=np.multiply, **w),
    "pool logaddexp": lambda x, **w: cn.pool(x, init=0.5, reduce_fn=np.logaddexp, **w),
    "pool reducer": lambda x, **w: cn.pool(
        x, init=1.0, reduce_fn=cn.reducer(lambda a, b: a * b + b, lambda a, b: (b, a + 1)), **w
    ),
}
# These have a plain sum of chosen elements, or of all of them, as their derivative: exact on integers and on halves.
EXACT = [
    "max", "max, omit", "min", "sum", "sum, omit", "median", "median, omit", "pool add", "pool maximum", "pool minimum",
]  # fmt: skip


@some
@given(cases(DOUBLE), st.sampled_from(EXACT), st.integers(0, 2**32))
def test_the_two_modes_are_adjoint_exactly(case: Case, name: str, seed: int) -> None:
    """⟨u, Jv⟩ = ⟨Jᵀu, v⟩ on whole numbers held in doubles, whatever the layout, ties, NaN and infinities of x."""
    rng = np.random.default_rng(seed)

    def f(x: Any) -> Any:
        return WINDOWED[name](x, **case.arguments)

    v = rng.integers(-9, 10, case.x.shape).astype(float)
    u = rng.integers(-9, 10, case.geometry.out_shape).astype(float)
    y, dy = cn.jvp(f, (case.x,), (v,))
    again, pull = cn.vjp(f, case.x)
    (dx,) = pull(u)
    expected = f(case.x)
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(again, expected)
    assert dx.shape == case.x.shape
    assert dx.dtype == np.float64
    assert np.sum(u * dy) == np.sum(dx * v)


@some
@given(cases(DOUBLE), st.sampled_from(["max", "min"]), st.booleans(), st.integers(0, 2**32))
def test_the_winner_of_the_value_is_the_winner_of_both_modes(case: Case, name: str, omit: bool, seed: int) -> None:
    pool: Any = {"max": cn.max_pool, "min": cn.min_pool}[name]
    nan: Any = "omit" if omit else "propagate"
    _, where = pool(case.x, nan=nan, return_indices=True, **case.arguments)
    v = np.random.default_rng(seed).standard_normal(case.x.shape)
    _, dy = cn.jvp(lambda x: pool(x, nan=nan, **case.arguments), (case.x,), (v,))
    axes = case.arguments["axes"]
    last = tuple(range(-len(axes), 0))
    batch = [n for i, n in enumerate(v.shape) if i not in axes]
    flat = np.moveaxis(v, axes, last).reshape(*batch, math.prod(v.shape[i] for i in axes))
    rows = np.moveaxis(where, axes, last).reshape(*batch, math.prod(where.shape[i] for i in axes))
    if flat.shape[-1] == 0:
        assert (where == -1).all()
        assert (dy == 0).all()
        return
    expected = np.where(rows < 0, 0, np.take_along_axis(flat, np.maximum(rows, 0), -1))
    np.testing.assert_array_equal(np.moveaxis(dy, axes, last).reshape(rows.shape), expected)


SHAPES: list[dict[str, Any]] = [
    {"window": (2, 2)},
    {"window": (3, 2), "stride": (2, 1), "padding": 1},
    {"window": (2, 3), "stride": 1, "padding": ((1, 0), (1, 2)), "dilation": (2, 1)},
    {"window": (3, 3), "stride": 2, "padding": "same", "axes": (2, 0)},
    {"window": (3,), "stride": 2, "ceil_mode": True, "dilation": 2, "axes": 1},
]


@pytest.mark.parametrize("name", WINDOWED)
def test_against_differences_to_the_second_order(name: str) -> None:
    for i, window in enumerate(SHAPES):
        # Distinct numbers away from 0: no ties, no kinks within a difference.
        rng = np.random.default_rng(i)
        x = rng.permutation(np.linspace(0.2, 1.4, 60)).reshape(3, 5, 4) * rng.choice([-1, 1], (3, 5, 4))
        cn.check_grads(lambda x, w=window: WINDOWED[name](x, **w), (x,), order=2)
        assert cn.grad(lambda x, w=window: WINDOWED[name](x, **w).sum())(x).shape == x.shape


def test_third_order_and_mixed_modes() -> None:
    x = np.random.default_rng(0).standard_normal((4, 5))
    for f in (
        lambda x: cn.smooth_max_pool(x, (2, 2), stride=1),
        lambda x: cn.lp_pool(x, (2, 3), p=4, padding=1),
        lambda x: cn.max_pool(x, (2, 2), padding=1) ** 3,
    ):
        cn.check_grads(f, (x,), order=3)

    def loss(x: Any) -> Any:
        return (cn.smooth_max_pool(x, (2, 2), beta=2.0) ** 2).sum()

    v, w = np.ones_like(x), np.arange(20.0).reshape(4, 5)
    forward_reverse = cn.jvp(cn.grad(loss), (x,), (v,))[1]
    reverse_reverse = cn.grad(lambda x: (cn.grad(loss)(x) * v).sum())(x)
    reverse_forward = cn.grad(lambda x: cn.jvp(loss, (x,), (v,))[1])(x)
    _, push = cn.linearize(cn.grad(loss), x)
    np.testing.assert_allclose(forward_reverse, reverse_reverse, rtol=1e-12)
    np.testing.assert_allclose(forward_reverse, reverse_forward, rtol=1e-12)
    np.testing.assert_allclose(forward_reverse, push(v), rtol=1e-12)
    np.testing.assert_allclose((push(v) * w).sum(), (push(w) * v).sum(), rtol=1e-12)  # the Hessian is symmetric


def test_the_hessian_of_a_maximum() -> None:
    x = np.arange(9.0).reshape(3, 3)
    slope = cn.grad(lambda x: (cn.max_pool(x, (2, 2), stride=1) ** 2).sum())
    assert cn.jvp(slope, (x,), (np.ones_like(x),))[1].sum() == 8


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", ["max", "max, split", "sum", "avg", "lp 2", "smooth", "pool multiply"])
def test_a_gradient_has_the_dtype_of_its_input(name: str, dtype: str) -> None:
    if dtype.startswith("complex") and name not in ("sum", "avg", "pool multiply"):
        with pytest.raises(TypeError, match="complex"):
            WINDOWED[name](np.zeros(4, dtype), window=(2,))
        return
    kind = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    x = np.array([1, 2, 4, 3, 2, 1]).astype(kind)
    y, pull = cn.vjp(lambda x: WINDOWED[name](x, window=(2,)), x)
    g = np.ones(y.shape, y.dtype)
    (dx,) = pull(g)
    assert dx.dtype == kind
    assert y.dtype == kind
    assert cn.jvp(lambda x: WINDOWED[name](x, window=(2,)), (x,), (np.ones_like(x),))[1].dtype == kind
    wide = x.astype(np.complex128 if kind.kind == "c" else np.float64)
    (expected,) = cn.vjp(lambda x: WINDOWED[name](x, window=(2,)), wide)[1](g.astype(wide.dtype))
    np.testing.assert_allclose(dx.astype(wide.dtype), expected, rtol=0.02)


def test_complex_derivatives_are_not_conjugated() -> None:
    z = np.array([1 + 2j, 3 - 1j, 1j, 2.0])
    _, pull = cn.vjp(lambda z: cn.sum_pool(z * 1j, (2,)), z)
    np.testing.assert_array_equal(pull(np.array([1.0, 1j]))[0], [1j, 1j, -1, -1])
    _, slope = cn.jvp(lambda z: cn.avg_pool(z * z, (2,)), (z,), (np.full(4, 1j),))
    np.testing.assert_array_equal(slope, 1j * cn.sum_pool(z, (2,)))


def test_integers_are_constant() -> None:
    y, pull = cn.vjp(lambda x: cn.avg_pool(x, (2,)), np.arange(4))
    assert y.tolist() == [0.5, 2.5]
    (dx,) = pull(np.ones(2))
    assert dx.dtype == np.float64
    assert dx.tolist() == [0, 0, 0, 0]


def test_split_shares_equally() -> None:
    x = np.array([[1.0, 5.0, 5.0], [5.0, 0.0, 5.0]])
    (dx,) = cn.vjp(lambda x: cn.max_pool(x, (2, 3), ties="split"), x)[1](np.array([[8.0]]))
    assert dx.tolist() == [[0, 2, 2], [2, 0, 2]]
    # Of several NaN the first; of infinities and signed zeros all.
    assert derivative(cn.max_pool, [1, np.nan, np.nan], ties="split") == [0, 1, 0]
    assert derivative(cn.max_pool, [-np.inf, -np.inf], ties="split") == [0.5, 0.5]
    assert derivative(cn.max_pool, [-0.0, 0.0, -1.0], ties="split") == [0.5, 0.5, 0]
    assert derivative(cn.min_pool, [2, 2, 3, np.nan], ties="split", nan="omit") == [0.5, 0.5, 0, 0]


def derivative(pool: Any, x: list[float], **options: Any) -> list[float]:
    """Of one window over all of x, by both modes, which must agree."""
    data = np.array(x, float)

    def f(x: Any) -> Any:
        return pool(x, (len(data),), **options)

    (pulled,) = cn.vjp(f, data)[1](np.ones(1))
    pushed = [float(cn.jvp(f, (data,), (unit,))[1][0]) for unit in np.eye(len(data))]
    np.testing.assert_array_equal(pulled, pushed)
    return pulled.tolist()  # type: ignore[no-any-return]


def test_awkward_numbers() -> None:
    assert derivative(cn.max_pool, [1, np.nan, 5, np.nan, 2]) == [0, 1, 0, 0, 0]
    assert derivative(cn.max_pool, [1, np.nan, 5, np.nan, 2], nan="omit") == [0, 0, 1, 0, 0]
    assert derivative(cn.max_pool, [-np.inf, -np.inf]) == [1, 0]
    assert derivative(cn.max_pool, [np.nan, np.nan], nan="omit") == [0, 0]
    assert derivative(cn.avg_pool, [1, np.nan, 5, 3], nan="omit", divisor=2) == [0.5, 0, 0.5, 0.5]
    assert derivative(cn.sum_pool, [np.nan, np.nan], nan="omit") == [0, 0]
    assert derivative(cn.sum_pool, [np.inf, 1]) == [1, 1]
    assert derivative(cn.lp_pool, [0, 0, 0]) == [0, 0, 0]
    np.testing.assert_allclose(derivative(cn.lp_pool, [0, 3, -4]), [0, 0.6, -0.8], rtol=1e-15)
    assert derivative(cn.lp_pool, [0, 3, -4], p=1) == [0, 1, -1]
    assert derivative(cn.lp_pool, [3, -4, 4], p=np.inf) == [0, -1, 0]
    assert derivative(cn.lp_pool, [0.0, 0.25], p=0.5) == [0, 1]
    np.testing.assert_allclose(derivative(cn.lp_pool, [3e300, -4e300]), [0.6, -0.8], rtol=1e-12)
    np.testing.assert_allclose(derivative(cn.lp_pool, [3e-300, -4e-300]), [0.6, -0.8], rtol=1e-12)
    assert derivative(cn.smooth_max_pool, [np.inf, 1, np.inf]) == [0.5, 0, 0.5]
    assert derivative(cn.smooth_max_pool, [-np.inf, -np.inf]) == [0.5, 0.5]
    assert derivative(cn.smooth_max_pool, [-np.inf, 3, 1], beta=-1) == [1, 0, 0]
    assert derivative(cn.smooth_max_pool, [1e20, -1e20], beta=1e20) == [1, 0]
    assert derivative(cn.smooth_max_pool, [1e20, -1e20], beta=-1e20) == [0, 1]
    np.testing.assert_allclose(derivative(cn.smooth_max_pool, [1000, 1000, -1000]), [0.5, 0.5, 0], rtol=1e-12)
    assert derivative(cn.pool, [2, 0, 3], init=1.0, reduce_fn=np.multiply) == [0, 6, 0]
    assert derivative(cn.pool, [0, 0, 3], init=1.0, reduce_fn=np.multiply) == [0, 0, 0]
    assert derivative(cn.pool, [1, 2, 2], init=2.0, reduce_fn=np.maximum) == [0, 0, 0]
    assert derivative(cn.pool, [1, 2, 2], init=0.0, reduce_fn=np.maximum) == [0, 1, 0]


@pytest.mark.parametrize("fn", [np.multiply, cn.reducer(np.multiply, lambda a, b: (b, a))])
def test_a_fold_starts_from_a_constant_in_every_window(fn: Any) -> None:
    """The first window begins one element later than the others: 1·inf, whose tangent is 1, not 0·inf + 1."""

    def f(x: Any) -> Any:
        return cn.pool(x, (2,), 1.0, fn, stride=1, padding=1)

    with np.errstate(invalid="ignore"):
        y, dy = cn.jvp(f, (np.array([np.inf, 2.0]),), (np.ones(2),))
    assert y.tolist() == [np.inf, np.inf, 2]
    assert dy.tolist() == [1, np.inf, 1]


def test_smooth_max_golden_derivative() -> None:
    x = np.arange(1.0, 10.0).reshape(3, 3)
    got = cn.grad(lambda x: cn.smooth_max_pool(x, (2, 2), stride=1, beta=0.5).sum())(x)
    expected = [
        [0.0688730543, 0.1824255238, 0.1135524695],
        [0.3775406688, 1, 0.6224593312],
        [0.3086676145, 0.8175744762, 0.5089068617],
    ]
    np.testing.assert_allclose(got, expected, rtol=1e-8)
    # Padded elements take their share of the sum and give nothing back.
    padded = cn.grad(lambda x: cn.smooth_max_pool(x, (2, 2), stride=2, padding=1).sum())(np.zeros((2, 2)))
    np.testing.assert_allclose(padded, np.full((2, 2), 0.25), rtol=1e-14)


def test_windows_without_a_element_have_no_derivative() -> None:
    for f in WINDOWED.values():
        y, pull = cn.vjp(lambda x, f=f: f(x, window=(1,), padding=2), np.ones(1))
        assert np.isfinite(pull(np.ones(y.shape))[0]).all()
        _, dy = cn.jvp(lambda x, f=f: f(x, window=(1,), padding=2), (np.ones(1),), (np.ones(1),))
        assert (dy[[0, 1, 3, 4]] == 0).all()


@pytest.mark.parametrize("name", WINDOWED)
def test_empty_batches_pass_in_both_modes(name: str) -> None:
    x = np.zeros((0, 4, 4))
    y, pull = cn.vjp(lambda x: WINDOWED[name](x, window=(2, 2)), x)
    assert pull(np.zeros(y.shape))[0].shape == x.shape
    assert cn.jvp(lambda x: WINDOWED[name](x, window=(2, 2)), (x,), (x,))[1].shape == (0, 2, 2)


def test_adaptive_global_and_unpool() -> None:
    rng = np.random.default_rng(3)
    x = rng.permutation(np.linspace(-1, 1, 70)).reshape(2, 5, 7)
    cn.check_grads(lambda x: cn.adaptive_avg_pool(x, (3, 4)), (x,))
    cn.check_grads(lambda x: cn.adaptive_avg_pool(x, (8, 9)), (x,))
    cn.check_grads(lambda x: cn.adaptive_max_pool(x, (3, 4)) ** 2, (x,))
    cn.check_grads(lambda x: cn.global_avg_pool(x, axes=(0, 2)) ** 2, (x,))
    cn.check_grads(lambda x: cn.global_max_pool(x, axes=1) ** 2, (x,))
    _, where = cn.max_pool(x, (2, 2), axes=(2, 1), return_indices=True)
    cn.check_grads(lambda y: cn.max_unpool(y, where, (2, 2), axes=(2, 1), output_shape=(7, 5)) ** 2, (where / 10,))
    # Of two values for one element the last one stays, and its derivative with it; -1 has none.
    _, pull = cn.vjp(lambda y: cn.max_unpool(y, [1, 1, -1], (1,), output_shape=(4,)), np.array([5.0, 6.0, 7.0]))
    assert pull(np.array([1.0, 2.0, 3.0, 4.0]))[0].tolist() == [0, 2, 0]


def test_a_function_without_a_derivative_says_what_to_give() -> None:
    x = np.arange(4.0)
    y = cn.pool(cn.Tensor(x), (2,), 0.0, lambda a, b: a + b)
    assert y.tolist() == [1, 5]
    message = r"pool: <lambda> has no known derivative. Give it one with cn.reducer\(fn, partials\)"
    with pytest.raises(TypeError, match=message):
        y.sum().backward()
    with pytest.raises(TypeError, match=message):
        cn.jvp(lambda x: cn.pool(x, (2,), 0.0, lambda a, b: a + b), (x,), (x,))


def test_offsets_are_small_and_only_made_for_a_derivative(monkeypatch: pytest.MonkeyPatch) -> None:
    for window, dtype in (((15, 17), "uint8"), ((16, 16), "uint16"), ((255, 257), "uint16"), ((256, 256), "uint32")):
        geometry = parse_window(window, 1).on((260, 260))
        assert core.offset_dtype(geometry) == dtype
    calls = []
    real = core.run

    def recorded(*args: Any) -> Any:
        calls.append(args[-1])
        return real(*args)

    monkeypatch.setattr(core, "run", recorded)
    x = np.arange(8.0)
    cn.max_pool(x, (2,))
    cn.max_pool(cn.Tensor(x, constant=True), (2,))
    assert calls == [None, None]
    cn.max_pool(cn.Tensor(x), (2,))
    assert calls.pop() == np.uint8
    values, indices = cn.max_pool(cn.Tensor(x), (2,), return_indices=True)  # one run of the kernel gives both
    assert calls == [None, None, np.uint8]
    np.testing.assert_array_equal(values.data, x[indices])
