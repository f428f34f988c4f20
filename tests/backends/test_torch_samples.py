"""torch's own samples of its pooling and convolution functions: the same values and derivatives by ours."""

from __future__ import annotations

import inspect
import itertools
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


def kinds(name: str, sample: Any) -> set[Any]:
    """What a sample is like: pairs of its arguments, of which only is told whether they are 0, 1 or more."""
    arguments = inspect.signature(function(name)).bind(sample.input, *sample.args, **sample.kwargs).arguments
    found: set[Any] = {("axes", sample.input.ndim), ("empty", sample.input.numel() == 0)}
    for argument, value in list(arguments.items())[1:]:
        if isinstance(value, (tuple, list)):
            found.add((argument, "tuple", any(n is None for n in value), min((n for n in value if n), default=0) > 1))
        elif isinstance(value, int) and not isinstance(value, bool):
            found.add((argument, min(value, 2)))
        else:
            found.add((argument, "tensor" if isinstance(value, Tensor) else value))
    return set(itertools.combinations(sorted(found, key=str), 2))


@lru_cache
def different(name: str, most: int = 4) -> list[Any]:
    """Samples that together are of as many kinds as possible."""
    left = [(kinds(name, sample), sample) for sample in samples(name, 150)]
    missing = set().union(*(found for found, _ in left))
    out: list[Any] = []
    while missing and len(out) < most:
        found, sample = max(left, key=lambda one: len(missing & one[0]))
        out.append(sample)
        missing -= found
    return out


def derived_by_func(f: Any, tensors: list[Tensor]) -> list[Any]:
    """The same by torch.func, and batches of values, cotangents and tangents."""
    y, pull = torch.func.vjp(f, *tensors)[:2]
    g = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).reshape(y.shape)
    stacked = [torch.stack([t, t + 1]) for t in tensors]
    numbers = tuple(range(len(tensors)))
    return [
        y,
        pull(g),
        torch.func.jvp(f, tuple(tensors), tuple(t.cos() for t in tensors))[1],
        torch.func.vmap(f)(*stacked),
        torch.func.vmap(torch.func.grad(lambda *t: f(*t).square().sum(), numbers))(*stacked),
        torch.func.vmap(lambda *t: torch.func.jvp(f, t, tuple(x.cos() for x in t))[1])(*stacked),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_transforms(name: str) -> None:
    for i, sample in enumerate(different(name)):
        dtype, rough = ((torch.float64, 1e-10), (torch.float32, 1e-4))[i % 2]
        tensors = [t.to(dtype) for t in operands(sample)]
        mine, real = (derived_by_func(of_tensors(f, sample), tensors) for f in (function(name), INFOS[name].op))
        torch.testing.assert_close(mine, real, rtol=rough, atol=rough)


@pytest.mark.parametrize("name", NAMES)
def test_jacobians(name: str) -> None:
    for sample in samples(name, 2):
        tensors = [t for t in operands(sample) if t.numel()]
        if len(tensors) != len(operands(sample)):
            continue
        f, other = (of_tensors(f, sample) for f in (function(name), INFOS[name].op))
        torch.testing.assert_close(torch.func.jacrev(f)(*tensors), torch.func.jacfwd(other)(*tensors))
        torch.testing.assert_close(torch.func.jacfwd(f)(*tensors), torch.func.jacfwd(other)(*tensors))


def program_of(f: Any, given: list[Any]) -> Any:
    """One function of the tensors of several samples, because compilation takes its time."""

    def run(*tensors: Tensor) -> tuple[Tensor, ...]:
        left = list(tensors)
        return tuple(of_tensors(f, one)(*(left.pop(0) for _ in operands(one))) for one in given)

    return run


def with_gradients(f: Any, tensors: list[Tensor]) -> list[Tensor]:
    leaves = [t.detach().clone().requires_grad_() for t in tensors]
    outputs = f(*leaves)
    cotangents = [torch.linspace(-1, 1, y.numel(), dtype=y.dtype).reshape(y.shape) for y in outputs]
    return [*(y.detach() for y in outputs), *torch.autograd.grad(outputs, leaves, cotangents)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", ["open sizes", "fixed sizes, channels last", "export"])
def test_compile_and_export(name: str, how: str) -> None:
    torch._dynamo.reset()
    given = different(name)
    tensors = [t for sample in given for t in operands(sample)]
    f, other = (program_of(f, given) for f in (function(name), INFOS[name].op))
    if how == "export":

        class Module(torch.nn.Module):
            def forward(self, *tensors: Tensor) -> Any:
                return f(*tensors)

        compiled: Any = torch.export.export(Module(), tuple(tensors)).module()
        tangents = tuple(t.cos() for t in tensors)
        found, expected = (torch.func.jvp(g, tuple(tensors), tangents) for g in (compiled, other))
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    else:
        compiled = torch.compile(f, fullgraph=True, dynamic=how == "open sizes", backend="aot_eager")
    if "last" in how:
        last = {4: torch.channels_last, 5: torch.channels_last_3d}
        batched = int(name[-2]) + 2  # torch has no such format of the others
        tensors = [t.to(memory_format=last[t.ndim]) if t.ndim in last and t.ndim == batched else t for t in tensors]
    gradients, real = with_gradients(compiled, tensors), with_gradients(other, tensors)
    torch.testing.assert_close(gradients, real, rtol=1e-10, atol=1e-10)
