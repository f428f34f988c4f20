"""The generic pool: any binary function folded over windows, on whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from .. import core
from ..arguments.arrays import Array
from ..arguments.errors import BadValue
from ..dtypes import DType, is_bool, is_complex, native
from ..geometry.axes import Geometry
from .base import Op, Places, Ranges, Slices, Spec, window_cuts
from .record import Record, replace

Binary: TypeAlias = Callable[[Any, Any], Any]


class Reducer(Record):
    """A binary function on arrays together with its two partial derivatives."""

    fn: Binary
    partials: Callable[[Any, Any], tuple[Any, Any]]

    def __call__(self, a: Any, b: Any) -> Any:
        return self.fn(a, b)


class Fold(Op):
    """``fn(… fn(fn(init, x₀), x₁) …, xₖ)`` over each window, once per tap on whole arrays."""

    name = "fold"
    geometry: Geometry
    dtype: DType
    init: np.generic
    fn: Binary

    @property
    def label(self) -> str:
        return "pool"

    def infer(self, *operands: Spec) -> tuple[Spec, ...]:
        # What dtype a function gives, only the function knows: it is asked with arrays of no elements.
        if self.kernel is not None:
            return (Spec(self.geometry.out_shape, self.init.dtype),)
        held, nothing = np.empty((0,), self.init.dtype), np.empty((0,), native(self.dtype))
        taps = 1 if next(self.geometry.taps(), None) is not None else 0
        for _ in range(2 * taps):  # the second time with what the first one gave
            held = np.asarray(self.fn(held, nothing))
        return (Spec(self.geometry.out_shape, held.dtype),)

    def block(self, ranges: Ranges, *operands: Spec) -> tuple[Op, tuple[Slices, ...]]:
        slab, geometry = self.geometry.block(ranges)
        return replace(self, geometry=geometry), (slab,)

    def cuts(self, *operands: Sequence[Places]) -> tuple[Places | None, ...]:
        return window_cuts(self.geometry, "windows", ("elements",), operands)

    def batched(self, size: int, mapped: Sequence[bool]) -> tuple[Op, tuple[bool, ...]]:
        return replace(self, geometry=self.geometry.batched(size)), (True,)

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
        return (self.fold(x.astype(native(x.dtype), copy=False)),)

    def fold(self, x: Array) -> Array:
        out = np.full(self.geometry.out_shape, self.init, self.init.dtype)
        plain = isinstance(self.fn.fn if isinstance(self.fn, Reducer) else self.fn, np.ufunc)
        for to, of in self.geometry.taps():
            held = out[to]
            elements = x[of] if plain else x[of].copy()  # fn may write into them
            new = np.asarray(self.fn(held, elements))
            if new.shape != held.shape:
                raise BadValue(
                    f"reduce_fn gave shape {new.shape} for two arrays of shape {held.shape}: "
                    "it must work element by element"
                )
            if new.dtype != out.dtype:
                out = out.astype(np.result_type(new.dtype, out.dtype) if held.shape != out.shape else new.dtype)
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
