"""What was computed, as a graph, and the two ways through it: tangents forwards, cotangents backwards."""

from __future__ import annotations

import heapq
import itertools
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..backends.dispatch import bind, is_foreign
from ..ops.base import LinearOperator
from ..ops.elementwise import Add

Value = Any  # an array, a number, or a Tensor of a lower level


class LinearFunction(LinearOperator):
    """A linear operator that is given as two functions."""

    __slots__ = ("backward", "forward")

    def __init__(self, forward: Callable[[Value], Value], backward: Callable[[Value], Value]) -> None:
        self.forward, self.backward = forward, backward

    def __call__(self, t: Value) -> Value:
        return self.forward(t)

    def transpose(self, g: Value) -> Value:
        return self.backward(g)


class Primitive(NamedTuple):
    """``evaluate(*arrays, **parameters)`` gives the output; ``linearize(wanted, *values, **parameters)`` the
    output and a LinearFunction for each argument that is wanted. Without ``keeps`` it keeps none of the values."""

    name: str
    evaluate: Callable[..., Any]
    linearize: Callable[..., tuple[Value, Sequence[LinearOperator | None]]]
    keeps: bool = True


def counter() -> Callable[[], int]:
    """0, 1, 2, … from any thread."""
    count = itertools.count().__next__
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        return count
    lock = threading.Lock()  # without a GIL two threads may get the same number, or one that is out of order

    def locked() -> int:
        with lock:
            return count()

    return locked


next_number = counter()


class Node:
    """What was recorded for one Tensor: the nodes it depends on, with the derivative by each."""

    __slots__ = ("__weakref__", "number", "owner", "parents")

    def __init__(self, parents: Sequence[tuple[Node, LinearOperator]] | None, owner: object = None) -> None:
        self.number = next_number()
        self.parents = parents  # None once the graph was freed
        self.owner: Callable[[], Any] | None = None if owner is None else weakref.ref(owner)


def added(a: Value, b: Value) -> Value:
    """The sum of two arrays of one shape and dtype."""
    return bind(Add(a.shape, a.dtype), a, b)[0] if is_foreign(a) and is_foreign(b) else a + b


def backward_pass(seeds: Sequence[tuple[Node, Value]]) -> dict[Node, Value]:
    """Cotangents of all nodes that the seeded ones depend on."""
    cotangents: dict[Node, Value] = {}
    heap: list[tuple[int, Node]] = []
    pending = seeds
    while True:
        if len(pending) == 1 and not heap:  # a chain, whose next node is complete already
            ((node, g),) = pending
            cotangents[node] = g
        else:
            for node, g in pending:
                if node in cotangents:
                    cotangents[node] = added(cotangents[node], g)
                else:
                    cotangents[node] = g
                    heapq.heappush(heap, (-node.number, node))
            if not heap:
                return cotangents
            _, node = heapq.heappop(heap)  # later nodes first: each is complete when its turn comes
            g = cotangents[node]
        if node.parents is None:
            raise ValueError(
                "backward: a part of the graph was freed by an earlier backward(): compute it again. To step a "
                "parameter, change its data (w.data -= step), which is no part of a graph"
            )
        pending = [(parent, derivative.transpose(g)) for parent, derivative in node.parents]


def forward_pass(seeds: dict[Node, Value], outputs: Sequence[Node]) -> dict[Node, Value]:
    """Tangents of all nodes between the seeded ones and the outputs; a node without one has tangent zero."""
    found: set[Node] = set()
    waiting = list(outputs)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(parent for parent, _ in node.parents or ())
    tangents = dict(seeds)
    for node in sorted(found, key=lambda node: node.number):
        if node in seeds:
            continue
        parts = [derivative(tangents[p]) for p, derivative in node.parents or () if p in tangents]
        if parts:
            total = parts[0]
            for part in parts[1:]:
                total = added(total, part)
            tangents[node] = total
    return tangents


next_level = counter()
# The levels of the traces that run now, on any thread. A function may hand Tensors of its trace to other threads, so no
# two traces have the same level, and a trace within another one has the higher level wherever it runs.
active_levels: set[int] = set()


class trace_level:  # noqa: N801  reads as the statement it is
    """A level above those of all traces so far, for the time of a ``with``. Level 0 is that of users' Tensors."""

    def __enter__(self) -> int:
        self.level = next_level() + 1
        active_levels.add(self.level)
        return self.level

    def __exit__(self, *_: object) -> None:
        active_levels.discard(self.level)
