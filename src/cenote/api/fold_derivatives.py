"""The generic ``pool`` on Tensors: the function that is folded says how it is derived."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..arguments.arrays import Array
from ..autodiff.elementwise import DIFFERENTIABLE, multiplied
from ..autodiff.graph import LinearFunction, Primitive
from ..autodiff.linear import Gather, Mask, ScatterAdd
from ..autodiff.opaque import opaque
from ..autodiff.recording import apply, bind
from ..autodiff.tensor import Tensor, data_of
from ..autodiff.transforms import jvp, vjp
from ..backends import dispatch
from ..backends.dispatch import is_foreign
from ..dtypes import is_bool, is_differentiable, native
from ..geometry.axes import Geometry
from ..ops.base import Applied, Bind, Derivatives, LinearOperator, Op, Value, WindowOp
from ..ops.fold import Binary, Fold, Reducer
from ..ops.selection import SelectPool
from ..ops.sums import SumPool


def lent(fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``fn`` on copies of its arguments: a function may write into them, and then into arrays of others. A ufunc
    does not."""
    if isinstance(fn, np.ufunc):
        return fn
    return lambda a, b: fn(own(a), own(b))


def own(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def primitive_of(reducer: Reducer) -> Primitive:
    """The function as something that can be recorded."""

    def linearize(wanted: Sequence[bool], a: Any, b: Any) -> tuple[Any, Sequence[LinearFunction]]:
        out = bind(primitive_of(reducer), a, b)
        return out, [
            multiplied(a, out, lambda: partials(a, b)[0]),
            multiplied(b, out, lambda: partials(a, b)[1]),
        ]

    partials = lent(reducer.partials)
    return Primitive("reducer", lent(reducer.fn), linearize)


def fold_tensor(x: Tensor, fold: Fold) -> Any:
    """The same on a Tensor, recorded if the function has a derivative."""
    geometry, fn = fold.geometry, fold.fn
    if not is_differentiable(fold.dtype):
        return apply(fold, x)[0]
    if fold.kernel is not None:
        with np.errstate(all="ignore"):
            return fn(fold.init, apply(kernel_op(fold), x)[0])
    if isinstance(fn, Reducer) or (isinstance(fn, np.ufunc) and fn in DIFFERENTIABLE):
        if is_foreign(data_of(x)):
            return apply(RecordedFold(*fold.values), x)[0]
        return fold_recorded(x, geometry, fold.init, partial(bind, primitive_of(fn)) if isinstance(fn, Reducer) else fn)
    return opaque(x, dispatch.bind(fold, data_of(x))[0], getattr(fn, "__name__", "reduce_fn"))


def kernel_op(fold: Fold) -> Op:
    if fold.fn is np.add and not is_bool(fold.dtype):
        return SumPool(fold.geometry, native(fold.dtype), native(fold.dtype))
    return SelectPool(fold.geometry, native(fold.dtype), native(fold.dtype), fold.fn is not np.minimum)


def fold_recorded(x: Tensor, geometry: Geometry, start: np.generic, fn: Binary) -> Any:
    """The same on a Tensor: what is not reached by a tap is kept, what is reached is put in its place."""
    shape = geometry.out_shape
    out: Any = np.full(shape, start)
    for to, of in geometry.taps():
        outside = np.ones(shape, bool)
        outside[to] = False
        new = fn(Gather(shape, to)(out), Gather(geometry.shape, of)(x))
        out = np.add(ScatterAdd(shape, to)(new), Mask(outside)(out)) if outside.any() else new
    return out if isinstance(out, Tensor) else Tensor(out, constant=True)


# ------------------------------------------------------------------------ arrays that are computed block by block


class RecordedFold(Fold):
    """A :class:`Fold` of a function with a derivative, which arrays of other libraries compute as one Op."""

    name = "recorded_fold"

    def linearize(self, bind: Bind, wanted: Sequence[bool], *operands: Value) -> tuple[tuple[Value, ...], Derivatives]:
        (after,) = self.infer()
        tangent = FoldTangent(self.geometry, native(self.dtype), after.dtype, self.init, self.fn)
        return bind(self, *operands), [Applied(bind, tangent, *operands)]


class FoldTangent(WindowOp):
    """The derivative of a :class:`Fold` along t: operands t, x."""

    name = "fold_tangent"
    linear = True
    operands = ("elements", "elements")
    init: np.generic
    fn: Binary

    def fold(self, x: Tensor) -> Any:
        return fold_tensor(x, Fold(self.geometry, data_of(x).dtype, self.init, self.fn))

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        t, x = operands
        return (jvp(self.fold, (x,), (t,))[1].astype(self.after, copy=False),)

    @cached_property
    def T(self) -> FoldSpread:  # noqa: N802
        return FoldSpread(self.geometry, self.after, self.before, self.init, self.fn)

    def by_residual(self, bind: Bind, i: int, *operands: Value) -> LinearOperator | None:
        raise TypeError(NO_SECOND)


class FoldSpread(WindowOp):
    """The transpose of :class:`FoldTangent`: operands g, x."""

    name = "fold_spread"
    linear = True
    operands = ("windows", "elements")
    result = "elements"
    init: np.generic
    fn: Binary

    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        g, x = operands
        return (vjp(self.T.fold, x)[1](g)[0].astype(self.after, copy=False),)

    @cached_property
    def T(self) -> FoldTangent:  # noqa: N802
        return FoldTangent(self.geometry, self.after, self.before, self.init, self.fn)

    def by_residual(self, bind: Bind, i: int, *operands: Value) -> LinearOperator | None:
        raise TypeError(NO_SECOND)


NO_SECOND = (
    "pool: on arrays of other libraries a function other than np.add, np.maximum and np.minimum has first derivatives "
    "only: use NumPy arrays for second ones"
)
