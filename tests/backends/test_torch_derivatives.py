"""Derivatives on torch tensors: those of our own engine to the bit, by every way that torch has, and to every order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import forward_ad, gradcheck, gradgradcheck
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

import cenote as cn
from cases import FLOATS, Case, cases, examples, same_bits
from other_backends import outcome
from torch_arrays import to_numpy, to_torch
from vocabulary import DIFFERENTIABLE, POOLS, Convolution, Function, convolutions, derivative, one_nan

Tensor = torch.Tensor
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch calls what it deprecates


def by_backward(f: Function, x: Tensor, g: Tensor, t: Tensor) -> Tensor:
    x = x.detach().clone().requires_grad_()
    (out,) = torch.autograd.grad(f(x), x, g)
    return out


def by_forward(f: Function, x: Tensor, g: Tensor, t: Tensor) -> Tensor | None:
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(f(forward_ad.make_dual(x, t))).tangent
        return None if tangent is None else tangent.clone()


def twice(f: Function, x: Tensor, g: Tensor, t: Tensor) -> Tensor | None:
    """Forward over reverse, without torch.func."""
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.detach().clone().requires_grad_(), t)
        (out,) = torch.autograd.grad(f(dual), dual, g, create_graph=True)
        tangent = forward_ad.unpack_dual(out).tangent
        return torch.zeros_like(x) if tangent is None else tangent.clone()


WAYS: dict[tuple[str, str], Function] = {
    ("vjp", "backward"): by_backward,
    ("vjp", "torch.func"): lambda f, x, g, t: vjp(f, x)[1](g)[0],
    ("jvp", "dual numbers"): by_forward,
    ("jvp", "torch.func"): lambda f, x, g, t: jvp(f, (x,), (t,))[1],
    ("jvp of vjp", "dual numbers"): twice,
    ("jvp of vjp", "torch.func"): lambda f, x, g, t: jvp(lambda x: vjp(f, x)[1](g)[0], (x,), (t,))[1],
}


# torch itself derives a reducer's function, and signs zeros as it likes.
BY_OUR_RULES = [name for name in DIFFERENTIABLE if name != "pool reducer"]


@examples(250)
@given(cases(FLOATS), st.sampled_from(BY_OUR_RULES), st.sampled_from(sorted(WAYS)))
def test_derivatives_have_the_bits_of_our_own_engine(case: Case, name: str, way: tuple[str, str]) -> None:
    mode, _ = way
    reference = derivative(case, name, mode)
    expected = None if reference is None else outcome(lambda: reference(case.x))
    if expected is None or isinstance(expected, str):
        return
    y = outcome(lambda: POOLS[name](case.x, **case.arguments))
    rng = np.random.default_rng(1)  # as vocabulary.derivative has them
    g = rng.integers(-9, 10, y.shape).astype(y.dtype)
    t = rng.integers(-9, 10, case.x.shape).astype(case.x.dtype.newbyteorder("="))
    with np.errstate(all="ignore"):
        got = WAYS[way](lambda x: POOLS[name](x, **case.arguments), *map(to_torch, (case.x, g, t)))
    mine = to_numpy(got)
    if mode == "jvp of vjp":  # a zero that one of them computes as a product, and the other not at all, may have a sign
        mine, expected = mine + np.zeros((), mine.dtype), expected + np.zeros((), expected.dtype)
    assert same_bits(one_nan(mine), one_nan(expected))


@examples(60)
@given(convolutions(), st.sampled_from(["vjp", "jvp"]))
def test_convolution(case: Convolution, mode: str) -> None:
    x, w, bias, how, transposed = case
    function: Function = cn.conv_transpose if transposed else cn.conv

    def f(x: Any, w: Any, bias: Any) -> Any:
        return function(x, w, bias=bias, **how)

    y = outcome(lambda: f(x, w, bias))
    if isinstance(y, str):
        return
    rng = np.random.default_rng(0)
    arrays = (x, w, bias)
    if mode == "vjp":
        g = rng.standard_normal(y.shape).astype(y.dtype)
        expected = cn.vjp(f, *arrays)[1](g)
        inputs = [to_torch(a).clone().requires_grad_() for a in arrays]
        got = torch.autograd.grad(f(*inputs), inputs, to_torch(g))
    else:
        tangents = tuple(rng.standard_normal(a.shape).astype(a.dtype) for a in arrays)
        expected = (cn.jvp(f, arrays, tangents)[1],)
        got = (jvp(f, tuple(map(to_torch, arrays)), tuple(map(to_torch, tangents)))[1],)
    rough = 1e-4 if x.dtype == np.float32 else 1e-10
    for mine, real in zip(got, expected, strict=True):
        np.testing.assert_allclose(to_numpy(mine), real, rtol=rough, atol=rough * np.abs(real).max(initial=1))


# ------------------------------------------------------------------------------------------------- torch's own checks


def square(fn: Function) -> Function:
    return cn.reducer(fn, lambda a, b: (torch.ones_like(a), 2 * b))


W: dict[str, Any] = {"window": (2, 2), "stride": 1, "padding": ((1, 0), (0, 1)), "axes": (2, 1)}
CHECKED: dict[str, tuple[Function, list[tuple[int, ...]]]] = {
    "max": (lambda x: cn.max_pool(x, **W), [(1, 3, 4)]),
    "max indices": (lambda x: cn.max_pool(x, return_indices=True, **W)[0], [(1, 3, 4)]),
    "min omit": (lambda x: cn.min_pool(x, nan="omit", **W), [(1, 3, 4)]),
    "max split": (lambda x: cn.max_pool(x, ties="split", **W), [(1, 3, 4)]),
    "max dilated, ceil": (
        lambda x: cn.max_pool(x, (2, 2), dilation=2, stride=2, ceil_mode=True, padding=1),
        [(1, 3, 4)],
    ),
    "sum": (lambda x: cn.sum_pool(x, **W), [(1, 3, 4)]),
    "sum omit": (lambda x: cn.sum_pool(x, nan="omit", **W), [(1, 3, 4)]),
    "avg": (lambda x: cn.avg_pool(x, **W), [(1, 3, 4)]),
    "avg valid": (lambda x: cn.avg_pool(x, count_include_pad=False, **W), [(1, 3, 4)]),
    "avg divisor": (lambda x: cn.avg_pool(x, divisor=-3, **W), [(1, 3, 4)]),
    "avg omit": (lambda x: cn.avg_pool(x, nan="omit", **W), [(1, 3, 4)]),
    "lp 3": (lambda x: cn.lp_pool(x, p=3.0, **W), [(1, 3, 4)]),
    "lp 1.5": (lambda x: cn.lp_pool(x, p=1.5, **W), [(1, 3, 4)]),
    "lp inf": (lambda x: cn.lp_pool(x, p=np.inf, **W), [(1, 3, 4)]),
    "smooth": (lambda x: cn.smooth_max_pool(x, beta=1.5, **W), [(1, 3, 4)]),
    "smooth min, no pads": (lambda x: cn.smooth_max_pool(x, beta=-0.5, pad_value=None, **W), [(1, 3, 4)]),
    "median": (lambda x: cn.median_pool(x, **W), [(1, 3, 4)]),
    "adaptive max": (lambda x: cn.adaptive_max_pool(x, (2, 3)), [(1, 3, 4)]),
    "adaptive avg": (lambda x: cn.adaptive_avg_pool(x, (2, 3)), [(1, 3, 4)]),
    "global max": (lambda x: cn.global_max_pool(x, axes=(0, 2)), [(2, 2, 3)]),
    "global avg": (lambda x: cn.global_avg_pool(x, axes=(0, 2)), [(2, 2, 3)]),
    "unpool": (lambda y: cn.max_unpool(y, torch.tensor([[3, 0, 3, -1]]), (2,), output_shape=(6,)), [(1, 4)]),
    "pool max": (lambda x: cn.pool(x, init=-0.1, reduce_fn=np.maximum, **W), [(1, 3, 4)]),
    "pool product": (lambda x: cn.pool(x, init=1.0, reduce_fn=torch.mul, **W), [(1, 3, 4)]),
    "pool power": (lambda x: cn.pool(x.square() + 1, init=1.1, reduce_fn=np.power, **W), [(1, 3, 4)]),
    "pool function": (lambda x: cn.pool(x, init=0.5, reduce_fn=lambda a, b: a * b.sin() + b, **W), [(1, 3, 4)]),
    "pool reducer": (lambda x: cn.pool(x, init=0.0, reduce_fn=square(lambda a, b: a + b * b), **W), [(1, 3, 4)]),
    "conv": (
        lambda x, w, b: cn.conv(x, w, bias=b, stride=2, padding=1, dilation=2, groups=2, layout="channels_first"),
        [(1, 2, 4, 3), (4, 1, 2, 2), (4,)],
    ),
    "conv, channels last": (lambda x, w: cn.conv(x, w, padding="same"), [(4, 2), (3, 2, 2)]),
    "conv_transpose": (
        lambda x, w, b: cn.conv_transpose(x, w, bias=b, stride=2, padding=1, output_padding=1, groups=2),
        [(3, 2), (3, 2, 2), (4,)],
    ),
    "correlate": (lambda x, k: cn.correlate(x, k, mode="same"), [(3, 4), (2, 3)]),
    "convolve": (lambda x, k: cn.convolve(x, k, stride=2), [(2, 4), (3,)]),
}


def inputs_of(name: str, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, dtype=dtype, generator=generator) for shape in CHECKED[name][1]]


@pytest.mark.parametrize("name", CHECKED)
def test_gradcheck(name: str) -> None:
    f = CHECKED[name][0]
    inputs = [x.requires_grad_() for x in inputs_of(name)]
    by_torch = ("pool reducer", "pool product", "pool power", "pool max")  # which torch.func batches, gradcheck cannot
    batched = name not in by_torch
    assert gradcheck(
        f,
        inputs,
        check_undefined_grad=True,
        check_forward_ad=True,
        check_batched_grad=batched,
        check_batched_forward_grad=batched,
    )
    assert gradgradcheck(f, inputs, check_fwd_over_rev=True, check_batched_grad=batched)


@pytest.mark.parametrize(
    "f",
    [lambda z: cn.sum_pool(z, (2,), stride=1, padding=1), lambda z: cn.conv(z[:, None], z[:2, None, None])],
    ids=["sum", "conv"],
)
def test_gradcheck_of_complex_numbers(f: Function) -> None:
    z = torch.randn(4, dtype=torch.complex128, requires_grad=True)
    assert gradcheck(f, (z,), check_forward_ad=True)
    assert gradgradcheck(f, (z,))


def test_a_real_array_with_complex_filters() -> None:
    x = torch.randn(4, 1, dtype=torch.float64, requires_grad=True)
    w = torch.randn(2, 1, 2, dtype=torch.complex128, requires_grad=True)
    conv: Function = cn.conv
    assert gradcheck(lambda x, w: conv(x, w), (x, w))


@pytest.mark.parametrize("name", CHECKED)
def test_every_transformation_gives_the_same(name: str) -> None:
    """Hessians in all four ways, third derivatives in three, batches of them, and of the second order of torch."""
    f = CHECKED[name][0]
    x, *rest = inputs_of(name)

    def loss(x: Tensor) -> Tensor:
        return (f(x, *rest) ** 3).sum()  # type: ignore[no-any-return]

    g = grad(loss)(x)
    again = x.clone().requires_grad_()
    loss(again).backward()
    torch.testing.assert_close(g, again.grad, rtol=1e-12, atol=1e-12)
    h = hessian(loss)(x)
    assert h.abs().max() > 0
    ways = [jacrev(jacrev(loss)), jacfwd(jacfwd(loss)), jacrev(jacfwd(loss))]
    ways.append(lambda x: torch.autograd.functional.hessian(loss, x))
    for way in ways:
        torch.testing.assert_close(way(x), h, rtol=1e-8, atol=1e-8)
    t = torch.ones_like(x)

    def along(f: Function) -> Function:
        return lambda x: jvp(f, (x,), (t,))[1]

    third = along(along(along(loss)))(x)
    assert third.abs() > 0
    by_reverse = jvp(lambda x: (grad(along(loss))(x) * t).sum(), (x,), (t,))[1]
    for other in (by_reverse, (jacrev(lambda x: (jvp(grad(loss), (x,), (t,))[1] * t).sum())(x) * t).sum()):
        torch.testing.assert_close(other, third, rtol=1e-7, atol=1e-7)
    batch = torch.stack([x, x.flip(0) + 1, x * 2], dim=1)
    for function in (lambda x: f(x, *rest), grad(loss)):
        expected = torch.stack([function(part) for part in batch.unbind(1)])
        torch.testing.assert_close(vmap(function, in_dims=1)(batch), expected, rtol=1e-10, atol=1e-10)


def test_any_operand_may_have_the_batch_axis() -> None:
    x, w, b = (torch.randn(s) for s in ((3, 5, 6, 2), (3, 2, 2, 2, 4), (3, 4)))

    def f(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return cn.conv(x, w, bias=b)  # type: ignore[no-any-return]

    for mapped in [m for m in np.ndindex(2, 2, 2) if any(m)]:
        given = [a if m else a[0] for a, m in zip((x, w, b), mapped, strict=True)]
        axes = tuple(0 if m else None for m in mapped)
        expected = [f(*(a[i] if m else a for a, m in zip(given, mapped, strict=True))) for i in range(3)]
        torch.testing.assert_close(vmap(f, in_dims=axes)(*given), torch.stack(expected), rtol=1e-4, atol=1e-4)


# ---------------------------------------------------------------------------------------- never silently zero


def rounded(x: Tensor) -> Tensor:
    return cn.avg_pool(x, (2,), dtype=torch.int32).float().sum()  # type: ignore[no-any-return]


ASKED: dict[str, Function] = {
    "backward": lambda x: rounded(x.requires_grad_()),
    "grad": grad(rounded),
    "jvp": lambda x: jvp(rounded, (x,), (torch.ones_like(x),)),
    "jacrev": jacrev(rounded),
    "hessian": hessian(lambda x: x.sum() + rounded(x)),
    "vmap of grad": lambda x: vmap(grad(rounded))(x[None]),
    "grad of vmap": lambda x: grad(lambda x: vmap(rounded)(x).sum())(x[None]),
    "jvp of vmap": lambda x: jvp(vmap(rounded), (x[None],), (torch.ones_like(x)[None],)),
}


@pytest.mark.parametrize("name", ASKED)
def test_an_integer_result_has_no_derivative(name: str) -> None:
    with pytest.raises(
        TypeError, match="avg_pool: a result of dtype int32 has no derivative: give a float dtype, or x"
    ):
        ASKED[name](torch.ones(4))


def test_an_integer_result_of_a_constant() -> None:
    def f(x: Tensor) -> Tensor:
        return x.sum() + rounded(x.detach())

    ones = torch.ones(4)
    assert grad(f)(ones).tolist() == [1.0] * 4
    assert jvp(f, (ones,), (ones,))[1] == 4
    x = torch.ones(4, requires_grad=True)
    f(x).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0] * 4
    with torch.no_grad():
        assert rounded(x) == 2
    assert rounded(ones.long()) == 2


def test_indices_and_modes_are_constants() -> None:
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    values, indices = cn.max_pool(x, (2,), return_indices=True)
    assert values.requires_grad
    assert not indices.requires_grad
    _, *tangents = jvp(lambda x: cn.max_pool(x, (2,), return_indices=True), (x.detach(),), (x.detach() + 1,))
    dy, of_indices = tangents[0]
    assert (dy.tolist(), of_indices.tolist()) == ([4.0], [0])
    assert vmap(lambda x: cn.mode_pool(x, (3,)))(torch.tensor([[1, 2, 2], [3, 3, 1]])).tolist() == [[2], [3]]


@pytest.mark.parametrize("fn", [np.maximum, np.minimum, np.multiply, np.power])
def test_the_generic_pool_of_complex_numbers(fn: np.ufunc) -> None:
    z = np.array([1 + 2j, 1 + 3j, -2 + 5j, 0.5 - 1j])
    t = torch.from_numpy(z).requires_grad_()
    y = cn.pool(t, (2,), 1 + 2j, fn)
    values, pull = cn.vjp(lambda z: cn.pool(z, (2,), 1 + 2j, fn), z)
    assert same_bits(y.detach().numpy(), values)
    (g,) = torch.autograd.grad(y, t, torch.ones_like(y))
    np.testing.assert_allclose(g.numpy().conj(), pull(np.ones(2, complex))[0], rtol=1e-12)  # torch has adjoints
    x = t.detach().real.requires_grad_()
    (g,) = torch.autograd.grad(cn.pool(x, (2,), np.complex128(1 + 2j), fn).imag.sum(), x)
    assert g.isfinite().all()


@pytest.mark.parametrize("fn", [np.greater, np.equal])
def test_a_comparison_is_a_constant(fn: np.ufunc) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = cn.pool(x, (1,), 1.0, fn)
    assert not y.requires_grad
    assert y.tolist() == cn.pool(x.detach(), (1,), 1.0, fn).tolist()


def test_the_generic_pool_of_windows_without_an_element() -> None:
    x = torch.ones(0, 2, requires_grad=True)
    y = cn.pool(x, (2, 1), 3.0, np.add, padding=(2, 0))
    assert y.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    (g,) = torch.autograd.grad(y.sum(), x)
    assert g.shape == (0, 2)
    assert jvp(lambda x: cn.pool(x, (2, 1), 3.0, np.add, padding=(2, 0)), (x,), (x,))[1].tolist() == [[0.0] * 2] * 2


@pytest.mark.parametrize("function", [cn.correlate, cn.convolve])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.complex64])
def test_a_filter_of_one_element(function: Function, dtype: torch.dtype) -> None:
    """NumPy flips an axis of one element to a stride below 0, which torch does not take."""
    x = torch.ones(3, dtype=dtype, requires_grad=True)
    k = torch.full((1,), 2.0, dtype=dtype, requires_grad=True)
    y = function(x, k)
    assert y.tolist() == [2.0] * 3
    by_x, by_k = torch.autograd.grad(y, (x, k), torch.ones_like(y))
    assert (by_x.tolist(), by_k.tolist()) == ([2.0] * 3, [3.0])


def test_a_reducer_in_numpy_has_no_second_derivative() -> None:
    reducer = cn.reducer(lambda a, b: a + b * b, lambda a, b: (np.ones_like(a), 2 * b))
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    (g,) = torch.autograd.grad(cn.pool(x, (2,), 0.0, reducer), x)
    assert g.tolist() == [6.0, 8.0]
    y = cn.pool(x, (2,), 0.0, cn.reducer(lambda a, b: a * b, lambda a, b: (np.asarray(b), np.asarray(a))))
    with pytest.raises(TypeError, match="write it with torch instead of NumPy"):
        torch.autograd.grad(y, x, create_graph=True)
    with pytest.raises(TypeError, match=r"pool: np.* has no derivative in torch: give cn.reducer\(fn, partials\)"):
        cn.pool(x, (2,), 0.0, np.frompyfunc(lambda a, b: a + b, 2, 1))
