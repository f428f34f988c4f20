"""NumPy's elementwise functions on Tensors: what each is, and its partial derivatives.

A partial derivative is written with NumPy functions on values that may be Tensors themselves, so that it has
derivatives too, or is a number. ``None`` stands for 1 and saves the product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .graph import LinearFunction, Primitive, Value
from .linear import Broadcast, Cast, Mask, SumTo
from .recording import as_value, bind
from .tensor import UFUNCS, data_of, make

Partial = Callable[..., Value]


class Form(NamedTuple):
    """What a derivative remembers of an array whose numbers it does not need."""

    shape: tuple[int, ...]
    dtype: Any


def form_of(value: Value) -> Form:
    held = data_of(value)
    if not hasattr(held, "dtype"):
        held = np.asarray(held)
    return Form(held.shape, held.dtype)


def broadcast_to_dtype(t: Value, shape: tuple[int, ...], dtype: Any) -> Value:
    """A tangent with the output's shape and dtype."""
    held = data_of(t)
    if held.shape != shape:
        t = Broadcast(held.shape, shape)(t)
    return t if held.dtype == dtype else Cast(held.dtype, dtype)(t)


def unbroadcast(g: Value, shape: tuple[int, ...], dtype: Any) -> Value:
    """A cotangent with the argument's shape and dtype."""
    held = data_of(g)
    if held.shape != shape:
        g = SumTo(held.shape, shape)(g)
    return g if held.dtype == dtype else Cast(held.dtype, dtype)(g)


def multiplied(value: Value, out: Value, partial: Callable[[], Value] | None) -> LinearFunction:
    """The derivative of an elementwise function by one argument, of which ``partial()`` is the factor."""
    before, after = form_of(value), form_of(out)

    def apply(t: Value) -> Value:
        return broadcast_to_dtype(t if partial is None else np.multiply(t, partial()), *after)

    def transpose(g: Value) -> Value:
        return unbroadcast(g if partial is None else np.multiply(g, partial()), *before)

    return LinearFunction(apply, transpose)


def masked(value: Value, out: Value, mask: Any) -> LinearFunction:
    """The derivative of a function that passes an argument on where ``mask`` holds."""
    before, after = form_of(value), form_of(out)
    mask = np.broadcast_to(mask, after.shape)

    def apply(t: Value) -> Value:
        return Mask(mask)(broadcast_to_dtype(t, *after))

    def transpose(g: Value) -> Value:
        return unbroadcast(Mask(mask)(g), *before)

    return LinearFunction(apply, transpose)


def smooth(ufunc: Any, *partials: Partial | float | None) -> None:
    """Register a ufunc with its partial derivatives, numbers or functions of its arguments and its output."""

    def linearize(wanted: Sequence[bool], *values: Value) -> tuple[Value, Sequence[LinearFunction | None]]:
        out = ufunc(*values)

        def factor(partial: Partial | float | None) -> Callable[[], Value] | None:
            if partial is None:
                return None
            return (lambda: partial(*values, out)) if callable(partial) else (lambda: partial)

        return out, [
            multiplied(value, out, factor(partial)) if want else None
            for value, partial, want in zip(values, partials, wanted, strict=True)
        ]

    register(ufunc, Primitive(ufunc.__name__, ufunc, linearize, keeps=any(map(callable, partials))))


def choosing(ufunc: Any, takes_first: Callable[[Any, Any], Any]) -> None:
    """Register a ufunc that gives one of its two arguments; ``takes_first`` says where it is the first."""

    def linearize(wanted: Sequence[bool], a: Value, b: Value) -> tuple[Value, Sequence[LinearFunction | None]]:
        out = ufunc(a, b)
        first = takes_first(data_of(a), data_of(b))
        return out, [masked(a, out, first), masked(b, out, np.logical_not(first))]

    register(ufunc, Primitive(ufunc.__name__, ufunc, linearize, keeps=False))


DIFFERENTIABLE: set[Any] = set()


def register(ufunc: Any, primitive: Primitive) -> None:
    DIFFERENTIABLE.add(ufunc)
    UFUNCS[ufunc] = lambda *args: bind(primitive, *args)


def flat(ufunc: Any) -> None:
    """Register a ufunc that is constant almost everywhere: its result is a constant Tensor."""
    UFUNCS[ufunc] = lambda *args: make(as_value(ufunc(*(data_of(arg) for arg in args))), 0, None)


def plain(ufunc: Any) -> None:
    """Register a ufunc whose result is a plain array: comparisons, tests."""
    UFUNCS[ufunc] = lambda *args: ufunc(*(data_of(arg) for arg in args))


def real_only(a: Value) -> Value:
    if np.iscomplexobj(data_of(a)):
        raise TypeError("the absolute value of a complex number has no complex derivative")
    return np.sign(data_of(a))


def powered(a: Value, b: Value, out: Value) -> Value:
    """∂(aᵇ)/∂a = b·aᵇ⁻¹, which is 0 for b = 0 also where 1/a is not finite."""
    infinite = np.equal(b, 0) & (np.absolute(data_of(a)) < 1e-30)
    base = np.power(a, np.where(infinite, 1, np.subtract(b, 1)))
    return np.multiply(b, base)


def logged(a: Value, b: Value, out: Value) -> Value:
    """∂(aᵇ)/∂b, which is 0 for a = 0."""
    return np.multiply(out, np.log(np.where(np.equal(a, 0), np.ones((), form_of(a).dtype), a)))


smooth(np.add, None, None)
smooth(np.subtract, None, -1.0)
smooth(np.multiply, lambda a, b, out: b, lambda a, b, out: a)
smooth(
    np.true_divide,
    lambda a, b, out: np.reciprocal(np.multiply(b, 1.0)),
    lambda a, b, out: np.negative(np.true_divide(out, b)),
)
smooth(np.negative, -1.0)
smooth(np.positive, None)
smooth(np.power, powered, logged)
smooth(np.float_power, powered, logged)
smooth(np.exp, lambda a, out: out)
smooth(np.exp2, lambda a, out: np.multiply(out, np.log(2.0)))
smooth(np.expm1, lambda a, out: np.add(out, 1.0))
smooth(np.log, lambda a, out: np.reciprocal(a))
smooth(np.log2, lambda a, out: np.true_divide(1 / np.log(2.0), a))
smooth(np.log10, lambda a, out: np.true_divide(1 / np.log(10.0), a))
smooth(np.log1p, lambda a, out: np.reciprocal(np.add(a, 1.0)))
smooth(np.sqrt, lambda a, out: np.true_divide(0.5, out))
smooth(np.cbrt, lambda a, out: np.true_divide(1 / 3, np.square(out)))
smooth(np.square, lambda a, out: np.multiply(2.0, a))
smooth(np.reciprocal, lambda a, out: np.negative(np.square(out)))
smooth(np.sin, lambda a, out: np.cos(a))
smooth(np.cos, lambda a, out: np.negative(np.sin(a)))
smooth(np.tan, lambda a, out: np.add(np.square(out), 1.0))
smooth(np.arcsin, lambda a, out: np.reciprocal(np.sqrt(np.subtract(1.0, np.square(a)))))
smooth(np.arccos, lambda a, out: np.negative(np.reciprocal(np.sqrt(np.subtract(1.0, np.square(a))))))
smooth(np.arctan, lambda a, out: np.reciprocal(np.add(np.square(a), 1.0)))
smooth(np.sinh, lambda a, out: np.cosh(a))
smooth(np.cosh, lambda a, out: np.sinh(a))
smooth(np.tanh, lambda a, out: np.subtract(1.0, np.square(out)))
smooth(np.arcsinh, lambda a, out: np.reciprocal(np.sqrt(np.add(np.square(a), 1.0))))
smooth(np.arccosh, lambda a, out: np.reciprocal(np.sqrt(np.subtract(np.square(a), 1.0))))
smooth(np.arctanh, lambda a, out: np.reciprocal(np.subtract(1.0, np.square(a))))
smooth(
    np.arctan2,
    lambda a, b, out: np.true_divide(b, np.add(np.square(a), np.square(b))),
    lambda a, b, out: np.negative(np.true_divide(a, np.add(np.square(a), np.square(b)))),
)
smooth(np.hypot, lambda a, b, out: np.true_divide(a, out), lambda a, b, out: np.true_divide(b, out))
smooth(
    np.logaddexp,
    lambda a, b, out: share(a, out, np.exp),
    lambda a, b, out: share(b, out, np.exp),
)
smooth(
    np.logaddexp2,
    lambda a, b, out: share(a, out, np.exp2),
    lambda a, b, out: share(b, out, np.exp2),
)
smooth(np.remainder, None, lambda a, b, out: np.negative(np.floor(np.true_divide(a, b))))
smooth(np.fmod, None, lambda a, b, out: np.negative(np.trunc(np.true_divide(a, b))))
smooth(np.absolute, lambda a, out: real_only(a))
smooth(np.fabs, lambda a, out: real_only(a))
smooth(np.deg2rad, np.pi / 180)
smooth(np.rad2deg, 180 / np.pi)
smooth(np.radians, np.pi / 180)
smooth(np.degrees, 180 / np.pi)


def share(a: Value, out: Value, exp: Any) -> Value:
    """exp(a − out), where out is the log of a sum of which a is one term: of infinite terms too."""
    even = np.isinf(data_of(out)) & (data_of(a) == data_of(out))
    with np.errstate(invalid="ignore"):
        difference = np.subtract(a, out)
    return exp(np.where(even, 0.0, difference))


# The first of equal arguments is followed, and the first NaN.
choosing(np.maximum, lambda a, b: ~np.greater(b, a) & ~(np.isnan(b) & ~np.isnan(a)))
choosing(np.minimum, lambda a, b: ~np.less(b, a) & ~(np.isnan(b) & ~np.isnan(a)))
choosing(np.fmax, lambda a, b: ~np.greater(b, a) & ~np.isnan(a) | np.isnan(b))
choosing(np.fmin, lambda a, b: ~np.less(b, a) & ~np.isnan(a) | np.isnan(b))

FLAT: list[Any] = [np.sign, np.floor, np.ceil, np.rint, np.trunc, np.floor_divide, np.heaviside]
PLAIN: list[Any] = [
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    np.isnan, np.isinf, np.isfinite, np.signbit, np.logical_and, np.logical_or, np.logical_not, np.logical_xor,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift,
]  # fmt: skip
for step in FLAT:
    flat(step)
for test in PLAIN:
    plain(test)


def linearize_conjugate(wanted: Sequence[bool], a: Value) -> tuple[Value, Sequence[LinearFunction | None]]:
    if np.iscomplexobj(data_of(a)):
        raise TypeError("np.conjugate: the conjugate of a complex number has no complex derivative")
    return a, [multiplied(a, a, None)]


register(np.conjugate, Primitive("conjugate", np.conjugate, linearize_conjugate, keeps=False))
