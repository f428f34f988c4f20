"""What results were before they were rounded, clipped or wrapped to their dtype, where a picture can show it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from ..arguments.arrays import Array
from ..dtypes import accumulator, is_exact, is_float, is_integer, sum_dtype
from .calls import Call

Number = int | float | complex | bool
Term = tuple[Number | None, Number | None]  # an element, and its weight if it has one
VISIBLE = 1e-4  # of a result that is no whole number: what a few digits show
LARGEST = 2**63  # a whole number with more digits is not written out
ADD = ("sum_pool", "avg_pool", "adaptive_avg_pool", "global_avg_pool", "conv", "conv_transpose")


def number(value: Any) -> Number:
    """A scalar of NumPy's, bfloat16 included, as one of Python's."""
    found = value.item() if isinstance(value, np.generic) else value
    return found if isinstance(found, (bool, int, float, complex)) else float(found)


class Rounding:
    """Of the results of one call."""

    def __init__(self, call: Call, y: Array, bias: Array | None) -> None:
        self.call, self.y, self.bias = call, y, bias

    def of(
        self, index: tuple[int, ...], result: Number, terms: Iterable[Term], bias: Number | None, divisor: Number | None
    ) -> Number | None:
        """What one result was before; None if it was the same. ``terms`` are what is added up."""
        if self.call.op in ADD and is_float(self.y.dtype):
            exact = total(terms, bias, divisor)
            return None if exact is None or not differs(exact, float(result)) else exact  # type: ignore[arg-type]
        if self.may_wrap:
            exact = total(terms, bias, divisor)
            return None if exact == result else exact
        wide = None if self.wide is None else number(self.wide[index])
        return None if wide == result or (isinstance(wide, float) and wide == float(result)) else wide  # type: ignore[arg-type]

    @property
    def may_wrap(self) -> bool:
        """Whether the results are sums in 64-bit integers, the widest; with ``dtype`` they are clipped instead."""
        return self.call.op in ADD and self.y.dtype.itemsize == 8 and self.call.arguments.get("dtype") is None

    @cached_property
    def wide(self) -> Array | None:
        """The results in a dtype that need not round, clip or wrap them; None unless they are integers."""
        call = self.call
        if not is_integer(self.y.dtype):
            return None
        if call.op == "pool":
            return self.folded()
        if "dtype" not in call.arguments:
            return None
        operands = (a for a in (call.x, call.w, self.bias) if a is not None)
        dtype = sum_dtype(np.result_type(*operands))  # of integers a sum is exact
        adds = call.op == "sum_pool" or call.w is not None
        if is_exact(dtype) and not adds:
            dtype = np.dtype(np.float64)
        with np.errstate(all="ignore"):  # floats have what was rounded: the total in its own precision
            wide: Array = call.compute(call.x, dtype=dtype if is_exact(dtype) else accumulator(dtype))
        return wide

    def folded(self) -> Array | None:
        """What a function of NumPy's gives in 64 bits, where it has fewer."""
        call = self.call
        narrow = is_integer(call.x.dtype) and call.x.dtype.itemsize < 8
        if not narrow or not isinstance(call.arguments["reduce_fn"], np.ufunc):
            return None
        with contextlib.suppress(TypeError, ValueError):
            wide = np.asarray(call.compute(call.x.astype(np.int64)))
            return wide if is_integer(wide.dtype) and np.array_equal(wide.astype(self.y.dtype), self.y) else None
        return None


def total(terms: Iterable[Term], bias: Number | None, divisor: Number | None) -> int | float | None:
    """The sum of products: exact, if all numbers are whole. None if it is not finite, or of complex numbers."""
    factors = [*terms, (0 if bias is None else bias, None)]
    numbers = [n for term in factors for n in term if n is not None]
    if any(isinstance(n, complex) or not math.isfinite(n) for n in numbers):
        return None
    whole = all(n == int(n) for n in numbers)  # type: ignore[arg-type]
    read = int if whole else float
    products = [read(v) * (1 if w is None else read(w)) for v, w in factors if v is not None]  # type: ignore[arg-type]
    try:
        found: int | float = sum(map(int, products)) if whole else math.fsum(products)
        if divisor is None or isinstance(divisor, complex) or not divisor:
            return found
        return found // int(divisor) if whole and not found % divisor else found / divisor
    except (OverflowError, ValueError):
        return None


def differs(exact: int | float, result: float) -> bool:
    """Whether a result is not the exact one, so that a picture shows it."""
    if not math.isfinite(result):
        return not math.isnan(result)
    if isinstance(exact, int) and abs(exact) < LARGEST and result == int(result):
        return exact != int(result)
    apart = abs(exact - result)
    return apart > VISIBLE * abs(exact) or (result == int(result) and apart >= 0.5 and abs(exact) < LARGEST)
