"""torch's own samples of its pooling and convolution functions: the same values and derivatives by ours."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

from torch_signatures import function

Tensor = torch.Tensor
pytestmark = pytest.mark.filterwarnings("ignore")  # torch calls what it deprecates

POOLS = [f"{name}{rank}d" for name in ("max_pool", "avg_pool", "adaptive_max_pool", "adaptive_avg_pool", "max_unpool")
         for rank in (1, 2, 3)]  # fmt: skip
NAMES = [*POOLS, *(f"conv{rank}d" for rank in (1, 2, 3)), *(f"conv_transpose{rank}d" for rank in (1, 2, 3))]
# For derivatives of max_unpool torch has samples without repeated indices, for which ours is another one.
INFOS = {
    info.name.removeprefix("nn.functional."): info
    for info in op_db
    if info.variant_test_name == ("grad" if "unpool" in info.name else "")
}


@lru_cache
def every_sample(name: str) -> list[Any]:
    return list(INFOS[name].sample_inputs("cpu", torch.float64, requires_grad=False))


def samples(name: str, number: int) -> list[Any]:
    """About so many of torch's samples, from all over the list."""
    found = every_sample(name)
    assert found
    return found[:: max(1, len(found) // number)]


def first(out: Any) -> Tensor:
    return out[0] if isinstance(out, tuple) else out  # type: ignore[no-any-return]


def operands(sample: Any) -> list[Tensor]:
    """The tensors that torch derives by."""
    given = (sample.input, *sample.args, *sample.kwargs.values())
    return [a for a in given if isinstance(a, Tensor) and a.is_floating_point()]


def replaced(sample: Any, tensors: list[Tensor]) -> tuple[Any, ...]:
    left = list(tensors)

    def put(a: Any) -> Any:
        return left.pop(0) if isinstance(a, Tensor) and a.is_floating_point() else a

    return put(sample.input), [put(a) for a in sample.args], {k: put(a) for k, a in sample.kwargs.items()}


def of_tensors(f: Any, sample: Any) -> Any:
    """The function of the tensors alone."""

    def run(*tensors: Tensor) -> Tensor:
        x, args, kwargs = replaced(sample, list(tensors))
        return first(f(x, *args, **kwargs))

    return run


def derivatives(f: Any, tensors: list[Tensor]) -> list[Tensor]:
    """The value, cotangents, a tangent, and the derivative of a cotangent."""
    leaves = [t.detach().clone().requires_grad_() for t in tensors]
    y = f(*leaves)
    g = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).reshape(y.shape)
    back = torch.autograd.grad(y, leaves, g)
    tangents = tuple(t.cos() for t in tensors)
    dy = torch.func.jvp(f, tuple(tensors), tangents)[1]
    return [y.detach(), *back, dy]


@pytest.mark.parametrize("name", NAMES)
def test_values_and_derivatives(name: str) -> None:
    for sample in samples(name, 15):
        tensors = operands(sample)
        mine, real = (derivatives(of_tensors(f, sample), tensors) for f in (function(name), INFOS[name].op))
        for a, b in zip(mine, real, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)
        got, expected = (f(sample.input, *sample.args, **sample.kwargs) for f in (function(name), INFOS[name].op))
        torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_transforms(name: str) -> None:
    for sample in samples(name, 2):
        tensors = [t for t in operands(sample) if t.numel()]
        if len(tensors) != len(operands(sample)):
            continue
        f, other = (of_tensors(f, sample) for f in (function(name), INFOS[name].op))
        torch.testing.assert_close(torch.func.jacrev(f)(*tensors), torch.func.jacfwd(other)(*tensors))
        torch.testing.assert_close(torch.func.jacfwd(f)(*tensors), torch.func.jacfwd(other)(*tensors))
        stacked = [torch.stack([t, t + 1]) for t in tensors]
        torch.testing.assert_close(torch.func.vmap(f)(*stacked), torch.func.vmap(other)(*stacked))


@pytest.mark.parametrize("name", NAMES)
def test_compile_and_export(name: str) -> None:
    torch._dynamo.reset()
    *_, sample = samples(name, 5)
    tensors = operands(sample)
    f, other = (of_tensors(f, sample) for f in (function(name), INFOS[name].op))

    class Module(torch.nn.Module):
        def forward(self, *tensors: Tensor) -> Tensor:
            return f(*tensors)  # type: ignore[no-any-return]

    expected = derivatives(other, tensors)
    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    leaves = [t.detach().clone().requires_grad_() for t in tensors]
    y = compiled(*leaves)
    g = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).reshape(y.shape)
    for a, b in zip((y.detach(), *torch.autograd.grad(y, leaves, g)), expected, strict=False):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)
    program = torch.export.export(Module(), tuple(tensors)).module()
    for a, b in zip(derivatives(program, tensors), expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)
