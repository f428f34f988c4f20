"""cenote.torch under torch.compile, torch.export and torch.func."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

import cenote.torch as ct
from networks import NETWORKS

# What torch's own compiler calls deprecated in torch.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _forget_graphs() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def everything(x: torch.Tensor, w: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    """Every family of functions, of two dimensions."""
    y = ct.conv2d(x, w, padding=1)
    y, indices = ct.max_pool2d(y, 2, return_indices=True)
    y = ct.max_unpool2d(y, indices, 2)
    y = ct.conv_transpose2d(y, w, stride=2) + ct.min_pool2d(y, 2, 1).sum()
    y = ct.avg_pool2d(y, 3, 2, 1, ceil_mode=True) + ct.lp_pool2d(y, 2.0, 2)[..., :1, :1]
    pooled: torch.Tensor = ct.adaptive_avg_pool2d(y, 3) + ct.adaptive_max_pool2d(y, (3, 3))
    pooled += ct.smooth_max_pool2d(y, 3, 1, 1, beta=beta)[..., :3, :3]
    return pooled


def operands(size: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(size)
    shapes: list[tuple[int, ...]] = [(2, 3, size, size), (3, 3, 3, 3), ()]
    made = [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]
    return [x.requires_grad_() for x in (*made[:2], made[2].abs() + 0.5)]


def run(function: Any, given: list[torch.Tensor]) -> list[torch.Tensor]:
    y = function(*given)
    return [y.detach(), *torch.autograd.grad(y.sin().sum(), given)]


def test_every_function_in_one_compiled_graph() -> None:
    compiled = torch.compile(everything, fullgraph=True, backend="aot_eager")
    for size in (8, 12):
        given = operands(size)
        for axis in (0, 2, 3):  # pictures of any number and size, filters of one
            torch._dynamo.maybe_mark_dynamic(given[0], axis)
        for a, b in zip(run(compiled, given), run(everything, operands(size)), strict=True):
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize("name", ["ResNet-18", "U-Net with unpooling", "YOLO with SPP"])
def test_an_accelerated_network_is_compiled_and_trained(name: str) -> None:
    torch.manual_seed(0)
    make, (_, size) = NETWORKS[name]
    model = make(True).double()
    ct.accelerate(model)
    compiled: Any = torch.compile(copy.deepcopy(model), fullgraph=True, backend="aot_eager")
    x = torch.randn(2, 3, *size, dtype=torch.float64)
    results = []
    for network in (model, compiled):
        y = network(x)
        y.square().mean().backward()
        results.append([y.detach(), *(p.grad for p in network.parameters())])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b)


def test_export() -> None:
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.MaxPool2d(2), nn.AvgPool2d(2), ct.SmoothMaxPool2d(2, learn=True))
    ct.accelerate(model)
    x = torch.randn(1, 1, 20, 20)
    exported = torch.export.export(model.eval(), (x,))
    torch.testing.assert_close(exported.module()(x), model(x))


def test_vmap_and_derivatives_of_torch_func() -> None:
    x, w, beta = (t.detach() for t in operands(8))
    batch = torch.stack([x, -x])
    each = torch.stack([everything(sample, w, beta) for sample in batch])
    torch.testing.assert_close(torch.func.vmap(everything, (0, None, None))(batch, w, beta), each)

    def loss(*given: torch.Tensor) -> torch.Tensor:
        return everything(*given).sin().sum()

    reverse = torch.func.grad(loss, argnums=(0, 1, 2))(x, w, beta)
    for got, expected in zip(reverse, run(everything, operands(8))[1:], strict=True):
        torch.testing.assert_close(got, expected)
    tangents = tuple(torch.randn_like(t) for t in (x, w, beta))
    forward = torch.func.jvp(loss, (x, w, beta), tangents)[1]
    torch.testing.assert_close(forward, sum((g * t).sum() for g, t in zip(reverse, tangents, strict=True)))
