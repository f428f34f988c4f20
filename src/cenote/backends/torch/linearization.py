"""The derivative of an Op as programs on numbered values, made once for equal Ops.

``Op.linearize`` is run on slots instead of arrays, and what it computes becomes a list of steps. The linear operators
that it returns are recorded in the same way when a tangent or a cotangent first needs them. Which values are kept
between a forward and a backward pass, and which are computed again, is known before there are data.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from ... import cache
from ...dtypes import is_complex, is_differentiable
from ...ops.base import Bind, LinearOperator, Op, Spec, Value

Lookup: TypeAlias = Callable[[int], Value]
lock = threading.RLock()  # of recording


class Slot(NamedTuple):
    """A value that has a number: operands come first, then what the steps compute."""

    number: int
    spec: Spec
    recorder: Recorder

    def __add__(self, other: Slot) -> Slot:  # type: ignore[override]
        (total,) = self.recorder.add(None, (self, other), (self.spec,))
        return total


class Step(NamedTuple):
    """One Op, or None for a sum, with the numbers of its operands and of its first output."""

    op: Op | None
    operands: tuple[int, ...]
    first: int
    outputs: int

    def run(self, bind: Bind, find: Lookup) -> tuple[Value, ...]:
        values = [find(number) for number in self.operands]
        return (values[0] + values[1],) if self.op is None else bind(self.op, *values)


class Recorder:
    """Records Ops instead of computing them."""

    def __init__(self, specs: Sequence[Spec]) -> None:
        self.steps: list[Step] = []
        self.slots = [Slot(i, spec, self) for i, spec in enumerate(specs)]

    def __call__(self, op: Op, *operands: Slot) -> tuple[Slot, ...]:
        return self.add(op, operands, op.infer(*(slot.spec for slot in operands)))

    def add(self, op: Op | None, operands: Sequence[Slot], specs: Sequence[Spec]) -> tuple[Slot, ...]:
        first = len(self.slots)
        self.slots += [Slot(first + i, spec, self) for i, spec in enumerate(specs)]
        self.steps.append(Step(op, tuple(slot.number for slot in operands), first, len(specs)))
        return tuple(self.slots[first:])


class Program(NamedTuple):
    """A function of one value and of those that were kept."""

    argument: int
    steps: tuple[Step, ...]
    result: int

    def run(self, bind: Bind, find: Lookup, x: Value) -> Value:
        if len(self.steps) == 1:  # most of them
            op, operands, _, _ = self.steps[0]
            if op is not None:
                return bind(op, *[x if n == self.argument else find(n) for n in operands])[0]
        known = {self.argument: x}

        def get(number: int) -> Value:
            return known[number] if number in known else find(number)

        for step in self.steps:
            known.update(enumerate(step.run(bind, get), step.first))
        return get(self.result)


class Linearization:
    """See :func:`linearization`."""

    def __init__(self, op: Op, wanted: tuple[bool, ...], specs: list[Spec]) -> None:
        self.recorder = Recorder(specs)
        operands = tuple(self.recorder.slots)
        outputs, self.derivatives = op.linearize(self.recorder, wanted, *operands)
        self.operands = [slot.spec for slot in operands]
        self.result = outputs[0].spec
        self.differentiable = is_differentiable(self.result.dtype)
        self.outputs = tuple(slot.number for slot in outputs)
        self.steps = tuple(self.recorder.steps)
        only, *more = self.steps or [None]
        # The only step, if it is one on all operands, as it is for most Ops.
        self.op = only.op if only and not more and only.operands == tuple(range(len(operands))) else None
        self.step_of = {step.first + i: step for step in self.steps for i in range(step.outputs)}
        # What it does, without the sizes.
        self.outline = [(type(step.op), *step[1:]) for step in self.steps], self.outputs
        self.recomputed = False
        self.saved = self.find_saved()
        # Of the saved ones those that are neither operands nor outputs.
        self.kept = [n for n in self.saved if n >= len(operands) and n not in self.outputs]
        self.only: Any = ...
        self.programs: dict[tuple[int, bool], Program] = {}

    def find_saved(self) -> tuple[int, ...]:
        """Operands, outputs and integers. A derivative may depend on another number that was computed on the way, and
        must then be able to see how: such numbers are computed again."""
        needed = {slot.number for by in self.derivatives if by is not None for slot in residuals_of(by)}
        saved: set[int] = set()
        while needed:
            number = needed.pop()
            real = is_differentiable(self.recorder.slots[number].spec.dtype)
            if real and number in self.step_of and number not in self.outputs:
                needed.update(self.step_of[number].operands)
                self.recomputed = True
            else:
                saved.add(number)
        return tuple(sorted(saved))

    def run(self, bind: Bind, operands: Sequence[Value]) -> list[Value]:
        """All values, by number."""
        if self.op is not None:
            return [*operands, *bind(self.op, *operands)]
        values = list(operands)
        for step in self.steps:
            values.extend(step.run(bind, values.__getitem__))
        return values

    def lookup(self, bind: Bind, saved: Sequence[Value]) -> Lookup:
        """Finds values by number: those that were saved, and those that have to be computed again."""
        known = dict(zip(self.saved, saved, strict=True))
        if not self.recomputed:
            return known.__getitem__

        def find(number: int) -> Value:
            if number not in known:
                step = self.step_of[number]
                for i, value in enumerate(step.run(bind, find)):
                    known.setdefault(step.first + i, value)
            return known[number]

        return find

    def derivative(self, i: int, transposed: bool) -> Program | None:
        """From a tangent of operand ``i`` to one of the result, or transposed; None stands for zero."""
        by = self.derivatives[i]
        if by is None:
            return None
        found = self.programs.get((i, transposed))
        if found is None:
            with lock:
                found = self.programs[i, transposed] = self.record(by, self.operands[i], transposed)
        return found

    def only_cotangent(self) -> Op | None:
        """The Op from a cotangent and all that was saved to the cotangent of the only operand, if one is all of it."""
        if self.only is ...:
            real = not any(is_complex(spec.dtype) for spec in (self.result, *self.operands))
            by = self.derivative(0, True) if len(self.operands) == 1 and real else None
            step = by.steps[0] if by is not None and len(by.steps) == 1 else None
            whole = by is not None and step is not None and step.operands == (by.argument, *self.saved)
            self.only = step.op if step is not None and whole else None
        found: Op | None = self.only
        return found

    def record(self, by: LinearOperator, of_tangent: Spec, transposed: bool) -> Program:
        steps: list[Step] = []
        self.recorder.steps = steps
        argument = Slot(len(self.recorder.slots), self.result if transposed else of_tangent, self.recorder)
        self.recorder.slots.append(argument)
        result = by.transpose(argument) if transposed else by(argument)
        return Program(argument.number, tuple(steps), result.number)


def linearization(op: Op, wanted: tuple[bool, ...], specs: Callable[[], list[Spec]]) -> Linearization:
    """What computes the outputs of an Op and, from some of the values on the way, the derivatives that are wanted."""
    found: Linearization | None = cache.lookup(("linearization", op, wanted))
    if found is None:
        found = cache.insert(("linearization", op, wanted), Linearization(op, wanted, specs()), 8192)
    return found


def residuals_of(operator: LinearOperator) -> list[Slot]:
    found: list[Slot] = []

    def collect(slot: Slot) -> Slot:
        found.append(slot)
        return slot

    operator.map_residuals(collect)
    return found
