"""The generic pool on torch tensors where its windows reach beyond the data, and where torch's default is no CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.autograd import forward_ad
from torch.func import grad, jacfwd, jacrev, jvp, linearize, vmap

import cenote as cn
from cenote.backends.torch.functions import bind
from cenote.ops.elementwise import ZerosLike
from vocabulary import Function

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch calls what it deprecates


def padded_folds() -> dict[str, Function]:
    """Folds whose windows reach beyond the data, so that a tap meets a part of them only."""
    window: dict[str, Any] = {"window": (2,), "stride": 2, "padding": 1}
    function = cn.reducer(lambda a, b: a * b, lambda a, b: (b, a))
    return {
        "maximum": lambda x: cn.pool(x, init=-np.inf, reduce_fn=np.maximum, **window),
        "multiply": lambda x: cn.pool(x, init=1.0, reduce_fn=np.multiply, **window),
        "a function": lambda x: cn.pool(x, init=0.5, reduce_fn=lambda a, b: a * b.cos(), **window),
        "a reducer": lambda x: cn.pool(x, init=0.5, reduce_fn=function, **window),
    }


@pytest.mark.filterwarnings("ignore:.*graph:UserWarning")  # of torch.fx, which linearize uses
@pytest.mark.parametrize("name", padded_folds())
def test_linearize_of_a_padded_pool(name: str) -> None:
    """torch folds what is constant in it before the derivative is computed."""
    f = padded_folds()[name]
    x, t = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64), torch.ones(4, dtype=torch.float64)
    expected = jvp(f, (x,), (t,))[1]
    assert expected.count_nonzero() == 3
    assert torch.equal(linearize(f, x)[1](t), expected)


@pytest.mark.parametrize("name", padded_folds())
def test_derivatives_are_on_the_cpu_whatever_the_default_device(name: str) -> None:
    f = padded_folds()[name]
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad(f(x).sum(), x)
    with torch.device("meta"):
        y = f(x)
        (g,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(g, expected)


def test_a_tangent_of_zeros_is_on_the_cpu_whatever_the_default_device() -> None:
    x, zeros = torch.ones(2), ZerosLike((3,), np.dtype(np.float32))
    with torch.device("meta"):
        t = jvp(lambda x: bind(zeros, x)[0], (x,), (x,))[1]
        with forward_ad.dual_level():
            given = forward_ad.make_dual(x, x)  # type: ignore[no-untyped-call]
            dual = forward_ad.unpack_dual(bind(zeros, given)[0])  # type: ignore[no-untyped-call]
    for found in (t, dual.tangent):
        assert found is not None
        assert found.tolist() == [0.0] * 3


@pytest.mark.parametrize(
    "f",
    [
        lambda x: cn.correlate(x, torch.tensor([1 + 1j, 2 - 0.5j], dtype=torch.complex128), mode="valid"),
        lambda x: cn.pool(x, (2,), np.complex128(1 + 2j), np.multiply),
    ],
    ids=["filter", "init"],
)
def test_second_derivatives_of_real_tensors_by_complex_numbers(f: Any) -> None:
    x = torch.tensor([1.0, 2.0, -3.0, 4.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(f, x)
    assert torch.autograd.gradgradcheck(f, x)


def test_a_result_is_no_view_of_the_input() -> None:
    x = torch.arange(3.0)
    cn.pool(x, (1,), 0.0, lambda a, b: b).zero_()
    assert x.tolist() == [0.0, 1.0, 2.0]


def learned(s: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """A pool whose reducer depends on ``s``, too."""
    scaled = cn.reducer(lambda a, b: a + b * s, lambda a, b: (torch.ones_like(a), s * torch.ones_like(b)))
    pooled: torch.Tensor = cn.pool(x, (2,), 0.0, scaled)
    return pooled.sum()


@pytest.mark.parametrize(
    "derivative",
    [
        lambda s, x: torch.autograd.grad(learned(s.requires_grad_(), x), s),
        lambda s, x: grad(learned)(s, x),
        lambda s, x: grad(learned, argnums=(0, 1))(s, x),
        lambda s, x: jvp(lambda s: learned(s, x), (s,), (s,)),
        lambda s, x: jvp(lambda s: grad(learned, argnums=1)(s, x), (s,), (s,)),
        lambda s, x: vmap(jacfwd(learned), (0, None))(s[None], x),
        lambda s, x: grad(lambda s: vmap(jacrev(learned, argnums=1), (None, 0))(s, x[None]).sum())(s),
    ],
    ids=["backward", "grad", "grad of both", "jvp", "jvp of grad", "vmap of jacfwd", "grad of vmap"],
)
def test_a_reducer_has_no_derivative_by_what_else_it_uses(derivative: Any) -> None:
    """The partial derivatives that the user gave do not hold it: it would be missing in silence."""
    x, s = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor(2.0)
    with pytest.raises(TypeError, match=r"^pool: reduce_fn depends on another tensor that torch derives by, and cn\.r"):
        derivative(s, x)


def test_a_reducer_may_use_other_tensors() -> None:
    x, s = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor(2.0)
    assert grad(learned, argnums=1)(s, x).tolist() == [2.0] * 4
    assert vmap(jacfwd(learned, argnums=1), (None, 0))(s, x[None]).tolist() == [[2.0] * 4]
