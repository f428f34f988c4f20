"""Results of functions that have no known derivative: fine as they are, until one is asked of them."""

from __future__ import annotations

from collections.abc import Sequence

from ..arguments.arrays import Array
from .graph import LinearFunction, Primitive, Value
from .recording import bind
from .tensor import Tensor


def no_derivative(name: str) -> LinearFunction:
    def fail(_: Value) -> Value:
        raise TypeError(
            f"pool: {name} has no known derivative. Give it one with cn.reducer(fn, partials), where partials(a, b) "
            "gives (∂fn/∂a, ∂fn/∂b)"
        )

    return LinearFunction(fail, fail)


def opaque(x: Tensor, value: Array, name: str) -> Tensor:
    """A result that is fine as it is, and says what is missing when a derivative is asked of it."""

    def linearize(wanted: Sequence[bool], x: Value) -> tuple[Value, Sequence[LinearFunction]]:
        return (value if not isinstance(x, Tensor) else bind(blind, x)), [no_derivative(name)]

    blind = Primitive(name, lambda _: value, linearize)
    return bind(blind, x)  # type: ignore[no-any-return]
