"""Write docs/pooling.svg, the picture of README.md: a slice of the demonstration's volume, pooled in three ways.

Every square of the picture is an element of an array; the results are computed by cenote when this runs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import cenote as cn
from cenote.demo.scene import coloured, draw_volume

TARGET = Path(__file__).resolve().parents[1] / "docs" / "pooling.svg"
SIZE, WINDOW = 96, 4  # elements of the input along an axis, and of the window
SIDE, GAP, TOP, HEIGHT = 200, 20, 20, 280  # of the picture, in pixels
LEVELS = 24  # colours
BETA = 8.0
CORNER = (5, 16)  # where the window that is outlined lies in the results: row and column

BACKGROUND, INK, MUTED, ACCENT = "#0d1117", "#e6edf3", "#9da7b1", "#ff7b54"
FONT = "font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\""


def element_paths(values: NDArray[np.float64]) -> list[str]:
    """One path per colour, made of horizontal runs of equal elements; the darkest one is the background."""
    levels = np.clip(np.rint(values * (LEVELS - 1)), 0, LEVELS - 1).astype(int)
    runs: dict[int, list[str]] = {}
    for i, row in enumerate(levels):
        starts = np.flatnonzero(np.r_[True, np.diff(row) != 0])
        for start, end in zip(starts, np.r_[starts[1:], len(row)], strict=True):
            runs.setdefault(int(row[start]), []).append(f"M{start} {i}h{end - start}v1h{start - end}")
    palette = coloured(np.arange(LEVELS)[None] / (LEVELS - 1))[0]
    colours = ["#{:02x}{:02x}{:02x}".format(*pixel) for pixel in palette.tolist()]
    size = len(values)
    background = f'<path fill="{colours[0]}" d="M0 0h{size}v{size}h-{size}"/>'
    return [background] + [
        f'<path fill="{colours[level]}" d="{"".join(runs[level])}"/>' for level in sorted(runs) if level
    ]


def panel(left: int, values: NDArray[np.float64], corner: tuple[int, int], sides: int, lines: list[str]) -> list[str]:
    """An array drawn as a square, ``sides`` of its elements outlined from ``corner`` on, and lines of text below."""
    scale = SIDE / len(values)
    out = [f'<g transform="translate({left} {TOP}) scale({scale:g})" shape-rendering="crispEdges">']
    out += element_paths(values)
    out += ["</g>"]
    y, x = (round(scale * c, 2) for c in corner)
    box = round(scale * sides, 2)
    out.append(
        f'<rect x="{left + x:g}" y="{TOP + y:g}" width="{box:g}" height="{box:g}" '
        f'fill="none" stroke="{ACCENT}" stroke-width="2"/>'
    )
    for i, line in enumerate(lines):
        out.append(
            f'<text x="{left}" y="{TOP + SIDE + 22 + 18 * i}" font-size="12" fill="{MUTED if i else INK}" '
            f"{FONT}>{line}</text>"
        )
    return out


def picture() -> str:
    x = draw_volume(SIZE)[SIZE // 2].astype(np.float64)
    window = (WINDOW, WINDOW)
    smooth = cn.smooth_max_pool(x, window, beta=BETA) - np.log(WINDOW * WINDOW) / BETA
    results = [
        ("max_pool(x, (4, 4))", "keeps thin lines", cn.max_pool(x, window)),
        ("avg_pool(x, (4, 4))", "blurs them", cn.avg_pool(x, window)),
        ("smooth_max_pool(x, (4, 4))", f"beta={BETA:g}, −log(16)/{BETA:g}", smooth),
    ]
    width = GAP + (1 + len(results)) * (SIDE + GAP)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}">',
        "<title>An array and three results of pooling it with windows of 4×4 elements</title>",
        f'<rect width="{width}" height="{HEIGHT}" rx="10" fill="{BACKGROUND}"/>',
    ]
    row, column = CORNER
    first = row * WINDOW, column * WINDOW
    out += panel(GAP, x, first, WINDOW, ["x", f"{SIZE}×{SIZE}, one window outlined"])
    for i, (call, words, values) in enumerate(results, 1):
        out += panel(GAP + i * (SIDE + GAP), values, CORNER, 1, [call, f"{len(values)}×{len(values)}, {words}"])
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    TARGET.write_text(picture(), encoding="utf-8")
    print(f"written to {TARGET}")
