"""How a convolution linearises: one form of three arrays, linear in each, and so its derivatives are itself.

T(x, w, y) = Σ x·w·y over the cells that meet. Without y it is a convolution, without x a transposed one, without w
what a filter's gradient is: whichever of the three is made, the derivative by one of the other two is the same form,
with a tangent in that one's place, and its transpose is the form that makes that one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from . import primitives
from .arrays import Array, native
from .convolving import convolve
from .elementwise import Form, fit, form_of, unfit
from .frame import Frame
from .geometry import Axis, Geometry
from .graph import Linear, Primitive, Value
from .tensor import bind, data_of, linear

Linears = tuple[Value, Sequence[Linear | None]]
# What each of the three is made of, in the order of the primitive's arguments.
GIVEN = {"y": ("x", "w"), "x": ("w", "y"), "w": ("x", "y")}


def evaluate(a: Array, b: Array, *bias: Array, frame: Frame, result: str) -> Array:
    first, second = GIVEN[result]
    return convolve(frame, result, {first: a, second: b}, *bias)


def linearize(wanted: Sequence[bool], a: Value, b: Value, *bias: Value, frame: Frame, result: str) -> Linears:
    out = bind(CONVOLVE, a, b, *bias, frame=frame, result=result)
    whole = form_of(out)  # not the array: a value that a derivative holds has to be copied for the user
    first, second = GIVEN[result]
    by = [
        derivative(frame, result, whole, first, a, second, b) if wanted[0] else None,
        derivative(frame, result, whole, second, b, first, a) if wanted[1] else None,
    ]
    return out, by + [by_bias(whole, offset, frame) if wanted[2] else None for offset in bias]


def derivative(frame: Frame, result: str, whole: Form, role: str, value: Value, other: str, held: Value) -> Linear:
    """The derivative of ``result`` by ``role``, where ``other`` is held."""
    before = form_of(value)

    def apply(t: Value) -> Value:
        t = fit(t, before.shape, whole.dtype)
        return fit(contract(frame, result, {role: t, other: held}), whole.shape, whole.dtype)

    def transpose(g: Value) -> Value:
        return unfit(contract(frame, role, {result: g, other: held}), before.shape, native(before.dtype))

    return Linear(apply, transpose)


def by_bias(whole: Form, bias: Value, frame: Frame) -> Linear:
    """A bias goes to all cells of its channel."""
    dtype = native(data_of(bias).dtype)
    total = ChannelSum(whole.shape, frame.channel_axis)
    return Linear(
        lambda t: linear(fit(t, (whole.shape[frame.channel_axis],), whole.dtype), total.T),
        lambda g: unfit(linear(g, total), (whole.shape[frame.channel_axis],), dtype),
    )


CONVOLVE = Primitive("convolve", evaluate, linearize)


def contract(frame: Frame, result: str, operands: Mapping[str, Value], bias: Value | None = None) -> Any:
    """x, w or y of the other two, recorded."""
    first, second = GIVEN[result]
    a, b = operands[first], operands[second]
    if bias is None:
        return bind(CONVOLVE, a, b, frame=frame, result=result)
    return bind(CONVOLVE, a, b, bias, frame=frame, result=result)


# ------------------------------------------------------------------------------------------------- the bias


@dataclass(frozen=True, eq=False)
class ChannelSum:
    """The sum over all axes but one: as exact, as fast and as reproducible as one large window."""

    shape: tuple[int, ...]
    axis: int

    def __call__(self, x: Array) -> Array:
        if not x.size or len(self.shape) == 1:
            return x if len(self.shape) == 1 else np.zeros(self.shape[self.axis], x.dtype)
        return primitives.sum_pool(x, self.geometry, False).reshape(-1).astype(x.dtype, copy=False)

    @cached_property
    def geometry(self) -> Geometry:
        axes = tuple(Axis(i, n, 1, n, n, 1, 0, 0) for i, n in enumerate(self.shape) if i != self.axis)
        return Geometry(self.shape, axes)

    @property
    def T(self) -> ChannelSpread:  # noqa: N802
        return ChannelSpread(self)


@dataclass(frozen=True, eq=False)
class ChannelSpread:
    """One number per channel to all cells of its channel."""

    T: ChannelSum

    def __call__(self, x: Array) -> Array:
        after = len(self.T.shape) - self.T.axis - 1
        return np.broadcast_to(x.reshape(-1, *(1,) * after), self.T.shape)
