"""Whole networks with accelerate: the same outputs, gradients and running statistics, in training and in evaluation."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

import cenote.torch as ct
from networks import NETWORKS

torch.set_num_threads(1)
# Maxima and unpooling are exact. Averages are added up in another order than torch's.
EXACT = {"U-Net with unpooling", "YOLO with SPP", "YOLO with SPPF"}
# Rounding of an average, magnified by what follows it: normalisation over a few pixels divides by small deviations.
ROUNDING = {torch.float32: 2e-4, torch.float64: 1e-11}
REPLACED = {
    "ResNet-18": ["stem.1", "body.1.shortcut.0", "body.2.shortcut.0", "body.3.shortcut.0", "pool"],
    "VGG-11": ["features.2", "features.5", "features.8", "pool"],
    "U-Net with unpooling": [f"{kind}.{level}" for kind in ("pools", "unpools") for level in range(3)],
    "YOLO with SPP": ["pyramid.pools.0", "pyramid.pools.1", "pyramid.pools.2"],
    "YOLO with SPPF": ["pyramid.pool"],
}


def pair(name: str, dtype: torch.dtype) -> tuple[nn.Module, nn.Module, torch.Tensor]:
    """A small network, the same one accelerated, and a batch of pictures of odd sizes."""
    torch.manual_seed(0)
    make, (_, size) = NETWORKS[name]
    plain = make(True).to(dtype)
    fast = copy.deepcopy(plain)
    assert [place for place, _, _ in ct.accelerate(fast)] == REPLACED[name]
    return plain, fast, torch.randn(2, 3, *size, dtype=dtype)


def check_same(name: str, ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> None:
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if name in EXACT:
            assert torch.equal(a, b)
        else:
            tolerance = ROUNDING[a.dtype] if a.is_floating_point() else 0.0
            torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance * (float(b.abs().max()) or 1.0))


def step(model: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    """Output, gradient of the input, gradients of the parameters and the state after a backward pass."""
    torch.manual_seed(1)  # of dropout
    model.zero_grad()
    x = x.clone().requires_grad_()
    y = model(x)
    (y * torch.linspace(-1, 1, y.numel(), dtype=y.dtype).reshape(y.shape)).sum().backward()
    gradients = [p.grad for p in model.parameters()]
    assert all(g is not None for g in gradients)
    return [y.detach(), x.grad, *gradients, *(value.clone() for value in model.state_dict().values())]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", NETWORKS)
def test_outputs_and_gradients(name: str, dtype: torch.dtype, training: bool) -> None:
    plain, fast, x = pair(name, dtype)
    plain.train(training)
    fast.train(training)
    check_same(name, step(fast, x), step(plain, x))
    with torch.no_grad():
        outputs = []
        for model in (fast, plain):
            torch.manual_seed(1)
            outputs.append([model(x)])
    check_same(name, *outputs)


@pytest.mark.parametrize("name", NETWORKS)
def test_channels_last(name: str) -> None:
    plain, fast, x = pair(name, torch.float64)
    for model in (plain, fast):
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    x = x.to(memory_format=torch.channels_last)
    seen: list[Any] = []
    for module in fast.modules():
        if isinstance(module, (ct.MaxPool2d, ct.AvgPool2d)):
            module.register_forward_hook(lambda module, args, out: seen.append((args[0], out)))
    check_same(name, step(fast, x), step(plain, x))
    assert seen
    for given, out in seen:
        y = out[0] if isinstance(out, tuple) else out
        if given.is_contiguous(memory_format=torch.channels_last) and not given.is_contiguous():
            assert y.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_few_steps_of_training(name: str) -> None:
    """Weights go the same way, exactly or up to rounding."""
    plain, fast, x = pair(name, torch.float64)
    weights = []
    for model in (plain, fast):
        torch.manual_seed(2)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
        weights.append([p.detach() for p in model.parameters()])
    check_same(name, weights[1], weights[0])
