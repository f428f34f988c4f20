"""Ops whose sizes are not known yet: ``torch.compile`` and ``torch.export`` with dynamic shapes.

A :class:`Symbolic` Op is a public call as text, the sizes of its operands, and a path: which step of which derivative
of that call's Op it is. When it is computed there are numbers, the call is made on arrays without data, and the path
leads to the Op.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import cache
from ...arguments.errors import BadType
from ...core import OFFSETS, offset_dtype_of
from ...dtypes import DType, is_known
from ...ops.base import Bind, Derivatives, LinearOperator, Op, Spec, Value
from ...ops.serialize import dtype_of
from ..dispatch import register
from .arrays import Tensor, numpy_dtype
from .linearization import Linearization, residuals_of
from .symbols import Formula, NoFormula, Pattern, Shapes, Size, formulas, pattern_of

Path: TypeAlias = tuple[Any, ...]


# ------------------------------------------------------------------------------------------------ calls as text


class Placeholder:
    """An array without data; a public function of it gives the Op that it would compute."""

    def __init__(self, spec: Spec) -> None:
        self.shape, self.dtype = spec


class Captured(Exception):
    def __init__(self, op: Op) -> None:
        self.op = op


class PlaceholderBackend:
    name = "placeholder"

    def owns(self, kind: type) -> bool:
        return kind is Placeholder

    def operand(self, x: Any, name: str) -> Any:
        return x

    def spec(self, x: Any) -> Spec:
        return Spec(x.shape, x.dtype)

    def bind(self, op: Op, *operands: Any) -> tuple[Any, ...]:
        raise Captured(op)


register(PlaceholderBackend())


def encode(value: Any, size: Callable[[torch.SymInt], Any]) -> Any:
    if isinstance(value, torch.dtype):
        return ["dtype", str(numpy_dtype(value))]
    if isinstance(value, (np.dtype, type)):
        return ["dtype", np.dtype(value).name]
    if isinstance(value, (tuple, list)):
        return ["tuple", *(encode(part, size) for part in value)]
    if isinstance(value, torch.SymInt):
        return size(value)
    if isinstance(value, torch.SymFloat):
        return float(value)
    if isinstance(value, np.ufunc):
        name = value.__name__
        if vars(np).get(name) is not value:
            raise NoFormula
        return ["ufunc", name]
    if isinstance(value, np.generic):
        return encode(value.item(), size)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise NoFormula  # a function, say


def decode(value: Any, sizes: Sequence[int]) -> Any:
    if not isinstance(value, list):
        return value
    tag, *parts = value
    if tag == "ufunc":
        return ufunc_of(parts[0])
    if tag == "size":
        return sizes[parts[0]]
    return dtype_of(parts[0]) if tag == "dtype" else tuple(decode(part, sizes) for part in parts)


def ufunc_of(name: str) -> np.ufunc:
    found = getattr(np, name, None)
    if not isinstance(found, np.ufunc):
        raise ValueError("not a call that cenote wrote")
    return found


def text_of(function: Callable[..., Any], arguments: dict[str, Any], windows_too: bool) -> tuple[str, tuple[Size, ...]]:
    """A public call as text: the tensors by name, dtype and number of axes, everything else by value. Symbols in the
    shape of a result, and in windows if these are to be kept, too, are one operand more, without a name, that has this
    shape but no data."""
    if isinstance(arguments.get("init"), np.generic):  # whose dtype the result may have
        raise NoFormula
    tensors = [[name, str(numpy_dtype(x.dtype)), x.ndim] for name, x in arguments.items() if isinstance(x, Tensor)]
    symbols: list[Size] = []

    def kept(n: torch.SymInt) -> list[Any]:
        symbols.append(n)
        return ["size", len(symbols) - 1]

    rest = {
        name: encode(value, kept if windows_too or name == "output_shape" else int)
        for name, value in arguments.items()
        if not isinstance(value, Tensor)
    }
    if symbols:
        tensors.append(["", "", len(symbols)])
    return json.dumps([function.__module__, function.__name__, tensors, rest]), tuple(symbols)


def op_of(text: str, shapes: Shapes) -> tuple[Op, list[Spec]]:
    """The Op of a call on operands of these shapes."""
    from importlib import import_module

    module, name, tensors, rest = json.loads(text)
    if not module.startswith("cenote.api."):
        raise ValueError("not a call that cenote wrote")
    sizes: Sequence[int] = ()
    if tensors and not tensors[-1][0]:
        *known, sizes = shapes
        shapes, tensors = tuple(known), tensors[:-1]
    specs = [Spec(shape, dtype_of(dtype)) for shape, (_, dtype, _) in zip(shapes, tensors, strict=True)]
    arguments = {name: Placeholder(spec) for spec, (name, *_) in zip(specs, tensors, strict=True)}
    function = getattr(import_module(module), name).__wrapped__
    try:
        function(**arguments, **{name: decode(value, sizes) for name, value in rest.items()})
    except Captured as found:
        return found.op, specs
    raise BadType(f"{name} computes nothing")


def concrete(text: str, path: Path, shapes: Shapes) -> tuple[Op, list[Spec]]:
    """The Op at the end of a path, and what its operands are."""
    key = ("symbolic", text, path, shapes)
    found: tuple[Op, list[Spec]] | None = cache.lookup(key)
    if found is None:
        if not path:
            found = op_of(text, shapes)
        else:
            *before, (wanted, derivative, k) = path
            program = Linearization(*with_wanted(concrete(text, tuple(before), shapes), wanted))
            steps = program.steps if derivative is None else program.derivative(*derivative).steps  # type: ignore[union-attr]
            step = steps[k]
            found = step.op, [program.recorder.slots[n].spec for n in step.operands]
        cache.insert(key, found)
    return found


def with_wanted(found: tuple[Op, list[Spec]], wanted: tuple[bool, ...]) -> tuple[Op, tuple[bool, ...], list[Spec]]:
    return found[0], wanted, found[1]


# -------------------------------------------------------------------------------------------------------- Ops


class Call:
    """A public call on tensors of which some sizes are symbols."""

    def __init__(self, text: str, shapes: Sequence[Sequence[Size]]) -> None:
        self.text, self.shapes = text, shapes
        self.pattern, self.sizes = pattern_of(shapes, sum(1 for name, *_ in json.loads(text)[2] if name))

    def concrete(self, path: Path, probe: int) -> tuple[Op, list[Spec]]:
        return concrete(self.text, path, self.pattern.at(self.pattern.probes[probe]))

    def specs(self, path: Path) -> tuple[Spec, ...]:
        """The results of an Op at the end of a path, in symbols."""
        found = formulas_of(self.text, path, self.pattern)
        return tuple(Spec(tuple(f.of(self.sizes) for f in sizes), dtype) for sizes, dtype in found)


def formulas_of(text: str, path: Path, pattern: Pattern) -> list[tuple[tuple[Formula, ...], DType]]:
    key = ("formulas", text, path, pattern)
    found: list[tuple[tuple[Formula, ...], DType]] | None = cache.lookup(key)
    if found is None:

        def results(shapes: Shapes) -> Shapes:
            op, specs = concrete(text, path, shapes)
            return tuple(spec.shape for spec in op.infer(*specs))

        ops = [concrete(text, path, pattern.at(sizes)) for sizes in pattern.probes]
        op, specs = ops[0]
        values, *offsets = (spec.dtype for spec in op.infer(*specs))
        dtypes = [values, *(widest(dtype, [op for op, _ in ops]) for dtype in offsets)]
        found = list(zip(formulas(pattern, results), dtypes, strict=True))
        cache.insert(key, found)
    return found


def widest(dtype: DType, ops: Sequence[Any]) -> DType:
    """The dtype of offsets that Ops of all sizes may have, of which a few are given: windows may have any size, unless
    they have the same in all of these."""
    if dtype not in OFFSETS:  # indices
        return dtype
    windows = {tuple(axis.k for axis in op.geometry.axes) for op in ops}
    fixed = len(windows) == 1 and all(axis.starts is None for axis in ops[0].geometry.axes)
    return offset_dtype_of(math.prod(*windows)) if fixed else OFFSETS[-1]


class Symbolic(Op):
    """See the top of this file."""

    name = "symbolic"
    call: Call
    path: Path

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return self.call.specs(self.path)

    @property
    def text(self) -> str:
        return json.dumps([self.call.text, self.path, [spec.dtype.name for spec in self.infer()]])

    @property
    def sizes(self) -> list[Size]:
        return [n for shape in self.call.shapes for n in shape]

    def batched(self, size: int, mapped: Sequence[bool]) -> tuple[Op, tuple[bool, ...]]:
        raise NoFormula

    def step(self, *where: Any) -> Symbolic:
        return Symbolic(self.call, (*self.path, where))

    def program(self, wanted: tuple[bool, ...]) -> Linearization:
        """The steps of the derivative, which are the same for all sizes."""
        program, *others = (Linearization(*with_wanted(self.call.concrete(self.path, i), wanted)) for i in range(3))
        if any(other.outline != program.outline for other in others):
            raise NoFormula
        return program

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        program = self.program(tuple(wanted))
        values = list(operands)
        for k, step in enumerate(program.steps):
            given = [values[n] for n in step.operands]
            values.extend(bind(self.step(tuple(wanted), None, k), *given))
        derivatives = [
            None if by is None else SymbolicOperator(bind, self, tuple(wanted), i, program, values)
            for i, by in enumerate(program.derivatives)
        ]
        return tuple(values[n] for n in program.outputs), derivatives


class SymbolicOperator(LinearOperator):
    """The derivative of a symbolic Op by operand ``i``."""

    def __init__(
        self, bind: Bind, op: Symbolic, wanted: tuple[bool, ...], i: int, program: Linearization, values: list[Value]
    ) -> None:
        self.bind, self.op, self.wanted, self.i, self.program = bind, op, wanted, i, program
        by = program.derivatives[i]
        numbers = [] if by is None else [slot.number for slot in residuals_of(by)]
        self.residuals = {n: values[n] for n in numbers}

    def map_residuals(self, f: Callable[[Value], Value]) -> None:
        self.residuals = {n: f(value) for n, value in self.residuals.items()}

    def run(self, transposed: bool, x: Value) -> Value:
        program = self.program.derivative(self.i, transposed)
        known = {**self.residuals, program.argument: x}  # type: ignore[union-attr]
        for k, step in enumerate(program.steps):  # type: ignore[union-attr]
            given = [known[n] for n in step.operands]
            if step.op is None:
                outputs: tuple[Value, ...] = (given[0] + given[1],)
            else:
                outputs = self.bind(self.op.step(self.wanted, (self.i, transposed), k), *given)
            known.update(enumerate(outputs, step.first))
        return known[program.result]  # type: ignore[union-attr]

    def __call__(self, t: Value) -> Value:
        return self.run(False, t)

    def transpose(self, g: Value) -> Value:
        return self.run(True, g)


# ---------------------------------------------------------------------------------------------------- and back


def is_symbolic(shape: Sequence[Size]) -> bool:
    return any(not isinstance(n, int) for n in shape)


def at_sizes(text: str, sizes: Sequence[Size]) -> tuple[Call, Path, list[DType]]:
    """A symbolic Op that was text."""
    call, path, dtypes = json.loads(text)
    shapes, rest = [], list(sizes)
    for *_, ndim in json.loads(call)[2]:
        shapes.append(tuple(rest[:ndim]))
        rest = rest[ndim:]
    known = [dtype_of(name) for name in dtypes]
    if not all(map(is_known, known)):
        raise ValueError("not a call that cenote wrote")
    return Call(call, shapes), as_path(path), known


def as_path(value: Any) -> Any:
    return tuple(map(as_path, value)) if isinstance(value, list) else value
