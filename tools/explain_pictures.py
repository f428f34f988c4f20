"""Write the pictures of docs/explain.md and docs/windows.md, which ``cn.explain`` draws."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import cenote as cn

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "explain"
X = np.array([[3, 5, 5, 1], [2, np.nan, 4, 4], [1, 6, 2, 8], [0, 1, 9, 2.5]])
LINE = np.arange(1, 8)  # x of docs/windows.md


def animated() -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.svg")
        cn.explain("max_pool", X, (2, 2), stride=1, nan="omit").animate(path)
        return path.read_text(encoding="utf-8")


PICTURES: dict[str, Callable[[], str]] = {
    "ties": lambda: cn.explain("max_pool", X, (3, 3), stride=1, padding=1, nan="omit").svg((0, 2)),
    "windows": animated,
    "stride": lambda: cn.explain("sum_pool", LINE, (3,), stride=2).svg(1),
    "padding": lambda: cn.explain("sum_pool", LINE, (3,), stride=2, padding=1).svg(0),
    "matrix": lambda: cn.explain("max_pool", (7, 9), (3, 2), stride=(2, 3), padding=((1, 1), (0, 0))).svg((1, 1)),
    "ceil": lambda: cn.explain("avg_pool", (5, 6), (3, 3), stride=2, padding=1, ceil_mode=True).svg(-1),
    "dilation": lambda: cn.explain("max_pool", (9,), (3,), dilation=2, stride=2).svg(1),
    "volume": lambda: cn.explain("max_pool", (3, 4, 4), (2, 2, 2), stride=1).svg(5),
    "groups": lambda: cn.explain("conv", (4, 4, 2), (3, 3, 1, 2), groups=2, padding=1).svg(1),
    "transpose": lambda: cn.explain("conv_transpose", (3, 3, 1), (3, 3, 1, 1), stride=2, padding=1).svg(6),
    "gradient": lambda: cn.explain("max_pool", X, (2, 2), stride=1, nan="omit").svg(0, "gradient"),
    "misfit": lambda: cn.explain("max_pool", (3, 4), (5, 3), padding=((1, 0), (0, 0))).svg(),
    "channels": lambda: cn.explain("conv", (4, 4, 3), (2, 2, 4, 2)).svg(),
    "cut": lambda: cn.explain("conv_transpose", (2, 1), (3, 1, 1), padding=2).svg(),
}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw(), encoding="utf-8")
    print(f"{len(PICTURES)} pictures written to {FOLDER}")
