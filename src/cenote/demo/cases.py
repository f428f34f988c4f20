"""What the demonstration pools, and how NumPy alone would compute the same."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import cenote as cn

from ..arguments.arrays import Array
from ..dtypes import is_float
from ..geometry.axes import Geometry
from ..geometry.window import parse_window
from ..reference import pooling as reference

Idiom = Callable[[Array, tuple[int, ...]], Array]


# ------------------------------------------------------------------------------------------- NumPy's own idioms


def split_into_windows(x: Array, window: tuple[int, ...]) -> tuple[Array, tuple[int, ...]]:
    """A view (o₁, k₁, o₂, k₂, …) of windows that tile the leading axes, and which axes are the kᵢ."""
    shape = [n for size, k in zip(x.shape, window, strict=False) for n in (size // k, k)]
    return x.reshape(*shape, *x.shape[len(window) :]), tuple(range(1, 2 * len(window), 2))


def by_reshape(reduce: Callable[..., Any], x: Array, window: tuple[int, ...]) -> Array:
    windows, axes = split_into_windows(x, window)
    return np.asarray(reduce(windows, axis=axes))


def by_log_sum_exp(beta: float, x: Array, window: tuple[int, ...]) -> Array:
    windows, axes = split_into_windows(x if is_float(x.dtype) else x.astype(np.float64), window)
    top = windows.max(axis=axes, keepdims=True)
    return np.asarray(top.squeeze(axes) + np.log(np.exp(beta * (windows - top)).sum(axis=axes)) / beta)


def by_sliding_view(x: Array, window: tuple[int, ...]) -> Array:
    axes = tuple(range(len(window)))
    return np.asarray(sliding_window_view(x, window, axes).max(axis=tuple(-1 - axis for axis in axes)))


def by_slices(x: Array, window: tuple[int, ...], slides: bool) -> Array:
    """np.maximum over one strided slice for each element of the window."""
    stride = (1,) * len(window) if slides else window
    sizes = [(n - k) // s + 1 for n, k, s in zip(x.shape, window, stride, strict=False)]
    out: Array | None = None
    for taps in itertools.product(*map(range, window)):
        part = x[tuple(slice(t, t + (o - 1) * s + 1, s) for t, o, s in zip(taps, sizes, stride, strict=True))]
        out = part.copy() if out is None else np.maximum(out, part, out=out)
    return np.asarray(out)


def by_slices_per_axis(x: Array, window: tuple[int, ...]) -> Array:
    """Faster, because a maximum is separable: one axis after the other."""
    for axis, k in enumerate(window):
        x = by_slices(x, tuple(k if i == axis else 1 for i in range(len(window))), slides=True)
    return x


# ---------------------------------------------------------------------------------------------------- the cases


@dataclass(frozen=True)
class Case:
    """One call of a pooling function on the leading axes of ``x``, and NumPy's ways to compute the same."""

    name: str
    what: str
    x: Array
    window: tuple[int, ...]
    idioms: Mapping[str, Idiom]
    beta: float = 0.0
    slides: bool = False

    def run(self) -> Array:
        # Looked up at each call, so that what is checked and timed is the public function as it is now.
        function = getattr(cn, self.name)
        sharpness = {"beta": self.beta} if self.beta else {}
        return np.asarray(function(self.x, self.window, stride=self.stride, axes=self.axes, **sharpness))

    def run_reference(self, x: Array) -> Array:
        geometry = self.geometry(x.shape)
        if self.name == "avg_pool":
            return reference.avg_pool(x, geometry, False, None, True)
        if self.name == "smooth_max_pool":
            return reference.smooth_max_pool(x, geometry, self.beta, 0.0)
        return reference.select(x, geometry, self.name == "max_pool", False)[0]

    def geometry(self, shape: tuple[int, ...]) -> Geometry:
        return parse_window(self.window, self.stride, axes=self.axes).on(shape)

    @property
    def axes(self) -> tuple[int, ...]:
        return tuple(range(len(self.window)))

    @property
    def stride(self) -> tuple[int, ...]:
        return (1,) * len(self.window) if self.slides else self.window

    @property
    def title(self) -> str:
        return f"{self.name} of the {self.what}, window {format_sizes(self.window)}{', stride 1' * self.slides}"


def format_sizes(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))


def make_cases(image: Array, volume: Array, quick: bool) -> list[Case]:
    out = []
    for what, x, window, beta in (("image", image, (8, 8), 0.06), ("volume", volume, (4, 4, 4), 12.0)):
        maxima = {"reshape + max": partial(by_reshape, np.max), "slicing fold": partial(by_slices, slides=False)}
        out += [
            Case("max_pool", what, x, window, maxima),
            Case("min_pool", what, x, window, {"reshape + min": partial(by_reshape, np.min)}),
            Case("avg_pool", what, x, window, {"reshape + mean": partial(by_reshape, np.mean)}),
            Case("smooth_max_pool", what, x, window, {"reshape + log sum exp": partial(by_log_sum_exp, beta)}, beta),
        ]
    sliding: Mapping[str, Idiom] = {
        "sliding_window_view + max": by_sliding_view,
        "slicing fold": partial(by_slices, slides=True),
        "slicing fold, axis by axis": by_slices_per_axis,
    }
    # NumPy's time for a sliding view grows with the size of the window: 15 x 15 takes it seconds.
    side = 7 if quick else 15
    return [*out, Case("max_pool", "image", image, (side, side), sliding, slides=True)]
