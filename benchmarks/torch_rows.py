"""Pooling of torch tensors by cenote vs. torch's own, interleaved, allocation included; alone and inside a network.

``python benchmarks/torch_rows.py [--quick] [--rounds N] [--threads N]``. Times are the fastest of several rounds; only
the ratios in one run are meaningful. "in a network" runs a convolution of torch's before each call, whose threads go on
spinning for some milliseconds, and measures the pooling alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

import cenote as cn

Tensor = torch.Tensor
Row = tuple[str, tuple[int, ...], Callable[[Tensor], Any], Callable[[Tensor], Any]]

ROWS: list[Row] = [
    ("max 2×2", (16, 64, 112, 112), lambda x: cn.max_pool(x, (2, 2)), lambda x: functional.max_pool2d(x, 2)),
    (
        "max 3×3, stride 2, padding 1",
        (16, 64, 112, 112),
        lambda x: cn.max_pool(x, (3, 3), stride=2, padding=1),
        lambda x: functional.max_pool2d(x, 3, 2, 1),
    ),
    (
        "max 13×13, stride 1",
        (8, 64, 26, 26),
        lambda x: cn.max_pool(x, (13, 13), stride=1, padding=6),
        lambda x: functional.max_pool2d(x, 13, 1, 6),
    ),
    ("avg 2×2", (16, 64, 112, 112), lambda x: cn.avg_pool(x, (2, 2)), lambda x: functional.avg_pool2d(x, 2)),
    (
        "avg 3×3, stride 1, padding 1",
        (16, 64, 56, 56),
        lambda x: cn.avg_pool(x, (3, 3), stride=1, padding=1),
        lambda x: functional.avg_pool2d(x, 3, 1, 1),
    ),
]
SMALL: list[Row] = [
    ("max 2×2 of 4×4", (1, 1, 4, 4), lambda x: cn.max_pool(x, (2, 2)), lambda x: functional.max_pool2d(x, 2)),
    ("avg 2×2 of 4×4", (1, 1, 4, 4), lambda x: cn.avg_pool(x, (2, 2)), lambda x: functional.avg_pool2d(x, 2)),
]


def forward(f: Callable[[Tensor], Any], x: Tensor) -> Callable[[], Any]:
    return lambda: f(x)


def with_backward(f: Callable[[Tensor], Any], x: Tensor) -> Callable[[], Any]:
    x = x.clone().requires_grad_()
    g = torch.ones_like(f(x))

    def run() -> None:
        x.grad = None
        f(x).backward(g)

    return run


def fastest(calls: list[Callable[[], Any]], rounds: int, repeat: int, before: Callable[[], Any] | None) -> list[float]:
    """Seconds of each call: the fastest of all rounds, one call after the other in each."""
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            if before is not None:
                before()
            start = time.perf_counter()
            for _ in range(repeat):
                call()
            best[i] = min(best[i], (time.perf_counter() - start) / repeat)
    return best


def show(name: str, mine: float, other: float) -> None:
    unit, scale = ("ms", 1e3) if other > 1e-3 else ("µs", 1e6)
    print(f"{name:<66} {mine * scale:8.2f} {unit}   torch {other * scale:8.2f} {unit}   {other / mine:6.2f}×")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="small data, two rounds: shows that it runs")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    cn.set_num_threads(options.threads)
    rounds = 2 if options.quick else options.rounds
    signal, filters = torch.randn(8, 64, 56, 56), torch.randn(64, 64, 3, 3)
    for name, shape, mine, other in ROWS:
        size = (2, 8, *(n // 4 + 8 for n in shape[2:])) if options.quick else shape
        for layout, memory in (("channels first", torch.contiguous_format), ("channels last", torch.channels_last)):
            x = torch.randn(size).to(memory_format=memory)
            for way, runs in (("forward", forward), ("with backward", with_backward)):
                calls = [runs(f, x) for f in (mine, other)]
                show(f"{name}, {layout}, {way}", *fastest(calls, rounds, 1, None))
                busy = fastest(calls, rounds, 1, lambda: functional.conv2d(signal, filters, padding=1))
                show(f"{name}, {layout}, {way}, in a network", *busy)
    for name, shape, mine, other in SMALL:
        x = torch.randn(shape)
        for way, runs in (("forward", forward), ("with backward", with_backward)):
            calls = [runs(f, x) for f in (mine, other)]
            show(f"{name}, {way}", *fastest(calls, 5 * rounds, 20 if options.quick else 200, None))
        array = x.numpy()
        bare = cn.max_pool if name.startswith("max") else cn.avg_pool
        calls = [lambda mine=mine, x=x: mine(x), lambda bare=bare, array=array: bare(array, (2, 2))]  # type: ignore[misc]
        mine_time, array_time = fastest(calls, 5 * rounds, 200, None)
        print(f"{name}, over the same call on a NumPy array: {1e6 * (mine_time - array_time):.2f} µs")


if __name__ == "__main__":
    main()
