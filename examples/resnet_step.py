"""A ResNet in torch, trained for a few steps: as it is, and with its pooling layers computed by cenote.

Needs: cenote and torch: python -m pip install '.[torch]'
Run:   python examples/resnet_step.py

One line makes the difference: `cenote.torch.accelerate(model)` puts layers of cenote in the place of `nn.MaxPool2d`,
`nn.AvgPool2d` and `nn.AdaptiveAvgPool2d`. Weights, names and results stay: both networks are trained here on the same
batches, and their losses are printed side by side. Times are of a whole step, most of which is convolution.
"""

from __future__ import annotations

import argparse
import copy
import time

import torch
from torch import Tensor, nn

import cenote.torch


class Block(nn.Module):
    """Two 3×3 convolutions and a shortcut, which averages where the block halves the resolution."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut = nn.Sequential() if inputs == outputs else nn.Sequential(
            nn.AvgPool2d(stride), nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet(width: int = 16, classes: int = 10) -> nn.Sequential:
    """The stem of a ResNet (7×7 convolution, 3×3 pooling), four blocks and a global average."""
    return nn.Sequential(
        nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, stride=2, padding=1),
        Block(width, width, 1),
        Block(width, 2 * width, 2),
        Block(2 * width, 4 * width, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4 * width, classes),
    )


def batches(steps: int, size: int, seed: int = 0) -> list[tuple[Tensor, Tensor]]:
    """Noise, brighter in one of ten places: something to learn."""
    generator = torch.Generator().manual_seed(seed)
    out = []
    for _ in range(steps):
        labels = torch.randint(10, (8,), generator=generator)
        x = torch.randn(8, 3, size, size, generator=generator)
        for picture, label in zip(x, labels.tolist(), strict=True):
            row, column = divmod(label, 5)
            picture[:, row * size // 2 :, column * size // 5 : (column + 1) * size // 5] += 1
        out.append((x, labels))
    return out


def train(model: nn.Module, data: list[tuple[Tensor, Tensor]]) -> tuple[list[float], float]:
    """The loss of each step, and the seconds of the fastest one."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses, times = [], []
    for x, labels in data:
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        times.append(time.perf_counter() - begin)
        losses.append(loss.item())
    return losses, min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--size", type=int, default=96, help="pixels")
    options = parser.parse_args()
    torch.manual_seed(0)
    plain = resnet()
    fast = copy.deepcopy(plain)
    for name, old, _ in cenote.torch.accelerate(fast):
        print(f"{name}: {old}")
    data = batches(options.steps, options.size)
    (theirs, slow_step), (ours, fast_step) = train(plain, data), train(fast, data)
    for step in range(0, options.steps, max(1, options.steps // 10)):
        print(f"step {step:3}   loss {theirs[step]:.6f} (torch)   {ours[step]:.6f} (accelerated)")
    print(f"one step: {1e3 * slow_step:.1f} ms (torch), {1e3 * fast_step:.1f} ms (accelerated)")


if __name__ == "__main__":
    main()
