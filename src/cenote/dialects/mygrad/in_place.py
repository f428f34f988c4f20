"""Changes of a Tensor in place: the Tensor and all its views get new values and a new history."""

from __future__ import annotations

import functools
import weakref
from typing import Any, TypeAlias

import numpy as np

from ...arguments.arrays import Array
from ...autodiff import tensor as autodiff
from ...autodiff.graph import LinearFunction, Node
from ...ops.base import LinearOperator

Target: TypeAlias = Any  # a Tensor of mygrad's, whose class is defined with the help of this file


def check_level(value: Any) -> None:
    if isinstance(value, autodiff.Tensor) and value._level:
        raise TypeError("a Tensor of mygrad's cannot be changed in place inside of vjp, jvp, linearize or grad")


def replace(target: Target, result: Any, name: str) -> None:
    """``target`` becomes ``result``, which was computed from it."""
    check_level(result)
    if result.shape != target.shape:
        raise ValueError(f"{name}: the result has shape {result.shape}, out has {target.shape}: they must agree")
    if not np.can_cast(result.dtype, target.dtype, "same_kind"):
        raise TypeError(f"{name}: the result has dtype {result.dtype}, which out cannot hold, of {target.dtype}")
    if target._base is not None:
        write(target, ..., result)
        return
    if result.dtype != target.dtype:
        result = autodiff.METHODS["astype"](result, target.dtype)
    update(target, autodiff.data_of(result), None if target.constant else result._node or Node(()))


def write(target: Target, key: Any, value: Any) -> None:
    """``target[key] = value``: the base gets a new value, and with it all its views."""
    check_level(value)
    base = target._base if target._base is not None else target
    elements: Any = np.arange(base.size).reshape(base.shape)
    if target._view is not None:
        elements = autodiff.data_of(target._view(autodiff.make(elements, 0, None)))
    elements = np.asarray(elements[key])
    new = np.array(base._value, order="C")
    entries = np.asarray(autodiff.data_of(value))
    extra = max(0, entries.ndim - elements.ndim)
    if entries.shape[:extra] == (1,) * extra:  # which NumPy leaves out
        entries = entries.reshape(entries.shape[extra:])
    new.reshape(-1)[elements] = np.broadcast_to(entries, elements.shape)
    if base._node is None:
        update(base, new, None)
        return
    parents: list[tuple[Node, LinearOperator]] = [
        (base._node, LinearFunction(refuse, functools.partial(without, elements)))
    ]
    if isinstance(value, autodiff.Tensor) and value._node is not None:
        value.grad = None  # it takes part in something new
        parents.append(
            (value._node, LinearFunction(refuse, functools.partial(taken, elements, base.size, entries.shape, value)))
        )
    update(base, new, Node(tuple(parents)))


def update(target: Target, value: Array, node: Node | None) -> None:
    """Give a Tensor and all its views their new values and histories."""
    if target._node is not None:
        target._node.owner = None  # its cotangent is that of an earlier value
    target._value, target._node, target.grad, target._apart = value, node, None, False
    if node is not None:
        node.owner = weakref.ref(target)
    for view in target.views():
        fresh = view._view(target)
        update(view, fresh._value, fresh._node)


def without(elements: Array, g: Any) -> Any:
    """The cotangent of what was there before."""
    out = np.array(g, order="C")
    out.reshape(-1)[elements] = 0
    return out


def taken(elements: Array, size: int, shape: tuple[int, ...], value: Any, g: Any) -> Any:
    """The cotangent of ``value``, broadcast from ``shape``; of several entries in one element the last one stays."""
    last = np.zeros(size, np.int64)
    order = np.arange(elements.size).reshape(elements.shape)
    last[elements] = order
    out = np.where(last[elements] == order, np.reshape(g, -1)[elements], 0)
    out = out.sum(tuple(range(out.ndim - len(shape))))
    ones = tuple(axis for axis, n in enumerate(shape) if n == 1 != out.shape[axis])
    return out.sum(ones, keepdims=True).reshape(value.shape).astype(value.dtype)


def refuse(t: Any) -> Any:
    raise TypeError("a change in place has no forward mode: use cenote.jvp on a function that makes new Tensors")
