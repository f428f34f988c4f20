"""Two small array libraries for tests: one that has shapes and dtypes but no data, and one that computes in parts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from cases import same_bits
from cenote.arguments.arrays import Array, as_array
from cenote.backends import dispatch
from cenote.ops.base import Op, Spec

Function = Callable[..., Any]


class Traced:
    """An array without data; what is done with it is recorded."""

    def __init__(self, shape: tuple[int, ...], dtype: Any, trace: Trace) -> None:
        self.shape, self.dtype, self.trace = shape, np.dtype(dtype), trace

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __add__(self, other: Traced) -> Any:
        return self.trace.bind(Add(), self, other)[0]


class Add(Op):
    """What the sum of two operators needs of an array library."""

    name = "add"

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (operands[0],)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        return (operands[0] + operands[1],)


class Trace:
    """A backend: records every Op with its operands and outputs."""

    name = "trace"

    def __init__(self) -> None:
        self.steps: list[tuple[Op, tuple[Any, ...], tuple[Traced, ...]]] = []

    def owns(self, kind: type) -> bool:
        return kind is Traced

    def operand(self, x: Any, name: str) -> Any:
        return x if isinstance(x, Traced) else as_array(x, name)

    def spec(self, x: Any) -> Spec:
        return Spec(x.shape, x.dtype)

    def bind(self, op: Op, *operands: Any) -> tuple[Any, ...]:
        hash(op)  # a compiler would keep it as a key
        outputs = tuple(Traced(*spec, self) for spec in op.infer(*map(self.spec, operands)))
        self.steps.append((op, operands, outputs))
        return outputs

    def array(self, shape: tuple[int, ...], dtype: Any) -> Traced:
        return Traced(shape, dtype, self)

    def replay(self, inputs: dict[Traced, Array], wanted: Traced) -> Array:
        """The recording on data: nothing but Ops."""
        known: dict[int, Array] = {id(traced): data for traced, data in inputs.items()}
        for op, operands, outputs in self.steps:
            data = [known[id(x)] if isinstance(x, Traced) else x for x in operands]
            for traced, result in zip(outputs, op.evaluate(*data), strict=True):
                assert result.shape == traced.shape, op
                assert result.dtype == traced.dtype, op
                known[id(traced)] = result
        return known[id(wanted)]


class Cut:
    """An array whose results are computed in parts."""

    def __init__(self, data: Array) -> None:
        self.data = data

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def ndim(self) -> int:
        return self.data.ndim

    def __add__(self, other: Cut) -> Cut:
        return Cut(self.data + other.data)


class Parts:
    """A backend: every output is cut at random places, and each part computed from what it needs."""

    name = "parts"

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def owns(self, kind: type) -> bool:
        return kind is Cut

    def operand(self, x: Any, name: str) -> Any:
        return x if isinstance(x, Cut) else as_array(x, name)

    def spec(self, x: Any) -> Spec:
        return Spec(x.shape, x.dtype)

    def cuts(self, n: int) -> list[tuple[int, int]]:
        places = np.unique(np.concatenate(([0, n], self.rng.integers(0, n + 1, self.rng.integers(0, 4)))))
        return [(int(a), int(b)) for a, b in itertools.pairwise(places)] or [(0, 0)]

    def bind(self, op: Op, *operands: Any) -> tuple[Any, ...]:
        specs = [self.spec(x) for x in operands]
        data = [x.data if isinstance(x, Cut) else x for x in operands]
        outputs = [np.empty(spec.shape, spec.dtype) for spec in op.infer(*specs)]
        axes = [self.cuts(n) for n in outputs[0].shape]
        for place in np.ndindex(*map(len, axes)):
            ranges = [axis[i] for axis, i in zip(axes, place, strict=True)]
            part, needed = op.block(ranges, *specs)
            given = [np.array(x[s]) for x, s in zip(data, needed, strict=True)]
            results = part.evaluate(*given)
            inferred = part.infer(*(Spec(x.shape, x.dtype) for x in given))
            assert [Spec(r.shape, r.dtype) for r in results] == list(inferred), op
            for output, result in zip(outputs, results, strict=True):
                output[tuple(slice(*r) for r in ranges)] = result
        return tuple(map(Cut, outputs))


@contextmanager
def registered(backend: Any) -> Iterator[Any]:
    dispatch.register(backend)
    try:
        yield backend
    finally:
        dispatch.unregister(backend)


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, or the message that it ends with."""
    try:
        with np.errstate(all="ignore"):
            return call()
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def check_traced(f: Function, *arrays: Any) -> None:
    """f on arrays without data: the shape and dtype of the real result; replayed: its bits."""
    expected = outcome(lambda: f(*arrays))
    with registered(Trace()) as trace:
        inputs = [trace.array(x.shape, x.dtype) for x in arrays]
        got = outcome(lambda: f(*inputs))
        if isinstance(expected, str):
            assert got == expected
            return
        for traced, real in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, expected)), strict=True):
            if isinstance(traced, Traced):
                assert (traced.shape, traced.dtype) == (real.shape, real.dtype)
                with np.errstate(all="ignore"):
                    assert same_bits(trace.replay(dict(zip(inputs, arrays, strict=True)), traced), real)
            else:  # does not depend on the data
                np.testing.assert_array_equal(traced, real)
