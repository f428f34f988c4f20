"""Computing primitives and Ops on Tensors: each is recorded at the highest trace level among its arguments.

Linear maps (``linear.py``) have one argument, and record themselves in fewer steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backends import dispatch
from ..backends.dispatch import is_foreign
from ..ops.base import LinearOperator, Op
from .graph import Node, Primitive, Value, active_levels
from .owning import borrowed
from .tensor import Tensor, current, data_of, make


def bind(primitive: Primitive, *args: Value, **parameters: Any) -> Any:
    """Compute a primitive, recording it if one of its arguments is."""
    args, level = at_level(args)
    if level < 0:
        out = primitive.evaluate(*(data_of(arg) for arg in args), **parameters)
        return make(as_value(out), 0, None) if any(isinstance(arg, Tensor) for arg in args) else out
    values, nodes, wanted = values_below(args, level)
    if primitive.keeps and level in borrowed:
        values = list(map(borrowed[level].own, values))
    out, derivatives = primitive.linearize(wanted, *values, **parameters)
    return record(as_value(out), level, nodes, derivatives)


def apply(op: Op, *args: Value) -> tuple[Value, ...]:
    """Compute an Op, recording it if one of its arguments is. The first output is a Tensor, others are plain arrays."""
    for arg in args:
        if type(arg) is not np.ndarray:
            break
    else:
        return op.evaluate(*args)
    args, level = at_level(args)
    if level < 0:
        outputs = dispatch.bind(op, *map(data_of, args))
        tensors = any(isinstance(arg, Tensor) for arg in args)
        return (make(outputs[0], 0, None), *outputs[1:]) if tensors else outputs
    values, nodes, wanted = values_below(args, level)
    outputs, derivatives = op.linearize(apply, wanted, *values)
    if level in borrowed:
        for derivative in derivatives:
            if derivative is not None:
                derivative.map_residuals(borrowed[level].own)
    value = record(outputs[0], level, nodes, derivatives)
    return (value,) if len(outputs) == 1 else (value, *map(data_of, outputs[1:]))


def record(
    out: Value, level: int, nodes: Sequence[Node | None], derivatives: Sequence[LinearOperator | None]
) -> Tensor:
    """The Tensor of an output and what it depends on. Without parents it is a constant at this level, but perhaps not
    at a lower one."""
    parents = []
    for i, node in enumerate(nodes):
        derivative = derivatives[i]
        if node is not None and derivative is not None:
            parents.append((node, derivative))
    if parents:
        return make(out, level, Node(parents))
    return out if isinstance(out, Tensor) else make(out, 0, None)


def as_value(out: Value) -> Value:
    """What a NumPy function gave as an array: it may be a number."""
    return out if type(out) is np.ndarray or isinstance(out, Tensor) or is_foreign(out) else np.asarray(out)


def at_level(args: tuple[Value, ...]) -> tuple[tuple[Value, ...], int]:
    """The arguments, and the highest level at which one of them is recorded, −1 if none is."""
    level = -1
    for arg in args:
        if isinstance(arg, Tensor) and arg._node is not None and arg._level > level:
            level = arg._level
    if level > 0 and level not in active_levels:
        return at_level(tuple(map(current, args)))
    return args, level


def values_below(args: Sequence[Value], level: int) -> tuple[list[Value], list[Node | None], list[bool]]:
    """The values of arguments below ``level``, the nodes of those that are recorded there, and which these are."""
    values: list[Value] = []
    nodes: list[Node | None] = []
    wanted: list[bool] = []
    for arg in args:
        node = None
        if isinstance(arg, Tensor):
            if arg._level and arg._level not in active_levels:
                arg = current(arg)
            if arg._node is None:
                arg = arg._value
            elif arg._level == level:
                node = arg._node
                if level == 0:
                    arg.grad = None  # it takes part in something new
                arg = arg._value
        values.append(arg)
        nodes.append(node)
        wanted.append(node is not None)
    return values, nodes, wanted
