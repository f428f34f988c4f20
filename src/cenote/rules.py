"""How each pooling operation linearises: one rule, both modes, every order.

The functions here take an array or a Tensor and a Geometry. On arrays they are the primitives; on Tensors they are
recorded with their derivative, which is made of linear maps and of elementwise functions and so has derivatives
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from . import primitives
from .arrays import Array, as_array
from .elementwise import fit, form_of, unfit
from .geometry import Geometry
from .graph import Derivative, Linear, Primitive, Value
from .linear import Divide, Mask, Put, Take, Tied, Unpooled, WindowAverage, WindowSum, Winner
from .tensor import Chain, Tensor, bind, data_of, linear

Linears = tuple[Value, Sequence[Derivative | None]]


def operand(x: object, name: str = "x") -> Any:
    """What a user passed: a Tensor as it is, anything else as an array."""
    return x if isinstance(x, Tensor) else as_array(x, name)


# ------------------------------------------------------------------------------------------ sums and averages


def linearize_sum(wanted: Sequence[bool], x: Value, *, geometry: Geometry, omit: bool) -> Linears:
    kept = [Mask(~np.isnan(data_of(x)))] if omit else []
    return sum_pool(x, geometry, omit), [Chain(*kept, WindowSum(geometry))]


SUM = Primitive("sum_pool", primitives.sum_pool, linearize_sum)


def sum_pool(x: Value, geometry: Geometry, omit: bool) -> Any:
    if not isinstance(x, Tensor):
        return primitives.sum_pool(x, geometry, omit)
    return bind(SUM, x, geometry=geometry, omit=omit)


def linearize_average(
    wanted: Sequence[bool], x: Value, *, geometry: Geometry, omit: bool, divisor: float | None, include_pad: bool
) -> Linears:
    even = geometry.even_count(include_pad) if divisor is None else divisor
    if even and not omit:
        return avg_pool(x, geometry, omit, divisor, include_pad), [Chain(WindowAverage(geometry, even))]
    gone = np.isnan(data_of(x)) if omit else None
    by: Any = geometry.counts(include_pad) if divisor is None else np.float64(divisor)
    if gone is not None and divisor is None:
        by = by - primitives.sum_pool(gone, geometry, False)
    # A window with nothing to divide has no cell to follow either: any divisor but 0 will do.
    by = np.where(by == 0, 1, by)
    kept = [] if gone is None else [Mask(~gone)]
    out = avg_pool(x, geometry, omit, divisor, include_pad)
    return out, [Chain(*kept, WindowSum(geometry), Divide(by))]


AVERAGE = Primitive("avg_pool", primitives.avg_pool, linearize_average)


def avg_pool(x: Value, geometry: Geometry, omit: bool, divisor: float | None, include_pad: bool) -> Any:
    if not isinstance(x, Tensor):
        return primitives.avg_pool(x, geometry, omit, divisor, include_pad)
    return bind(AVERAGE, x, geometry=geometry, omit=omit, divisor=divisor, include_pad=include_pad)


# ---------------------------------------------------------------------------------------------- max and min


def evaluate_pick(x: Array, *, geometry: Geometry, largest: bool, omit: bool, split: bool) -> Array:
    return primitives.pick(x, geometry, largest, omit, False)[0]


def linearize_pick(
    wanted: Sequence[bool], x: Value, *, geometry: Geometry, largest: bool, omit: bool, split: bool
) -> Linears:
    data = data_of(x)
    values, offsets = primitives.winners(data, geometry, largest, omit)
    winner = Winner(geometry, offsets)
    out = values if x is data else bind(PICK, x, geometry=geometry, largest=largest, omit=omit, split=split)
    return out, [Chain(Tied(geometry, data, values, winner) if split else winner)]


PICK = Primitive("pick", evaluate_pick, linearize_pick)


def pick(
    x: Value, geometry: Geometry, largest: bool, omit: bool, indices: bool, split: bool = False
) -> tuple[Any, Array | None]:
    """Values and, if asked for, flat indices: a plain array."""
    if not isinstance(x, Tensor):
        return primitives.pick(x, geometry, largest, omit, indices)
    where = primitives.pick(data_of(x), geometry, largest, omit, True)[1] if indices else None
    return bind(PICK, x, geometry=geometry, largest=largest, omit=omit, split=split), where


# ---------------------------------------------------------------------------------- weights: lp and smooth max
#
# Both derivatives are Σ weight(x, y)·t over the window, with weights of at most 1. They are computed in double
# precision: as products of a factor of x and a factor of y where these are moderate numbers, otherwise tap by tap
# from ratios or differences, which are moderate always.


DOUBLE = np.dtype(np.float64)
Weights = Callable[[], Iterator[tuple[Any, Any, Value]]]


def by_factors(
    x: Value, y: Value, geometry: Geometry, of_cell: Callable[[], Value], of_window: Callable[[], Value]
) -> Linear:
    """The derivative whose weights are a factor of the cell times a factor of the window."""
    before, after = form_of(x), form_of(y)

    def apply(t: Value) -> Value:
        held = np.multiply(of_cell(), fit(t, before.shape, DOUBLE))
        return fit(np.multiply(of_window(), linear(held, WindowSum(geometry))), *after)

    def transpose(g: Value) -> Value:
        held = np.multiply(of_window(), fit(g, after.shape, DOUBLE))
        return unfit(np.multiply(of_cell(), linear(held, WindowSum(geometry).T)), *before)

    return Linear(apply, transpose)


def by_taps(x: Value, y: Value, weights: Weights) -> Linear:
    """The derivative whose weights come tap by tap, with the windows and the cells that they are for."""
    before, after = form_of(x), form_of(y)

    def apply(t: Value) -> Value:
        held, total = fit(t, before.shape, DOUBLE), np.zeros(after.shape)
        for to, of, weight in weights():
            part = np.multiply(weight, linear(held, Take(before.shape, of)))
            total = np.add(total, linear(part, Put(after.shape, to)))
        return fit(total, *after)

    def transpose(g: Value) -> Value:
        held, total = fit(g, after.shape, DOUBLE), np.zeros(before.shape)
        for to, of, weight in weights():
            part = np.multiply(weight, linear(held, Take(after.shape, to)))
            total = np.add(total, linear(part, Put(before.shape, of)))
        return unfit(total, *before)

    return Linear(apply, transpose)


def shares(
    x: Value, geometry: Geometry, start: Array, term: Any, numerator: Any, finish: Callable[[Value], Value]
) -> Weights:
    """Weights numerator(cell)·finish(start + Σ term(cell)): of one window's cells only, so that they are exact
    however far its numbers are from another's."""

    def weights() -> Iterator[tuple[Any, Any, Value]]:
        shape, out = geometry.shape, geometry.out_shape
        wide = fit(x, shape, DOUBLE)
        taps = [(to, of, linear(wide, Take(shape, of))) for to, of in geometry.taps()]
        total: Value = start
        for to, _, cell in taps:
            total = np.add(total, linear(term(cell, to), Put(out, to)))
        factor = finish(total)
        for to, of, cell in taps:
            yield to, of, np.multiply(numerator(cell, to), linear(factor, Take(out, to)))

    return weights


MODERATE = 300.0


def linearize_power(wanted: Sequence[bool], x: Value, *, q: float, odd: bool) -> Linears:
    def factor() -> Value:
        return np.multiply(q, power(x, q - 1, not odd))

    return power(x, q, odd), [Linear(lambda t: np.multiply(t, factor()), lambda g: np.multiply(g, factor()))]


def evaluate_power(x: Array, *, q: float, odd: bool) -> Array:
    """|x|^q, with the sign of x if ``odd``. At 0 it is 0, but for |x|^0, which is 1."""
    size = np.abs(x)
    if q == 0 and not odd:
        return np.ones_like(size)
    zero = size == 0
    with np.errstate(all="ignore"):
        out = np.where(zero, 0.0, np.where(zero, 1.0, size) ** q)
    return out * np.sign(x) if odd else out


POWER = Primitive("power", evaluate_power, linearize_power)


def power(x: Value, q: float, odd: bool) -> Any:
    return bind(POWER, x, q=q, odd=odd)


def linearize_lp(wanted: Sequence[bool], x: Value, *, geometry: Geometry, p: float) -> Linears:
    """The weight of a cell is sign(x)·(|x|/y)^(p−1); all-zero windows have none."""
    y = lp_pool(x, geometry, p)
    size = np.abs(data_of(x).astype(np.float64))
    used = size[size > 0]
    if not used.size or bool(np.isfinite(used).all() and np.abs(np.log(used)).max() * max(p, 1) < MODERATE):
        cells, windows = (fit(v, data_of(v).shape, DOUBLE) for v in (x, y))
        return y, [by_factors(x, y, geometry, lambda: power(cells, p - 1, True), lambda: power(windows, 1 - p, False))]
    largest = primitives.pick(size, geometry, True, False, False)[0]
    pivot = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)

    def ratio(cell: Value, to: Any) -> Value:
        return np.true_divide(cell, pivot[to])

    weights = shares(
        x,
        geometry,
        np.zeros(geometry.out_shape),
        lambda cell, to: power(ratio(cell, to), p, False),
        lambda cell, to: power(ratio(cell, to), p - 1, True),
        lambda total: power(total, 1 / p - 1, False),
    )
    return y, [by_taps(x, y, weights)]


LP = Primitive("lp_pool", primitives.lp_pool, linearize_lp)


def lp_pool(x: Value, geometry: Geometry, p: float) -> Any:
    if p >= primitives.SAME_AS_INFINITE_P and isinstance(x, Tensor) and not x.constant:
        largest = pick(np.absolute(x), geometry, True, False, False)[0]
        return np.where(geometry.counts(False) == 0, np.zeros((), x.dtype), largest)
    return bind(LP, x, geometry=geometry, p=p)


def linearize_smooth(
    wanted: Sequence[bool], x: Value, *, geometry: Geometry, beta: float, pad_value: float | None
) -> Linears:
    """The weight of a cell is exp(β(x − y)); infinite cells share evenly in an infinite result."""
    y = smooth_max_pool(x, geometry, beta, pad_value)
    data, out = data_of(x).astype(np.float64), data_of(y).astype(np.float64)
    if data.size and out.size and np.isfinite(data).all() and np.isfinite(out).all():
        # Padded cells may lie far from all real ones, and so may the windows that see nothing else.
        low, high = min(float(data.min()), float(out.min())), max(float(data.max()), float(out.max()))
        if (high / 2 - low / 2) * abs(beta) < MODERATE:
            middle = low / 2 + high / 2  # weights do not depend on it, it only keeps both factors moderate
            cells, windows = (fit(v, data_of(v).shape, DOUBLE) for v in (x, y))
            of_cell = partial(exponential, cells, middle, beta)
            return y, [by_factors(x, y, geometry, of_cell, partial(exponential, windows, middle, -beta))]

    pivot = primitives.pick(data, geometry, beta > 0, False, False)[0]
    pads = np.zeros(out.shape)
    if pad_value is not None:
        pads = np.broadcast_to(geometry.counts(True) - geometry.counts(False), out.shape).astype(float)
        pivot = np.where(pads > 0, np.maximum(pivot, pad_value) if beta > 0 else np.minimum(pivot, pad_value), pivot)
    infinite = np.isinf(pivot)
    held = np.where(infinite, 0.0, pivot)
    with np.errstate(over="ignore", invalid="ignore"):
        padding = 0.0 if pad_value is None else pads * np.exp(np.where(infinite, -np.inf, beta * (pad_value - held)))

    def term(cell: Value, to: Any) -> Value:
        flat = infinite[to]
        even = (data_of(cell) == pivot[to]).astype(float)
        # inf − inf must not be formed, not even where it is not used: its derivative would be.
        return np.where(flat, even, exponential(np.where(flat, 0.0, cell), held[to], beta))

    weights = shares(x, geometry, np.where(np.isnan(padding), 0.0, padding), term, term, reciprocal)
    return y, [by_taps(x, y, weights)]


def exponential(x: Value, middle: Any, beta: float) -> Value:
    return np.exp(np.multiply(beta, np.subtract(x, middle)))


def reciprocal(x: Value) -> Value:
    """1/x, and 1 for a sum of nothing."""
    return np.true_divide(1.0, np.where(np.equal(x, 0), 1.0, x))


SMOOTH = Primitive("smooth_max_pool", primitives.smooth_max_pool, linearize_smooth)


def smooth_max_pool(x: Value, geometry: Geometry, beta: float, pad_value: float | None) -> Any:
    return bind(SMOOTH, x, geometry=geometry, beta=beta, pad_value=pad_value)


# --------------------------------------------------------------------------------------------------- unpool


def unpool(y: Value, indices: Array, positions: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    return linear(y, Unpooled(indices, positions, sizes))


# -------------------------------------------------------------------------------------------- generic windows


def no_derivative(name: str) -> Linear:
    def fail(_: Value) -> Value:
        raise TypeError(
            f"pool: {name} has no known derivative. Give it one with cn.reducer(fn, partials), where partials(a, b) "
            "gives (∂fn/∂a, ∂fn/∂b)"
        )

    return Linear(fail, fail)


def opaque(x: Tensor, value: Array, name: str) -> Tensor:
    """A result that is fine as it is, and says what is missing when a derivative is asked of it."""

    def linearize(wanted: Sequence[bool], x: Value) -> Linears:
        return (value if not isinstance(x, Tensor) else bind(blind, x)), [no_derivative(name)]

    blind = Primitive(name, lambda _: value, linearize)
    return bind(blind, x)  # type: ignore[no-any-return]
