"""Networks of the field whose layers pool, in torch alone and of any width: for tests small, for benchmarks full size.

The pooling of each is that of the paper: ResNet's overlapping 3×3 in the stem and its global average, VGG's 2×2 after
each group, a U-Net that unpools by the indices of its encoder, YOLO's spatial pyramids of 5×5, 9×9 and 13×13.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


def conv_bn(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Sequential:
    conv = nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


# ------------------------------------------------------------------------------------------------------- ResNet


class BasicBlock(nn.Module):
    """Two 3×3 convolutions and a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            conv_bn(inputs, outputs, 3, stride),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:  # the average, where the first ResNet dropped three of four pixels
            pool = nn.AvgPool2d(stride, stride, ceil_mode=True, count_include_pad=False)
            self.shortcut = nn.Sequential(pool, nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.relu(self.body(x) + self.shortcut(x))
        return out


class ResNet(nn.Module):
    """ResNet-D of four stages: width 64 and two blocks each make a ResNet-18."""

    def __init__(self, width: int = 64, blocks: tuple[int, ...] = (2, 2, 2, 2), classes: int = 1000) -> None:
        super().__init__()
        self.stem = nn.Sequential(conv_bn(3, width, 7, 2), nn.MaxPool2d(kernel_size=3, stride=2, padding=1))
        stages: list[nn.Module] = []
        inputs = width
        for stage, number in enumerate(blocks):
            outputs = width << stage
            for block in range(number):
                stages.append(BasicBlock(inputs, outputs, 2 if stage and not block else 1))
                inputs = outputs
        self.body = nn.Sequential(*stages)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.pool(self.body(self.stem(x))).flatten(1))
        return out


# ---------------------------------------------------------------------------------------------------------- VGG


class VGG(nn.Module):
    """Groups of 3×3 convolutions, each followed by 2×2 pooling: width 64 makes a VGG-11."""

    def __init__(
        self, width: int = 64, groups: tuple[int, ...] = (1, 1, 2, 2, 2), classes: int = 1000, hidden: int = 4096
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inputs = 3
        for group, number in enumerate(groups):
            outputs = width << min(group, 3)
            for _ in range(number):
                layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(inplace=True)]
                inputs = outputs
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(inputs * 49, hidden), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(hidden, classes)
        )

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.classifier(self.pool(self.features(x)).flatten(1))
        return out


# -------------------------------------------------------------------------------------------------------- U-Net


class UNet(nn.Module):
    """A U-Net whose decoder unpools by the indices of its encoder, for sizes that are even or odd."""

    def __init__(self, width: int = 64, depth: int = 4, classes: int = 2) -> None:
        super().__init__()
        widths = [width << level for level in range(depth + 1)]
        self.first = conv_bn(3, width, 3)
        self.down = nn.ModuleList(conv_bn(a, b, 3) for a, b in itertools.pairwise(widths))
        self.narrow = nn.ModuleList(conv_bn(b, a, 3) for a, b in itertools.pairwise(widths))
        self.up = nn.ModuleList(conv_bn(2 * a, a, 3) for a in widths[:-1])
        self.pools = nn.ModuleDict({str(level): nn.MaxPool2d(2, return_indices=True) for level in range(depth)})
        self.unpools = nn.ModuleDict({str(level): nn.MaxUnpool2d(2) for level in range(depth)})
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        skips = []
        for level, down in enumerate(self.down):
            pooled, indices = self.pools[str(level)](x)
            skips.append((x, indices))
            x = down(pooled)
        for level in reversed(range(len(skips))):
            skip, indices = skips[level]
            x = self.unpools[str(level)](self.narrow[level](x), indices, output_size=skip.shape[-2:])
            x = self.up[level](torch.cat([skip, x], dim=1))
        out: Tensor = self.head(x)
        return out


# --------------------------------------------------------------------------------------------- spatial pyramids


class SPP(nn.Module):
    """YOLO's spatial pyramid: maxima of 5×5, 9×9 and 13×13 at every pixel, concatenated with the input."""

    def __init__(self, channels: int, sizes: tuple[int, ...] = (5, 9, 13)) -> None:
        super().__init__()
        self.reduce = conv_bn(channels, channels // 2, 1)
        self.pools = nn.ModuleList(nn.MaxPool2d(size, stride=1, padding=size // 2) for size in sizes)
        self.expand = conv_bn(channels // 2 * (len(sizes) + 1), channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.reduce(x)
        out: Tensor = self.expand(torch.cat([x, *(pool(x) for pool in self.pools)], dim=1))
        return out


class SPPF(nn.Module):
    """The same windows as one 5×5 pooling layer that is applied three times."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.reduce = conv_bn(channels, channels // 2, 1)
        self.pool = nn.MaxPool2d(5, stride=1, padding=2)
        self.expand = conv_bn(channels * 2, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        parts = [self.reduce(x)]
        for _ in range(3):
            parts.append(self.pool(parts[-1]))
        out: Tensor = self.expand(torch.cat(parts, dim=1))
        return out


class YOLO(nn.Module):
    """A backbone that halves its input ``stages`` times, and a spatial pyramid on top."""

    def __init__(
        self, width: int = 32, stages: int = 5, pyramid: Callable[[int], nn.Module] = SPP, outputs: int = 85
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inputs = 3
        for stage in range(stages):
            layers.append(conv_bn(inputs, width << stage, 3, 2))
            inputs = width << stage
        self.backbone = nn.Sequential(*layers)
        self.pyramid = pyramid(inputs)
        self.head = nn.Conv2d(inputs, outputs, 1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.pyramid(self.backbone(x)))
        return out


# Name → the network at a width of (full, small), and its picture of (full, small) height and width.
NETWORKS: dict[str, tuple[Callable[[bool], nn.Module], tuple[Any, Any]]] = {
    "ResNet-18": (lambda small: ResNet(8, (1, 1, 1, 1), 10) if small else ResNet(), ((224, 224), (61, 50))),
    "VGG-11": (lambda small: VGG(4, (1, 1, 1), 10, 16) if small else VGG(hidden=512), ((224, 224), (45, 34))),
    "U-Net with unpooling": (lambda small: UNet(4, 3) if small else UNet(32), ((256, 256), (37, 30))),
    "YOLO with SPP": (lambda small: YOLO(4, 2) if small else YOLO(), ((416, 416), (52, 60))),
    "YOLO with SPPF": (lambda small: YOLO(4, 2, SPPF) if small else YOLO(pyramid=SPPF), ((416, 416), (52, 60))),
}
