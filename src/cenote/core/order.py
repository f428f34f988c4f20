"""Medians and modes by the compiled core: each function takes a checked array and a Geometry, and trusts both.

They mean what the functions of the same name in ``reference.order`` say.
"""

from __future__ import annotations

from .._core import Reduce
from ..arguments.arrays import Array
from ..dtypes import DType, code_of, has_nan, median_dtype, mode_dtype
from ..geometry.axes import Geometry
from .buffers import as_storage, empty, from_order, memory_order, to_order
from .plans import Plan, make_plan, run
from .pooling import offset_dtype


def median_plan(geometry: Geometry, dtype: DType, omit: bool, result: DType | None = None) -> Plan:
    result = median_dtype(dtype) if result is None else result
    return make_plan(geometry, dtype, result, code_of(dtype), Reduce.median, omit=omit and has_nan(dtype))


def median_pool(x: Array, geometry: Geometry, omit: bool, *, result: DType | None = None) -> Array:
    """``result`` is the dtype of the result, if not the usual one: exact means of two elements are rounded once."""
    return run(x, median_plan(geometry, x.dtype, omit, result))[0]


def median_with_offsets(
    x: Array, geometry: Geometry, omit: bool, *, result: DType | None = None
) -> tuple[Array, Array, Array]:
    """The same, and the offsets in their windows of the lower and the upper middle element."""
    plan = median_plan(geometry, x.dtype, omit, result)
    order = memory_order(x)
    shape = to_order(plan.out_shape, order)
    y, offsets = empty(shape, plan.result), empty((2, *shape), offset_dtype(geometry))
    plan.pool.run(as_storage(x), as_storage(y), offsets, order)
    return from_order(y, order), from_order(offsets[0], order), from_order(offsets[1], order)


def mode_plan(geometry: Geometry, dtype: DType) -> Plan:
    return make_plan(geometry, dtype, mode_dtype(dtype), code_of(dtype), Reduce.mode)


def mode_pool(x: Array, geometry: Geometry) -> Array:
    return run(x, mode_plan(geometry, x.dtype))[0]
