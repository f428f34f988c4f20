"""Computing primitives, Ops and linear maps on Tensors: each is recorded at the highest level among its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backends import dispatch
from ..ops.base import LinearOperator, Op
from .graph import Node, Primitive, Value
from .tensor import Tensor, data_of, make


def bind(primitive: Primitive, *args: Value, **parameters: Any) -> Any:
    """Compute a primitive, recording it if one of its arguments is."""
    level = level_of(args)
    if level < 0:
        out = primitive.evaluate(*(data_of(arg) for arg in args), **parameters)
        return make(np.asarray(out), 0, None) if any(isinstance(arg, Tensor) for arg in args) else out
    values, wanted = taken_apart(args, level)
    out, derivatives = primitive.linearize(wanted, *values, **parameters)
    return make(as_value(out), level, Node(parents_of(args, wanted, derivatives)))


def apply(op: Op, *args: Value) -> tuple[Value, ...]:
    """Compute an Op, recording it if one of its arguments is. The first output is a Tensor, others are plain arrays."""
    for arg in args:
        if type(arg) is not np.ndarray:
            break
    else:
        return op.evaluate(*args)
    level, tensors = -1, False
    for arg in args:
        if isinstance(arg, Tensor):
            tensors = True
            if arg._node is not None and arg._level > level:
                level = arg._level
    if not tensors:
        return dispatch.bind(op, *args)
    if level < 0:
        outputs = dispatch.bind(op, *map(data_of, args))
        return make(outputs[0], 0, None), *outputs[1:]
    values, wanted = taken_apart(args, level)
    outputs, derivatives = op.linearize(apply, wanted, *values)
    parents = parents_of(args, wanted, derivatives)
    if parents:
        value = make(outputs[0], level, Node(parents))
    else:  # a constant here, but perhaps not at a lower level
        value = outputs[0] if isinstance(outputs[0], Tensor) else make(outputs[0], 0, None)
    return (value,) if len(outputs) == 1 else (value, *map(data_of, outputs[1:]))


def level_of(args: Sequence[Value]) -> int:
    """The highest level at which an argument is recorded, −1 if none is."""
    level = -1
    for arg in args:
        if isinstance(arg, Tensor) and arg._node is not None and arg._level > level:
            level = arg._level
    return level


def taken_apart(args: Sequence[Value], level: int) -> tuple[list[Value], list[bool]]:
    """The values of arguments below ``level``, and which of them are recorded there."""
    values, wanted = [], []
    for arg in args:
        if isinstance(arg, Tensor):
            mine = arg._node is not None and arg._level == level
            if mine and level == 0:
                arg.grad = None  # it takes part in something new
            values.append(arg._value if mine or arg._node is None else arg)
            wanted.append(mine)
        else:
            values.append(arg)
            wanted.append(False)
    return values, wanted


def parents_of(
    args: Sequence[Value], wanted: Sequence[bool], derivatives: Sequence[LinearOperator | None]
) -> tuple[tuple[Node, LinearOperator], ...]:
    found = [
        (arg._node, derivative)
        for arg, derivative, mine in zip(args, derivatives, wanted, strict=True)
        if mine and derivative is not None
    ]
    return tuple(found)


def as_value(out: Value) -> Value:
    return out if type(out) is np.ndarray or isinstance(out, Tensor) else np.asarray(out)


class Mapped(LinearOperator):
    """A linear map of this package's as the derivative of what it was applied to."""

    __slots__ = ("map",)

    def __init__(self, map: Any) -> None:
        self.map = map

    def __call__(self, t: Value) -> Value:
        return linear(t, self.map)

    def transpose(self, g: Value) -> Value:
        return linear(g, self.map.T)


def linear(x: Value, map: Any) -> Any:
    """Apply a linear map to anything, recording it if ``x`` is: the one rule for all of them."""
    if not isinstance(x, Tensor):
        return map(x if type(x) is np.ndarray else np.asarray(x))
    out = linear(x._value, map)
    if x._node is None:
        return make(np.asarray(out), 0, None)
    if x._level == 0:
        x.grad = None  # it takes part in something new
    return make(as_value(out), x._level, Node(((x._node, Mapped(map)),)))
