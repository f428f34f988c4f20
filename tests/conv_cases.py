"""Convolutions to test with: every rank, stride, padding, dilation, group, layout, dtype and memory, in combination."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import cases
from cenote.arguments.errors import BadValue
from cenote.core.conv import batched, filter_order
from cenote.dtypes import native
from cenote.geometry.conv import ConvGeometry, conv_geometry
from cenote.reference import conv as slow

Array = cases.Array
DTYPES = [*cases.INTEGERS, *cases.FLOATS, *cases.COMPLEX]


@dataclass(frozen=True)
class ConvCase(cases.Case):
    """x, w, y and biases of both ends, which fit together, and how to run them; ``arguments`` are those of conv."""

    frame: ConvGeometry
    w: Array
    y: Array
    bias: Array  # of y
    back: Array  # of x

    def operands(self, result: str) -> dict[str, Array]:
        return {name: getattr(self, name) for name in "xwy" if name != result}


def small(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Whole numbers: their products and sums are exact in every dtype, or wrap around."""
    low = 0 if dtype.kind == "u" else -3
    out = rng.integers(low, 4, shape)
    return (out + 1j * rng.integers(-3, 4, shape)).astype(dtype) if dtype.kind == "c" else out.astype(dtype)


def whole_range(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    return cases.make_data(rng, shape, dtype, False)


@st.composite
def conv_cases(draw: st.DrawFn, dtypes: list[np.dtype[Any]], rounded: bool = False) -> ConvCase:
    """With ``rounded``, any numbers of the dtype; otherwise whole ones, for which everything is exact."""
    rank = draw(st.integers(1, 4))
    groups = draw(st.sampled_from([1, 1, 1, 2, 3, 4]))
    zero = draw(st.integers(0, 19)) == 0
    # Around the widths of vectors and of blocks there, depthwise too.
    inner = draw(st.sampled_from([1, 1, 2, 3, 5, 8, 17] if groups > 1 else [1, 2, 3, 4, 7, 16, 33]))
    outer = draw(st.sampled_from([1, 1, 2, 3, 8, 16] if groups > 1 else [1, 2, 5, 8, 15, 16, 17, 40]))
    if groups == 4 and draw(st.booleans()):  # depthwise, with more channels
        groups, inner, outer = draw(st.sampled_from([5, 16, 24])), 1, draw(st.sampled_from([1, 1, 2]))
    if zero:
        inner, outer = draw(st.sampled_from([(0, outer), (inner, 0), (inner, outer)]))

    def per_axis(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank)))

    batch = tuple(draw(st.lists(st.integers(0 if zero else 1, 3), max_size=2)))
    spatial = per_axis(0 if zero else 1, {1: 60, 2: 14, 3: 7, 4: 5}[rank])
    kernel = per_axis(1, {1: 12, 2: 5, 3: 3, 4: 2}[rank])
    first = draw(st.booleans())
    arguments: dict[str, Any] = {
        "stride": draw(st.sampled_from([1, per_axis(1, 4)])),
        "padding": draw(
            st.sampled_from(
                ["valid", "same", "same_lower", per_axis(0, 4), tuple(zip(per_axis(0, 6), per_axis(0, 6), strict=True))]
            )
        ),
        "dilation": draw(st.sampled_from([1, per_axis(1, 3)])),
        "groups": groups,
        "layout": "channels_first" if first else "channels_last",
    }
    channels, outputs = groups * inner, groups * outer
    x_shape = (*batch, channels, *spatial) if first else (*batch, *spatial, channels)
    w_shape = (outputs, inner, *kernel) if first else (*kernel, inner, outputs)
    try:
        frame = conv_geometry(x_shape, w_shape, **arguments)
    except BadValue:
        assume(False)
        raise
    assume(math.prod(frame.y) * math.prod(kernel) * inner <= 1_000_000)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = draw(st.sampled_from(dtypes))
    make = whole_range if rounded else small
    shapes = (frame.x, frame.w, frame.y)
    x, w, y = (
        cases.lay_out(make(rng, shape, dtype), draw(st.sampled_from(cases.LAYOUTS)), rng) if math.prod(shape) else
        make(rng, shape, dtype)
        for shape in shapes
    )  # fmt: skip
    return ConvCase(
        x=x,
        arguments=arguments,
        geometry=None,  # type: ignore[arg-type]  # there is a frame instead
        level=draw(st.sampled_from(cases.LEVELS)),
        threads=draw(st.integers(1, 3)),
        limits=draw(st.sampled_from([cases.DEFAULT_LIMITS, (1, 1), (256, 16), (2048, 64)])),
        frame=frame,
        w=w,
        y=y,
        bias=make(rng, (outputs,), dtype),
        back=make(rng, (channels,), dtype),
    )


def reference(frame: ConvGeometry, result: str, operands: dict[str, Array], bias: Array | None = None) -> Array:
    """What the reference makes of arrays in the user's layout, in that layout."""
    held = {
        name: (filter_order if name == "w" else batched)(a.astype(native(a.dtype)), frame)
        for name, a in operands.items()
    }
    with np.errstate(all="ignore"):
        if result == "w":
            w = slow.conv_filter(held["x"], held["y"], frame.axes, frame.groups)
            return w.transpose(w.ndim - 1, w.ndim - 2, *range(w.ndim - 2)) if frame.channels_first else w
        if result == "y":
            out = slow.conv(held["x"], held["w"], frame.axes, frame.groups, bias)
        else:
            out = slow.conv_input(held["w"], held["y"], frame.axes, frame.groups, bias)
    return (np.moveaxis(out, -1, 1) if frame.channels_first else out).reshape(getattr(frame, result))
