"""The operators of torch's dispatcher that compute an Op, given as text: what compilers and other modes of torch see.

There is one for each number of operands and outputs: torch batches an operator without a rule by a loop over slices,
but not one that takes a list of tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ... import core
from ...arguments.arrays import Array
from ...ops.base import Bind, Op, PlannedOp
from ...ops.selection import Scatter
from ...ops.serialize import dumps, loads
from .arrays import PLAIN, Tensor, from_fresh, from_numpy, spec_of, to_numpy, torch_dtype
from .duals import Graphs
from .symbolic import Symbolic, at_sizes, is_symbolic
from .symbols import Size

library = torch.library.Library("cenote", "FRAGMENT")
operators: dict[tuple[str, int, int], Callable[..., Any]] = {}
rules: list[Callable[[str, Callable[..., Any]], None]] = []  # what is registered for an operator besides its kernel
modes = torch._C._len_torch_dispatch_stack
CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}
BY_THE_CORE = (PlannedOp, Scatter)  # whose arrays are fresh, and which NumPy warns of nothing in


def compute(op: Op, *operands: Tensor) -> tuple[Tensor, ...]:
    """The outputs of an Op, without a derivative."""
    arrays = None if modes() else views(operands)
    if arrays is None:
        return dispatched(op, *operands)
    outputs = evaluated(op, arrays)
    if operands[0].is_contiguous():
        return outputs
    return tuple([in_format(y, operands[0]) for y in outputs])


def dispatched(op: Op, *operands: Tensor) -> tuple[Tensor, ...]:
    """The same through torch's dispatcher, where a compiler or a mode of torch's sees an operator."""
    Graphs.seen = True
    number = len(op.infer(*map(spec_of, operands)))
    if isinstance(op, Symbolic):
        return all_of(operator("symbolic", len(operands), number)(op.text, op.sizes, *operands))
    return all_of(operator("op", len(operands), number)(dumps(op), [], *operands))


def views(operands: Sequence[Tensor]) -> list[Array] | None:
    arrays = []
    for x in operands:
        if type(x) not in PLAIN:
            return None
        try:
            arrays.append(to_numpy(x))
        except RuntimeError:  # a tensor that stands for several: torch's dispatcher knows what to do
            return None
    return arrays


def evaluated(op: Op, arrays: Sequence[Array]) -> tuple[Tensor, ...]:
    if isinstance(op, BY_THE_CORE):
        return tuple([from_fresh(y) for y in op.evaluate(*arrays)])
    with np.errstate(all="ignore"):
        return tuple(map(from_numpy, op.evaluate(*arrays)))


def operator(kind: str, operands: int, outputs: int) -> Callable[..., Any]:
    """The operator for so many tensors."""
    found = operators.get((kind, operands, outputs))
    if found is None:
        found = operators[kind, operands, outputs] = define(kind, operands, outputs)
    return found


def define(kind: str, operands: int, outputs: int) -> Callable[..., Any]:
    name = f"{kind}_{operands}_{outputs}"
    given = ", ".join(f"Tensor x{i}" for i in range(operands))
    result = "Tensor" if outputs == 1 else f"({', '.join(['Tensor'] * outputs)})"
    library.define(f"{name}(str op, SymInt[] sizes, {given}) -> {result}")
    library.impl(name, kernel, "CPU")
    torch.library.register_fake(f"cenote::{name}", fake, lib=library)
    overload: Callable[..., Any] = getattr(torch.ops.cenote, name).default
    for rule in rules:
        rule(name, overload)
    return overload


def of_text(text: str, sizes: Sequence[Size], operands: Sequence[Tensor], bind: Bind) -> tuple[Tensor, ...]:
    """The outputs of an Op that was written as text, in a program that anybody may have written or changed since."""
    with core.checked_offsets():
        return of_checked_text(text, sizes, operands, bind)


def of_checked_text(text: str, sizes: Sequence[Size], operands: Sequence[Tensor], bind: Bind) -> tuple[Tensor, ...]:
    if not sizes:
        return bind(loads(text), *operands)
    call, path, dtypes = at_sizes(text, sizes)
    if is_symbolic(sizes):
        return bind(Symbolic(call, path), *operands)
    # Offsets of this size may have fewer bytes than those of all sizes.
    op, specs = call.concrete(path, 0)
    converted = [x.to(torch_dtype(spec.dtype)) for x, spec in zip(operands, specs, strict=True)]
    outputs = bind(op, *converted)
    return tuple(y.to(torch_dtype(dtype)) for y, dtype in zip(outputs, dtypes, strict=True))


def all_of(outputs: Any) -> tuple[Tensor, ...]:
    return outputs if isinstance(outputs, tuple) else (outputs,)


def one_or_all(outputs: tuple[Any, ...]) -> Any:
    return outputs[0] if len(outputs) == 1 else outputs


def batched(op: Op, size: int, axes: Sequence[int | None], operands: Sequence[Tensor]) -> tuple[Any, ...]:
    """The Op with one more leading axis, and its operands."""
    size = int(size)  # of a batch that is not known yet: compiled for this one
    larger, needed = op.batched(size, [axis is not None for axis in axes])
    batches = []
    for x, axis, need in zip(operands, axes, needed, strict=True):
        if axis is not None:
            batches.append(x.movedim(axis, 0))
        else:
            batches.append(x.expand(size, *x.shape) if need else x)
    return larger, *batches


def kernel(text: str, sizes: list[int], *operands: Tensor) -> Any:
    outputs = of_text(text, sizes, operands, evaluate)
    return one_or_all(tuple(in_format(y, operands[0]) for y in outputs))


def evaluate(op: Op, *operands: Tensor) -> tuple[Tensor, ...]:
    return evaluated(op, [to_numpy(x) for x in operands])


def fake(text: str, sizes: Sequence[Size], *operands: Tensor) -> Any:
    if sizes:
        call, path, _ = at_sizes(text, sizes)
        specs = call.specs(path)
    else:
        specs = loads(text).infer(*map(spec_of, operands))
    like = operands[0]
    outputs = (
        torch.empty(
            spec.shape,
            dtype=torch_dtype(spec.dtype),
            device=like.device,
            memory_format=format_of(len(spec.shape), like),
        )
        for spec in specs
    )
    return one_or_all(tuple(outputs))


def has_format(x: Tensor) -> bool:
    """Whether a tensor has a memory format with a name, in which a result of equal order is left."""
    if x.is_contiguous():
        return True
    name = CHANNELS_LAST.get(x.ndim)
    return name is not None and x.is_contiguous(memory_format=name)


def format_of(ndim: int, like: Tensor) -> torch.memory_format:
    """The memory format of a result: that of the first operand, if it is one that has a name."""
    if ndim == like.ndim and not like.is_contiguous() and has_format(like):
        return CHANNELS_LAST[ndim]
    return torch.contiguous_format


def in_format(y: Tensor, like: Tensor) -> Tensor:
    """``y`` in the memory format of the first operand, in which the core gives it already, but not all of NumPy."""
    return y.contiguous(memory_format=format_of(y.ndim, like))


def define_all() -> None:
    """All that Ops have today: programs that were exported find them when they are loaded."""
    for kind in ("op", "symbolic"):
        for counts in ((1, 1), (2, 1), (3, 1), (4, 1), (1, 2), (1, 3)):
            operator(kind, *counts)
