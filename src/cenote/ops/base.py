"""What an operation is: one record that says everything about it, for every array library.

An :class:`Op` is a frozen dataclass whose fields are its parameters: geometry, dtypes, options. It is hashable, gives
the shapes and dtypes of its results without data (:meth:`Op.infer`), computes them on NumPy arrays
(:meth:`Op.evaluate`), and knows its derivative (:meth:`Op.linearize`). A backend interprets Ops on the arrays of one
library: it needs nothing else. What an operation means is defined in ``reference/``, which only tests import.

Derivatives are linear operators made of Ops. An Op that is linear in its first operand has a transpose ``T``: an Op
with the same further operands, which are residuals. So a derivative has derivatives itself, in both modes and of every
order, and no rule looks at data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from .. import core
from ..arguments.arrays import Array
from ..arguments.values import MOST_AXES
from ..dtypes import DType, is_differentiable
from ..geometry.axes import Geometry
from .record import Record, replace

Value: TypeAlias = Any  # an array of some library
Shape: TypeAlias = tuple[int, ...]
Ranges: TypeAlias = Sequence[tuple[int, int]]
Slices: TypeAlias = tuple[slice, ...]
Places: TypeAlias = Sequence[int]  # where an axis is cut, without its two ends
# Computes an Op on arrays of one library: bind(op, *operands) → outputs.
Bind: TypeAlias = Callable[..., tuple[Value, ...]]


class Spec(NamedTuple):
    """An array without its data."""

    shape: Shape
    dtype: DType


class LinearOperator:
    """A linear function of one array, with its transpose: ``A(t)``, ``A.T(g)``, ``A @ B`` and ``A + B``."""

    __slots__ = ()

    def __call__(self, t: Value) -> Value:
        raise NotImplementedError

    def transpose(self, g: Value) -> Value:
        raise NotImplementedError

    @property
    def T(self) -> LinearOperator:  # noqa: N802  the name that NumPy has for it
        return Transposed(self)

    def map_residuals(self, f: Callable[[Value], Value]) -> None:
        """Replace every residual that the operator keeps by ``f`` of it."""

    def __matmul__(self, before: LinearOperator) -> LinearOperator:
        return Composed(self, before)

    def __add__(self, other: LinearOperator) -> LinearOperator:
        return Added(self, other)


class Transposed(LinearOperator):
    __slots__ = ("of",)

    def __init__(self, of: LinearOperator) -> None:
        self.of = of

    def __call__(self, t: Value) -> Value:
        return self.of.transpose(t)

    def transpose(self, g: Value) -> Value:
        return self.of(g)

    def map_residuals(self, f: Callable[[Value], Value]) -> None:
        self.of.map_residuals(f)

    @property
    def T(self) -> LinearOperator:  # noqa: N802
        return self.of


class Composed(LinearOperator):
    __slots__ = ("after", "before")

    def __init__(self, after: LinearOperator, before: LinearOperator) -> None:
        self.after, self.before = after, before

    def __call__(self, t: Value) -> Value:
        return self.after(self.before(t))

    def transpose(self, g: Value) -> Value:
        return self.before.transpose(self.after.transpose(g))

    def map_residuals(self, f: Callable[[Value], Value]) -> None:
        self.after.map_residuals(f)
        self.before.map_residuals(f)


class Added(LinearOperator):
    """The sum of two operators between arrays of the same shapes and dtypes."""

    __slots__ = ("first", "second")

    def __init__(self, first: LinearOperator, second: LinearOperator) -> None:
        self.first, self.second = first, second

    def __call__(self, t: Value) -> Value:
        return self.first(t) + self.second(t)

    def transpose(self, g: Value) -> Value:
        return self.first.transpose(g) + self.second.transpose(g)

    def map_residuals(self, f: Callable[[Value], Value]) -> None:
        self.first.map_residuals(f)
        self.second.map_residuals(f)


class Applied(LinearOperator):
    """A linear Op with its residuals: ``t ↦ op(t, *residuals)``."""

    __slots__ = ("bind", "op", "residuals")

    def __init__(self, bind: Bind, op: Op, *residuals: Value) -> None:
        self.bind, self.op, self.residuals = bind, op, residuals

    def __call__(self, t: Value) -> Value:
        return self.bind(self.op, t, *self.residuals)[0]

    def transpose(self, g: Value) -> Value:
        return self.bind(self.op.T, g, *self.residuals)[0]

    def map_residuals(self, f: Callable[[Value], Value]) -> None:
        self.residuals = tuple(map(f, self.residuals))


Derivatives: TypeAlias = Sequence[LinearOperator | None]  # one for each operand, None where it is zero


class Op(Record):
    """An operation with its parameters; see the top of this file.

    The first output is the one with a derivative. Further ones are integer arrays: indices and offsets.
    """

    name: ClassVar[str]
    linear: ClassVar[bool] = False  # in its first operand
    wide: ClassVar[bool] = False  # its derivatives by residuals pass through double precision

    @property
    def label(self) -> str:
        """What users call it, as far as they have a name for it: for error messages and progress displays."""
        return self.name

    @cached_property
    def differentiable(self) -> bool:
        """Whether derivatives pass through the dtype of the result, as far as it is a parameter."""
        after: DType | None = getattr(self, "after", None)
        return after is None or is_differentiable(after)

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        """The shapes and dtypes of the outputs."""
        raise NotImplementedError

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """The outputs, of NumPy arrays."""
        raise NotImplementedError

    def block(self, ranges: Ranges, *operands: Spec) -> tuple[Op, tuple[Slices, ...]]:
        """A part of the first output, given as a range on each of its axes: the Op that computes this part, and the
        parts of the operands that it needs. Parts computed apart and joined are the whole, to the bit."""
        raise NotImplementedError(self.name)

    def cuts(self, *operands: Sequence[Places]) -> tuple[Places | None, ...]:
        """Where each axis of the first output is best cut if the axes of the operands are cut at these places, so that
        a part needs few parts of the operands; None for an axis whose parts would cost as much as the whole.

        Any cuts are right. Places may repeat, and the last axes may be missing.
        """
        return ()

    def batched(self, size: int, mapped: Sequence[bool]) -> tuple[Op, tuple[bool, ...]]:
        """The Op with one more leading axis, of ``size``, on every output, and which operands must have it too.

        ``mapped`` says which operands have the axis already. One that must have it and does not is broadcast by the
        backend. This is what ``vmap`` needs.
        """
        return Batched(self, size), (True,) * len(mapped)

    @property
    def T(self) -> Op:  # noqa: N802
        """Of a linear Op: the Op that is its transpose, with the same residuals."""
        raise TypeError(f"{self.name} is not linear")

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        """The outputs, and the derivative of the first one with respect to each operand that is wanted."""
        if not self.linear:
            raise NotImplementedError(self.name)
        derivatives: list[LinearOperator | None] = [Applied(bind, self, *operands[1:]) if wanted[0] else None]
        for i in range(1, len(wanted)):
            derivatives.append(self.by_residual(bind, i, *operands) if wanted[i] else None)
        return bind(self, *operands), derivatives

    def by_residual(self, bind: Bind, i: int, *operands: Value) -> LinearOperator | None:
        """The derivative of a linear Op with respect to operand ``i``, which is not the first one."""
        return None


class Batched(Op):
    """An Op applied to each slice along a leading axis that all operands have: for those that take no further axis."""

    name = "batched"
    op: Op
    size: int

    @property
    def linear(self) -> bool:  # type: ignore[override]
        return self.op.linear

    @property
    def wide(self) -> bool:  # type: ignore[override]
        return self.op.wide

    def bind_slices(self, bind: Bind) -> Bind:
        """Computes Ops on arrays that all have the axis."""

        def bound(op: Op, *operands: Value) -> tuple[Value, ...]:
            return bind(op.batched(self.size, (True,) * len(operands))[0], *operands)

        return bound

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        inner = self.op.infer(*(Spec(spec.shape[1:], spec.dtype) for spec in operands))
        return tuple(Spec((self.size, *spec.shape), spec.dtype) for spec in inner)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        specs = self.infer(*(Spec(x.shape, x.dtype) for x in operands))
        outputs = tuple(np.empty(spec.shape, spec.dtype) for spec in specs)
        for i in range(self.size):
            for output, part in zip(outputs, self.op.evaluate(*(x[i] for x in operands)), strict=True):
                output[i] = part
        return outputs

    def block(self, ranges: Ranges, *operands: Spec) -> tuple[Op, tuple[Slices, ...]]:
        (begin, end), *inner = ranges
        part, needed = self.op.block(inner, *(Spec(spec.shape[1:], spec.dtype) for spec in operands))
        return Batched(part, end - begin), tuple((slice(begin, end), *slices) for slices in needed)

    def cuts(self, *operands: Sequence[Places]) -> tuple[Places | None, ...]:
        return finest(*(places[0] for places in operands)), *self.op.cuts(*(places[1:] for places in operands))

    @cached_property
    def T(self) -> Op:  # noqa: N802
        return Batched(self.op.T, self.size)

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        return self.op.linearize(self.bind_slices(bind), wanted, *operands)

    def by_residual(self, bind: Bind, i: int, *operands: Value) -> LinearOperator | None:
        return self.op.by_residual(self.bind_slices(bind), i, *operands)


Space: TypeAlias = Literal["elements", "windows"]


class WindowOp(Op):
    """An Op on the windows of a geometry, from arrays of one dtype to arrays of another."""

    # Which operands have the shape of the geometry's input, and which that of its output; and the result.
    operands: ClassVar[tuple[Space, ...]] = ("elements",)
    result: ClassVar[Space] = "windows"
    geometry: Geometry
    before: DType
    after: DType

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        shape = self.geometry.out_shape if self.result == "windows" else self.geometry.shape
        return (Spec(shape, self.after),)

    def block(self, ranges: Ranges, *operands: Spec) -> tuple[Op, tuple[Slices, ...]]:
        windows = ranges if self.result == "windows" else self.geometry.windows_of(ranges)
        slab, geometry = self.geometry.block(windows)
        parts = {"elements": slab, "windows": tuple(slice(*r) for r in windows)}
        part = replace(self, geometry=geometry)
        op = WindowBlock(part, self, tuple(s.start for s in slab), tuple((begin, end) for begin, end in ranges))
        return op, tuple(parts[space] for space in self.operands)

    def cuts(self, *operands: Sequence[Places]) -> tuple[Places | None, ...]:
        return window_cuts(self.geometry, self.result, self.operands, operands)

    def batched(self, size: int, mapped: Sequence[bool]) -> tuple[Op, tuple[bool, ...]]:
        if len(self.geometry.shape) >= MOST_AXES:
            return super().batched(size, mapped)
        return replace(self, geometry=self.geometry.batched(size)), (True,) * len(mapped)

    def plan_for(self, dtype: DType) -> core.Plan | None:
        """The core's plan for an operand of this dtype, if one call of the core is all of it."""
        return None

    def operands_in(self, whole: WindowOp, *operands: Array) -> tuple[Array, ...]:
        """Operands of the whole as this part has them: offsets are counted by the taps that are real somewhere."""
        return operands

    def outputs_in(self, whole: WindowOp, start: Shape, *outputs: Array) -> tuple[Array, ...]:
        """Outputs of this part, of a slab from ``start`` on, as the whole has them."""
        return outputs


class PlannedOp(WindowOp):
    """An Op on windows of one operand that is one call of the core, or for few dtypes and options more than one."""

    @cached_property
    def plan(self) -> core.Plan | None:
        return self.plan_for(self.before)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        (x,) = operands
        plan = self.plan if x.dtype == self.before else self.plan_for(x.dtype)
        return self.evaluate_without_plan(x) if plan is None else core.run(x, plan)

    def evaluate_without_plan(self, x: Array) -> tuple[Array, ...]:
        raise NotImplementedError(self.name)


def finest(*places: Places) -> Places:
    return max(places, key=len)


def window_cuts(
    geometry: Geometry, result: Space, spaces: Sequence[Space], operands: Sequence[Sequence[Places]]
) -> tuple[Places, ...]:
    """Where to cut elements or windows if arrays of elements or of windows are cut at these places."""
    pooled = {axis.position: axis for axis in geometry.axes}
    out = []
    for i in range(len(geometry.shape)):
        found: list[Places] = []
        for space, places in zip(spaces, operands, strict=True):
            if i not in pooled or space == result:
                found.append(places[i])
            else:
                cut = pooled[i].cut_windows if result == "windows" else pooled[i].cut_elements
                found.append(cut(places[i]))
        out.append(finest(*found))
    return tuple(out)


class WindowBlock(Op):
    """A part of an Op on windows: the same Op on a slab, with offsets and indices counted as in the whole."""

    name = "block"
    op: WindowOp  # on the slab
    whole: WindowOp
    start: Shape  # of the slab
    ranges: tuple[tuple[int, int], ...]  # of the output

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        shape = tuple(end - begin for begin, end in self.ranges)
        return tuple(Spec(shape, spec.dtype) for spec in self.whole.infer())

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        op, whole = self.op, self.whole
        outputs = op.outputs_in(whole, self.start, *op.evaluate(*op.operands_in(whole, *operands)))
        if whole.result == "windows":
            return outputs
        # The slab of the windows that see this part may be larger, and where no window sees it, smaller.
        return (pasted(np.zeros([end - begin for begin, end in self.ranges], whole.after), outputs[0], self),)


def pasted(out: Array, part: Array, block: WindowBlock | Any) -> Array:
    """``out``, which is ``block.ranges`` of a whole, with what ``part``, which lies at ``block.start``, has of it."""
    within, of = [], []
    for (begin, end), start, n in zip(block.ranges, block.start, part.shape, strict=True):
        first, last = max(begin, start), min(end, start + n)
        within.append(slice(first - begin, max(last, first) - begin))
        of.append(slice(first - start, max(last, first) - start))
    out[tuple(within)] = part[tuple(of)]
    return out


class Crop(Op):
    """A part of the first output of an Op."""

    name = "crop"
    op: Op
    ranges: tuple[tuple[int, int], ...]

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(tuple(end - begin for begin, end in self.ranges), self.op.infer(*operands)[0].dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        return (self.op.evaluate(*operands)[0][tuple(slice(*r) for r in self.ranges)],)
