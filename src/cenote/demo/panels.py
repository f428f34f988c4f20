"""Inputs and results as pixels with a caption: what both the terminal and the PNG show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arguments.arrays import Array
from .cases import Case, format_sizes
from .scene import Pixels, slice_of


@dataclass(frozen=True)
class Panel:
    pixels: Pixels
    label: str  # short, for a terminal
    title: str
    detail: str


def as_pixels(case: Case, result: Array) -> Pixels:
    if case.beta:
        # The smooth maximum of n equal elements is log(n)/beta above them: without that, brightness can be compared.
        result = result - math.log(math.prod(case.window)) / case.beta
    return slice_of(result) if case.what == "volume" else np.clip(np.rint(result), 0, 255).astype(np.uint8)


def panel_of(case: Case, result: Array) -> Panel:
    detail = format_sizes(case.window) + " -> " + format_sizes(result.shape[: len(case.window)])
    return Panel(
        as_pixels(case, result),
        case.name.removesuffix("_pool") + ", sliding" * case.slides,
        case.name + ", stride 1" * case.slides,
        detail,
    )


def make_panels(image: Pixels, volume: Array, done: Sequence[tuple[Case, Array]]) -> tuple[list[Panel], list[Panel]]:
    """The image and its results; a slice of the volume and of its results."""
    described = f"input: an image, {format_sizes(image.shape)}, {image.dtype}"
    # Both windows of a smooth maximum have 64 elements.
    about = "max keeps glints, min keeps vines, avg blurs both; smooth max is shown minus log(64)/beta"
    flat = [Panel(image, "image", described, about)]
    solid = [Panel(slice_of(volume), "volume", "input: a volume", f"{format_sizes(volume.shape)}, {volume.dtype}")]
    for case, result in done:
        (solid if case.what == "volume" else flat).append(panel_of(case, result))
    return flat, solid
