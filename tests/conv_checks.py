"""Checks of a fast convolution: the bits of the reference on whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import DEFAULT_LIMITS, Case, same_bits
from cenote.core.conv import convolve
from cenote.geometry.conv import ConvGeometry, conv_geometry
from conv_cases import reference

RESULTS = ["y", "x", "w"]
LAYOUTS = ["channels_last", "channels_first"]


def frame_of(layout: str, batch: int, space: tuple[int, ...], window: tuple[int, ...], **given: Any) -> ConvGeometry:
    """``channels`` in, ``filters`` out; the rest is what conv takes."""
    groups = given.get("groups", 1)
    channels, filters = given.pop("channels"), given.pop("filters")
    options = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1} | given
    if layout == "channels_first":
        shapes = (batch, channels, *space), (filters, channels // groups, *window)
    else:
        shapes = (batch, *space, channels), (*window, channels // groups, filters)
    return conv_geometry(*shapes, layout=layout, **options)


def whole(rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "f", shift: int = 0) -> Any:
    """Whole numbers in memory that begins ``shift`` elements behind a cache line."""
    count = int(np.prod(shape))
    memory = np.empty(count + 64, dtype)
    first = -memory.ctypes.data % 64 // memory.itemsize + shift
    out = memory[first : first + count].reshape(shape)
    out[...] = rng.integers(-3, 4, shape)
    return out


def check(
    frame: ConvGeometry, level: str, *, shift: int = 0, threads: int = 2, dtype: str = "f", results: Any = RESULTS
) -> None:
    rng = np.random.default_rng(sum(frame.x))
    arrays = {name: whole(rng, getattr(frame, name), dtype, shift) for name in "xwy"}
    filters = frame.y[1 if frame.channels_first else -1]
    for result in results:
        operands = {name: a for name, a in arrays.items() if name != result}
        bias = rng.integers(-3, 4, filters).astype(dtype) if result == "y" else None
        with Case(arrays["x"], {}, None, level, threads, DEFAULT_LIMITS).setting():  # type: ignore[arg-type]
            got = convolve(frame, result, operands, bias)
        assert same_bits(got + 0, reference(frame, result, operands, bias) + 0), (frame, result, shift)
