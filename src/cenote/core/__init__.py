"""The compiled core as the rest of the package calls it: on NumPy arrays and geometries, which were checked before.

Besides this package only ``dtypes.py`` (the codes of dtypes), ``cache.py`` (which compares arguments in the core) and
``runtime.py`` (threads, SIMD level, buffer cache) use ``_core``.
"""

from .._core import CallCache, ConvCallCache, limit_threads, trace
from .buffers import empty, memory_order
from .conv import FORMS, convolve
from .conversion import convert
from .indexing import checked_offsets, gather, scatter_add, unpool, unpool_gather
from .order import median_plan, median_pool, median_with_offsets, mode_plan, mode_pool
from .plans import Plan, run, run_into
from .pooling import (
    OFFSETS,
    SAME_AS_INFINITE_P,
    avg_plan,
    avg_pool,
    lp_plan,
    lp_pool,
    offset_dtype,
    offset_dtype_of,
    select,
    select_plan,
    select_with_indices,
    select_with_offsets,
    smooth_max_plan,
    smooth_max_pool,
    sum_plan,
    sum_pool,
)
from .weighted import power_spread, power_sum, softmax_spread, softmax_sum

__all__ = [
    "FORMS",
    "OFFSETS",
    "SAME_AS_INFINITE_P",
    "CallCache",
    "ConvCallCache",
    "Plan",
    "avg_plan",
    "avg_pool",
    "checked_offsets",
    "convert",
    "convolve",
    "empty",
    "gather",
    "limit_threads",
    "lp_plan",
    "lp_pool",
    "median_plan",
    "median_pool",
    "median_with_offsets",
    "memory_order",
    "mode_plan",
    "mode_pool",
    "offset_dtype",
    "offset_dtype_of",
    "power_spread",
    "power_sum",
    "run",
    "run_into",
    "scatter_add",
    "select",
    "select_plan",
    "select_with_indices",
    "select_with_offsets",
    "smooth_max_plan",
    "smooth_max_pool",
    "softmax_spread",
    "softmax_sum",
    "sum_plan",
    "sum_pool",
    "trace",
    "unpool",
    "unpool_gather",
]
