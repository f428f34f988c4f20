"""The derivatives of convolution: adjoint exactly, right by differences, of any order, by every operand."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cenote as cn
from cases import examples
from conv_cases import ConvCase, conv_cases, reference

some = examples(150)
DOUBLE = [np.dtype("d")]


def run(x: Any, w: Any, bias: Any = None, **options: Any) -> Any:
    return cn.conv(x, w, bias=bias, **options)


# ----------------------------------------------------------------------------------------------- exactly adjoint


@some
@given(conv_cases(DOUBLE), st.integers(0, 2**32))
def test_both_modes_are_adjoint_exactly(case: ConvCase, seed: int) -> None:
    """On whole numbers, by x, w and bias at once, whatever their memory looks like."""
    rng = np.random.default_rng(seed)
    primals = case.x, case.w, case.bias

    def f(x: Any, w: Any, b: Any) -> Any:
        return cn.conv(x, w, bias=b, **case.arguments)

    tangents = [rng.integers(-4, 5, p.shape).astype(float) for p in primals]
    u = rng.integers(-4, 5, case.frame.y).astype(float)
    with case.setting():
        y, pull = cn.vjp(f, *primals)
        cotangents = pull(u)
        _, dy = cn.jvp(f, primals, tangents)
    np.testing.assert_array_equal(y, reference(case.frame, "y", {"x": case.x, "w": case.w}, case.bias))
    for got, primal in zip(cotangents, primals, strict=True):
        assert (got.shape, got.dtype) == (primal.shape, np.float64)
    assert np.sum(u * dy) == sum(np.sum(c * t) for c, t in zip(cotangents, tangents, strict=True))


@some
@given(conv_cases(DOUBLE), st.integers(0, 2**32))
def test_conv_transpose_is_the_adjoint_of_conv(case: ConvCase, seed: int) -> None:
    """The same arguments, the same w; and its own modes are adjoint in turn."""
    rng = np.random.default_rng(seed)
    sizes = tuple(axis.n for axis in case.frame.axes)
    if 0 in case.x.shape or 0 in case.y.shape:
        return  # no size of 0 can be asked for; the derivative of conv covers them
    options: dict[str, Any] = {**case.arguments, "output_shape": sizes}

    def f(y: Any, w: Any, b: Any) -> Any:
        return cn.conv_transpose(y, w, bias=b, **options)

    a, b = (rng.integers(-4, 5, shape).astype(float) for shape in (case.frame.x, case.frame.y))
    with case.setting():
        there = cn.conv_transpose(b, case.w, **options)
        assert np.sum(cn.conv(a, case.w, **case.arguments) * b) == np.sum(a * there)
        primals = b, case.w, case.back
        tangents = [rng.integers(-4, 5, p.shape).astype(float) for p in primals]
        u = rng.integers(-4, 5, case.frame.x).astype(float)
        _, pull = cn.vjp(f, *primals)
        _, dx = cn.jvp(f, primals, tangents)
    assert np.sum(u * dx) == sum(np.sum(c * t) for c, t in zip(pull(u), tangents, strict=True))


# ----------------------------------------------------------------------------------------- against differences

OPTIONS: list[dict[str, Any]] = [
    {},
    {"stride": 2},  # of 7 rows and 6 columns: something is left over
    {"stride": (3, 2), "padding": 1, "dilation": (1, 2)},
    {"stride": 2, "dilation": 2, "padding": ((2, 0), (1, 3))},
    {"padding": "same", "stride": (2, 3)},
    {"padding": "same_lower", "dilation": (2, 1), "groups": 2},
    {"groups": 4, "stride": (1, 2)},
    {"layout": "channels_first", "groups": 2, "stride": 2, "padding": (0, 2)},
]


def arrays(options: dict[str, Any], transposed: bool, seed: int = 0) -> tuple[Any, Any, Any]:
    """x, w and bias: 4 channels, 4·k outputs."""
    rng = np.random.default_rng(seed)
    inner = 4 // options.get("groups", 1)
    x, w = rng.standard_normal((2, 7, 6, 4)), rng.standard_normal((3, 2, inner, 8))
    if transposed:
        x = rng.standard_normal((2, 4, 4, 8))
    if options.get("layout") == "channels_first":
        x, w = np.moveaxis(x, -1, 1), w.transpose(3, 2, 0, 1)
    return x, w, rng.standard_normal(4 if transposed else 8)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_against_differences_to_the_second_order(options: dict[str, Any], transposed: bool) -> None:
    function = cn.conv_transpose if transposed else cn.conv
    x, w, b = arrays(options, transposed)
    cn.check_grads(lambda x, w, b: function(x, w, bias=b, **options), (x, w, b), order=2)
    y = function(x, w, bias=b, **options)
    grads = cn.grad(lambda *a: (run_with(function, options, a) ** 2).sum(), (0, 1, 2))(x, w, b)
    np.testing.assert_allclose(grads[2], 2 * y.sum(axis=tuple(i for i in range(4) if i != channel(options))))


def channel(options: dict[str, Any]) -> int:
    return 1 if options.get("layout") == "channels_first" else 3


def run_with(function: Any, options: dict[str, Any], operands: Any) -> Any:
    x, w, b = operands
    return function(x, w, bias=b, **options)


def test_the_third_order_of_something_that_has_one() -> None:
    x, w, b = arrays({}, False)

    def f(x: Any, w: Any, b: Any) -> Any:
        return np.tanh(cn.conv(np.tanh(cn.conv(x[:, :4, :4], w, bias=b)), w.reshape(3, 2, 8, 4)[:2], padding=1))

    cn.check_grads(f, (x[:1], w, b), order=3)
    u = np.ones_like(x)
    hessian = cn.jvp(cn.grad(lambda x: (cn.conv(x, w, stride=2) ** 2).sum()), (x,), (u,))[1]
    np.testing.assert_allclose(
        hessian, cn.grad(lambda x: 2 * (cn.conv(x, w, stride=2) * cn.conv(u, w, stride=2)).sum())(x)
    )


def test_second_derivatives_are_convolutions() -> None:
    """∂²/∂x∂w of Σ u·conv(x, w) is a convolution of u: bilinear, so the mixed one is all there is."""
    rng = np.random.default_rng(1)
    x, w, u = (rng.integers(-4, 5, s).astype(float) for s in ((6, 2), (3, 2, 3), (4, 3)))
    t = rng.integers(-4, 5, w.shape).astype(float)

    def by_x(w: Any) -> Any:
        return cn.grad(lambda x: (u * cn.conv(x, w)).sum())(x)

    _, mixed = cn.jvp(by_x, (w,), (t,))
    np.testing.assert_array_equal(mixed, cn.conv_transpose(u, t))
    by_xx = cn.jvp(cn.grad(lambda x: (u * cn.conv(x, w)).sum()), (x,), (x,))[1]
    assert (by_xx == 0).all()


# ----------------------------------------------------------------------------------------------------- Tensors


@pytest.mark.parametrize("function", [cn.conv, cn.conv_transpose])
@pytest.mark.parametrize("which", [w for n in (1, 2, 3) for w in itertools.combinations(range(3), n)], ids=str)
def test_tensors_in_any_place(function: Callable[..., Any], which: tuple[int, ...]) -> None:
    operands = list(arrays({}, function is cn.conv_transpose))
    expected = cn.grad(lambda *a: (run_with(function, {}, a) ** 2).sum(), (0, 1, 2))(*operands)
    held = [cn.Tensor(a) if i in which else a for i, a in enumerate(operands)]
    out = run_with(function, {}, held)
    assert isinstance(out, cn.Tensor)
    np.testing.assert_array_equal(out.data, run_with(function, {}, operands))
    (out**2).sum().backward()
    for i in which:
        np.testing.assert_allclose(np.asarray(held[i].grad), expected[i])
    constant = run_with(function, {}, [cn.Tensor(a, constant=True) for a in operands])
    assert isinstance(constant, cn.Tensor)
    assert constant.constant


def test_one_array_in_two_places() -> None:
    x = np.random.default_rng(2).standard_normal((3, 3, 3))
    cn.check_grads(lambda x: cn.conv(x, x), (x,), order=2)
    t = cn.Tensor(x)
    cn.conv(t, t).sum().backward()
    np.testing.assert_allclose(np.asarray(t.grad), cn.grad(lambda x: cn.conv(x, x).sum())(x))


# ------------------------------------------------------------------------------------------------------ dtypes


@pytest.mark.parametrize(
    ("x", "w", "b"),
    [("f4", "f8", "f4"), ("f4", "f4", "f8"), ("f2", "f4", "f2"), (ml_dtypes.bfloat16, "f4", "f4"), ("f8", "i4", "i4"),
     ("i4", "f4", "f8"), ("f4", "c8", "f4"), ("c16", "f4", "c8"), (">f8", ">f4", "<f4")],
)  # fmt: skip
def test_cotangents_have_the_dtypes_of_their_primals(x: Any, w: Any, b: Any) -> None:
    rng = np.random.default_rng(3)
    primals = [rng.integers(-3, 4, s).astype(d) for s, d in (((5, 2), x), ((3, 2, 4), w), ((4,), b))]

    def f(x: Any, w: Any, b: Any) -> Any:
        return cn.conv(x, w, bias=b)

    y, pull = cn.vjp(f, *primals)
    g = rng.integers(-3, 4, y.shape).astype(y.dtype)
    t = [rng.integers(-3, 4, p.shape).astype(p.dtype) for p in primals]
    wide = np.complex128 if y.dtype.kind == "c" else np.float64
    _, exact = cn.vjp(f, *(p.astype(wide) for p in primals))
    for got, expected, primal in zip(pull(g), exact(g.astype(wide)), primals, strict=True):
        if primal.dtype.kind == "i":
            assert got.dtype == np.float64
            assert (got == 0).all()
        else:
            assert got.dtype == primal.dtype.newbyteorder("=")
            np.testing.assert_array_equal(got, (expected if got.dtype.kind == "c" else expected.real).astype(got.dtype))
    moved = [np.zeros(p.shape) if p.dtype.kind == "i" else d for p, d in zip(primals, t, strict=True)]
    _, dy = cn.jvp(f, primals, moved)
    assert dy.dtype == y.dtype
    by_hand = cn.conv(moved[0], primals[1].astype(wide)) + cn.conv(primals[0].astype(wide), moved[1]) + moved[2]
    np.testing.assert_array_equal(dy, by_hand)


def test_a_tangent_is_convolved_in_the_dtype_of_the_result() -> None:
    """float32 x and w, which a float64 bias lifts: neither the value nor its tangent is rounded to float32."""
    rng = np.random.default_rng(5)
    x, w, dx, dw = (rng.standard_normal(s).astype(np.float32) for s in ((9, 3), (3, 3, 2), (9, 3), (3, 3, 2)))
    b = np.zeros(2)
    y, dy = cn.jvp(lambda x, w: cn.conv(x, w, bias=b), (x, w), (dx, dw))
    wide = [a.astype(np.float64) for a in (x, w, dx, dw)]
    np.testing.assert_allclose(y, cn.conv(wide[0], wide[1]), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(dy, cn.conv(wide[2], wide[1]) + cn.conv(wide[0], wide[3]), rtol=1e-13, atol=1e-14)


def test_complex_derivatives_are_transposes() -> None:
    rng = np.random.default_rng(4)
    x, w = (rng.standard_normal((*s, 2)) @ [1, 1j] for s in ((6, 2), (3, 2, 2)))
    cn.check_grads(lambda x, w: cn.conv(x, w, stride=2), (x, w), order=2)
    y, pull = cn.vjp(lambda x: cn.conv(x, w), x)
    np.testing.assert_allclose(pull(y)[0], cn.conv_transpose(y, w))  # of w, not of its conjugate


@pytest.mark.parametrize("layout", ["channels_last", "channels_first"])
@pytest.mark.parametrize("dtype", ["f2", ml_dtypes.bfloat16, "f4"])
def test_the_gradient_of_a_bias_is_a_careful_sum(layout: Any, dtype: Any) -> None:
    """70000 ones: float16 ends at 65504, bfloat16 counts to 256, and a running sum of float32 drifts."""
    x = np.ones((7, 10000, 1) if layout == "channels_last" else (7, 1, 10000), dtype)
    w = np.ones((1, 1, 1), dtype)
    _, pull = cn.vjp(lambda b: cn.conv(x, w, bias=b, layout=layout), np.zeros(1, dtype))
    g = np.full(x.shape, 0.1, dtype)
    exact = 70000 * float(g.flat[0])
    assert float(pull(g)[0][0]) == pytest.approx(exact, rel={2: 4e-3, 4: 2e-7}[g.itemsize])
