"""Time cenote beside the idioms of NumPy and SciPy for the same work.

The candidates of a row run in turn, so that whatever else the machine does meets all of them; the best of the
rounds counts, and ratios are what to read. A row on which cenote is behind is printed as behind.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import ndimage

import cenote as cn

Work = Callable[[], Any]


def folded(x: Any, k: int, fn: Any) -> Any:
    """k×k windows at stride k over the last two axes, as a fold over slices."""
    out = x[..., ::k, ::k]
    for i in range(k):
        for j in range(k):
            if i or j:
                out = fn(out, x[..., i::k, j::k])
    return out


def tiled(x: Any, k: int, how: str) -> Any:
    *batch, h, w = x.shape
    return getattr(x.reshape(*batch, h // k, k, w // k, k), how)(axis=(-3, -1))


def rows() -> list[tuple[str, Work, dict[str, Work]]]:
    rng = np.random.default_rng(0)
    batch = rng.standard_normal((8, 64, 112, 112), dtype=np.float32)
    photo = rng.integers(0, 256, (2048, 2048), dtype=np.uint8)
    image = photo.astype(np.float32)
    small = image[:512, :512]
    volume = rng.standard_normal((4, 32, 64, 64), dtype=np.float32)
    return [
        (
            "max 2×2, 8×64×112×112",
            lambda: cn.max_pool(batch, (2, 2)),
            {"NumPy reshape": lambda: tiled(batch, 2, "max"), "NumPy slices": lambda: folded(batch, 2, np.maximum)},
        ),
        (
            "avg 2×2, 8×64×112×112",
            lambda: cn.avg_pool(batch, (2, 2)),
            {"NumPy reshape": lambda: tiled(batch, 2, "mean"), "NumPy slices": lambda: folded(batch, 2, np.add) / 4},
        ),
        (
            "max 2×2 of uint8, 2048²",
            lambda: cn.max_pool(photo, (2, 2)),
            {"NumPy reshape": lambda: tiled(photo, 2, "max"), "NumPy slices": lambda: folded(photo, 2, np.maximum)},
        ),
        (
            "max 9×9 stride 1, 512²",
            lambda: cn.max_pool(small, (9, 9), stride=1),
            {
                "NumPy windows": lambda: sliding_window_view(small, (9, 9)).max((-1, -2)),
                "SciPy": lambda: ndimage.maximum_filter(small, 9),
            },
        ),
        (
            "max 31×31 stride 1, 2048²",
            lambda: cn.max_pool(image, (31, 31), stride=1),
            {"SciPy": lambda: ndimage.maximum_filter(image, 31)},
        ),
        (
            "avg 31×31 stride 1, 2048²",
            lambda: cn.avg_pool(image, (31, 31), stride=1),
            {"SciPy": lambda: ndimage.uniform_filter(image, 31)},
        ),
        (
            "max 2×2×2, 4×32×64×64",
            lambda: cn.max_pool(volume, (2, 2, 2)),
            {"NumPy reshape": lambda: volume.reshape(4, 16, 2, 32, 2, 32, 2).max((2, 4, 6))},
        ),
    ]


def measure(candidates: dict[str, Work], rounds: int) -> dict[str, float]:
    """The best time of each in milliseconds, all taken in turn."""
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(rounds):
        for name, work in candidates.items():
            start = time.perf_counter()
            work()
            best[name] = min(best[name], 1e3 * (time.perf_counter() - start))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, default=Path("build/benchmarks.json"), help="where the figures go")
    options = parser.parse_args()
    cn.show_config()
    print(f"\n{'work':<28}{'cenote ms':>10}   ratio to each other way (above 1: cenote is ahead)")
    table = []
    for name, ours, others in rows():
        times = measure({"cenote": ours, **others}, options.rounds)
        mine = times.pop("cenote")
        ratios = [f"{other} {ms / mine:.1f}×{'' if ms >= mine else ' BEHIND'}" for other, ms in times.items()]
        print(f"{name:<28}{mine:>10.2f}   {', '.join(ratios)}", flush=True)
        table.append({"work": name, "cenote": mine, **times})
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(table, indent=1))
    print(f"\nwritten to {options.json}")


if __name__ == "__main__":
    main()
