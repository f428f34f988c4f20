"""The generic pool: any binary function folded over windows, on whole arrays, and its derivatives of every order.

Only the function knows how it is derived, and only an engine can derive it: ``Fold.engine`` is ours. To all others a
derivative is an Op like any other, :class:`FoldDerivative`, whose derivatives are Ops of the same class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np

from .. import core
from ..arguments.arrays import Array
from ..arguments.errors import BadValue
from ..dtypes import DType, is_bool, is_complex, native
from ..geometry.axes import Geometry
from .base import (
    Applied,
    Bind,
    Derivatives,
    LinearOperator,
    Op,
    Places,
    Ranges,
    Slices,
    Space,
    Spec,
    Value,
    WindowOp,
    window_cuts,
)
from .elementwise import BOOL, ElementOp
from .record import Record, replace
from .selection import SelectPool
from .sums import SumPool

Binary: TypeAlias = Callable[[Any, Any], Any]
# Which derivative, the innermost first: each is by one operand of what those before it give.
Steps: TypeAlias = tuple[tuple[Literal["jvp", "vjp"], int], ...]


class Reducer(Record):
    """A binary function on arrays together with its two partial derivatives."""

    fn: Binary
    partials: Callable[[Any, Any], tuple[Any, Any]]

    def __call__(self, a: Any, b: Any) -> Any:
        return self.fn(a, b)


class Engine(Protocol):
    """What derives functions of NumPy arrays."""

    def knows(self, fn: Binary) -> bool:
        """Whether the function has a derivative."""

    def derivative(self, fold: Fold, steps: Steps, *operands: Array) -> Array:
        """What :class:`FoldDerivative` computes."""

    def refusal(self, fn: Binary) -> LinearOperator:
        """The derivative of a function that has none: an error when it is applied."""


class Fold(Op):
    """``fn(… fn(fn(init, x₀), x₁) …, xₖ)`` over each window, once per tap on whole arrays."""

    name = "fold"
    engine: ClassVar[Engine]  # set by autodiff/folds.py
    geometry: Geometry
    dtype: DType
    init: np.generic
    fn: Binary
    result: DType | None = None  # in a block, whose windows may have no elements: the dtype of the whole

    @property
    def label(self) -> str:
        return "pool"

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(self.geometry.out_shape, self.dtype_of_result),)

    @cached_property
    def dtype_of_result(self) -> DType:
        """Only the function knows it: it is asked with arrays of no elements. It is no parameter, as ``after`` is."""
        if self.result is not None:
            return self.result
        if self.kernel is not None:
            return self.init.dtype
        accumulator, nothing = np.empty((0,), self.init.dtype), np.empty((0,), native(self.dtype))
        taps = 1 if next(self.geometry.taps(), None) is not None else 0
        for _ in range(2 * taps):  # the second time with what the first one gave
            accumulator = np.asarray(self.fn(accumulator, nothing))
        dtype: DType = accumulator.dtype
        return dtype

    def block(self, ranges: Ranges, *operands: Spec) -> tuple[Op, tuple[Slices, ...]]:
        slab, geometry = self.geometry.block(ranges)
        return replace(self, geometry=geometry, result=self.dtype_of_result), (slab,)

    def cuts(self, *operands: Sequence[Places]) -> tuple[Places | None, ...]:
        return window_cuts(self.geometry, "windows", ("elements",), operands)

    def batched(self, size: int, mapped: Sequence[bool]) -> tuple[Op, tuple[bool, ...]]:
        return replace(self, geometry=self.geometry.batched(size)), (True,)

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        if self.kernel is not None:
            pool = self.pool
            outputs, (by_x,) = pool.linearize(bind, wanted, *operands)
            start = FromInitial(self.geometry.out_shape, pool.after, self.init, self.fn)
            outputs, (by_pooled,) = start.linearize(bind, (True,), *outputs)
            return outputs, [None if by_x is None or by_pooled is None else by_pooled @ by_x]
        outputs = bind(self, *operands)
        if next(self.geometry.taps(), None) is None:  # nothing is folded
            return outputs, [None]
        if not self.engine.knows(self.fn):
            return outputs, [self.engine.refusal(self.fn)]
        # A Python function may be meant for arrays that have elements.
        after = self.dtype_of_result if isinstance(self.fn, np.ufunc) else outputs[0].dtype
        dtypes = native(self.dtype), after
        tangent = FoldDerivative(self.geometry, *dtypes, *dtypes, self.init, self.fn, (("jvp", 0),))
        return outputs, [Applied(bind, tangent, *operands)]

    @property
    def derivable(self) -> bool:
        """Whether :meth:`linearize` knows the derivative."""
        return self.kernel is not None or self.engine.knows(self.fn)

    @property
    def pool(self) -> SumPool | SelectPool:
        """The Op of the kernel, of a dtype that has derivatives."""
        dtype = native(self.dtype)
        if self.fn is np.add:
            return SumPool(self.geometry, dtype, dtype)
        return SelectPool(self.geometry, dtype, dtype, self.fn is np.maximum)

    @property
    def kernel(self) -> Callable[[Array, Geometry], Array] | None:
        """A compiled kernel that computes the same but for the initial value."""
        if not isinstance(self.fn, np.ufunc) or self.init.dtype != native(self.dtype):
            return None
        return KERNELS.get(self.fn) if not is_complex(self.dtype) or self.fn is np.add else None

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        (x,) = operands
        kernel = self.kernel
        if kernel is not None:
            with np.errstate(all="ignore"):
                return (np.asarray(self.fn(self.init, kernel(x, self.geometry))),)
        y = self.fold(x.astype(native(x.dtype), copy=False))
        return (y if self.result is None else y.astype(self.result, copy=False),)

    def fold(self, x: Array) -> Array:
        out = np.full(self.geometry.out_shape, self.init, self.init.dtype)
        plain = isinstance(self.fn.fn if isinstance(self.fn, Reducer) else self.fn, np.ufunc)
        for to, of in self.geometry.taps():
            accumulator = out[to]
            elements = x[of] if plain else x[of].copy()  # fn may write into them
            new = np.asarray(self.fn(accumulator, elements))
            if new.shape != accumulator.shape:
                raise BadValue(
                    f"reduce_fn gave shape {new.shape} for two arrays of shape {accumulator.shape}: "
                    "it must work element by element"
                )
            if new.dtype != out.dtype:
                out = out.astype(np.result_type(new.dtype, out.dtype) if accumulator.shape != out.shape else new.dtype)
            out[to] = new
        return out


def largest(x: Array, geometry: Geometry) -> Array:
    return core.select(x, geometry, True, False)


def smallest(x: Array, geometry: Geometry) -> Array:
    return core.select(x, geometry, False, False)


def added(x: Array, geometry: Geometry) -> Array:
    """Sums in the dtype of ``x``: integers wrap, and a bool sum is a logical or, as ``np.add`` has it."""
    if is_bool(x.dtype):
        return largest(x, geometry)
    return core.sum_pool(x, geometry, False).astype(native(x.dtype), copy=False)


KERNELS: dict[object, Callable[[Array, Geometry], Array]] = {
    np.maximum: largest,
    np.minimum: smallest,
    np.add: added,
}


# --------------------------------------------------------------------------------------------- derivatives


class Identity(LinearOperator):
    __slots__ = ()

    def __call__(self, t: Value) -> Value:
        return t

    def transpose(self, g: Value) -> Value:
        return g


class FromInitial(ElementOp):
    """``fn(init, x)``, where fn is one of those with a kernel."""

    name = "from_initial"
    dtype: DType
    init: np.generic
    fn: Binary

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(self.shape, self.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            return (np.asarray(self.fn(self.init, operands[0])),)

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        if self.fn is np.add:
            return bind(self, *operands), [Identity()]
        (chosen,) = bind(IsChosen(self.shape, self.init, self.fn), *operands)
        return bind(self, *operands), [Applied(bind, Mask(self.shape, self.dtype), chosen)]


class IsChosen(ElementOp):
    """Where the larger or smaller one of ``init`` and x is x; it counts as a constant."""

    name = "is_chosen"
    init: np.generic
    fn: Binary

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(self.shape, BOOL),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        (x,) = operands
        better = np.greater if self.fn is np.maximum else np.less
        return (np.asarray(better(x, self.init) | (np.isnan(x) & ~np.isnan(self.init))),)

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        return bind(self, *operands), [None]


class Mask(ElementOp):
    """t where the mask holds and 0 elsewhere: operands t, mask. A product would make NaN of an infinity."""

    name = "mask"
    linear = True
    dtype: DType

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        return (Spec(self.shape, self.dtype),)

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        t, mask = operands
        return (np.where(mask, t, np.zeros((), t.dtype)).astype(self.dtype, copy=False),)

    @cached_property
    def T(self) -> Mask:  # noqa: N802
        return self


class FoldDerivative(WindowOp):
    """A derivative of a :class:`Fold`, of any order.

    Each step makes of a function ``h(…, a, …)``, where a is operand i, the one of ``(t, …, a, …)`` that is its
    derivative by a along t (jvp), or of ``(g, …, a, …)`` that is the transpose of it (vjp). Either is linear in its
    first operand, and the transpose of the other.
    """

    name = "fold_derivative"
    linear = True
    of_elements: DType
    of_windows: DType
    init: np.generic
    fn: Binary
    steps: Steps

    @cached_property
    def signature(self) -> tuple[tuple[Space, ...], Space]:
        operands: tuple[Space, ...] = ("elements",)
        result: Space = "windows"
        for mode, i in self.steps:
            if mode == "jvp":
                operands = (operands[i], *operands)
            else:
                operands, result = (result, *operands), operands[i]
        return operands, result

    @property
    def operands(self) -> tuple[Space, ...]:  # type: ignore[override]
        return self.signature[0]

    @property
    def result(self) -> Space:  # type: ignore[override]
        return self.signature[1]

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        fold = Fold(self.geometry, self.of_elements, self.init, self.fn)
        return (fold.engine.derivative(fold, self.steps, *operands).astype(self.after, copy=False),)

    def with_steps(self, steps: Steps) -> FoldDerivative:
        same = replace(self, steps=steps)
        dtypes = {"elements": self.of_elements, "windows": self.of_windows}
        return replace(same, before=dtypes[same.operands[0]], after=dtypes[same.result])

    @cached_property
    def T(self) -> FoldDerivative:  # noqa: N802
        *inner, (mode, i) = self.steps
        return self.with_steps((*inner, ("vjp" if mode == "jvp" else "jvp", i)))

    def by_residual(self, bind: Bind, i: int, *operands: Value) -> LinearOperator | None:
        return Applied(bind, self.with_steps((*self.steps, ("jvp", i))), *operands)
