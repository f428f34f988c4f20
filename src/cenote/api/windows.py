"""From the arguments of a pooling function to its Op: everything is checked here, once for equal arguments."""

from __future__ import annotations

import math
from typing import Any

from .. import core
from ..arguments.errors import Argument, BadValue, format_value
from ..arguments.values import addressable, as_flag, choice, real_number
from ..dtypes import average_dtype, has_nan, median_dtype, mode_dtype, native, norm_dtype, select_dtype, sum_dtype
from ..geometry.window import parse_window
from ..ops.base import Spec
from ..ops.logsumexp import SmoothMaxPool
from ..ops.norms import LpPool
from ..ops.order import MedianPool, ModePool
from ..ops.selection import Argmax, SelectPool
from ..ops.sums import AvgPool, NanAvgPool, NanSumPool, SumPool
from .call import OpOf, parse_dtype, result_dtype


def omits(nan: object) -> bool:
    return choice("nan", nan, ("propagate", "omit")) == "omit"


def selection(largest: bool, *given: Any) -> OpOf:
    *arguments, nan, ties, return_indices = given
    window = parse_window(*arguments)
    omit = omits(nan)
    split = choice("ties", ties, ("first", "split")) == "split"
    argmax: Argmax = "indices" if as_flag("return_indices", return_indices) else ""

    def op(spec: Spec) -> SelectPool:
        dtype = select_dtype(spec.dtype)
        geometry = window.on(spec.shape)
        return SelectPool(geometry, native(spec.dtype), dtype, largest, omit and has_nan(dtype), split, argmax=argmax)

    return op


def median(*given: Any) -> OpOf:
    *arguments, nan, dtype = given
    window = parse_window(*arguments)
    omit = omits(nan)
    wanted = parse_dtype(dtype)

    def op(spec: Spec) -> MedianPool:
        after = result_dtype(median_dtype(spec.dtype), wanted)
        return MedianPool(window.on(spec.shape), native(spec.dtype), after, omit and has_nan(spec.dtype))

    return op


def mode(*given: Any) -> OpOf:
    window = parse_window(*given)

    def op(spec: Spec) -> ModePool:
        dtype = mode_dtype(spec.dtype)
        return ModePool(window.on(spec.shape), dtype, dtype)

    return op


def total(*given: Any) -> OpOf:
    *arguments, nan, dtype = given
    window = parse_window(*arguments)
    omit = omits(nan)
    wanted = parse_dtype(dtype)

    def op(spec: Spec) -> SumPool | NanSumPool:
        kind = NanSumPool if omit and has_nan(spec.dtype) else SumPool
        return kind(window.on(spec.shape), native(spec.dtype), result_dtype(sum_dtype(spec.dtype), wanted))

    return op


def average(*given: Any) -> OpOf:
    *arguments, count_include_pad, divisor, nan, dtype = given
    window = parse_window(*arguments)
    include_pad = as_flag("count_include_pad", count_include_pad)
    by = None if divisor is None else real_number("divisor", divisor)
    if by is not None and (by == 0 or not math.isfinite(by)):
        raise BadValue(Argument("divisor"), f"={format_value(divisor)}: a finite number other than 0 is needed")
    omit = omits(nan)
    wanted = parse_dtype(dtype)

    def op(spec: Spec) -> AvgPool | NanAvgPool:
        kind = NanAvgPool if omit and has_nan(spec.dtype) else AvgPool
        return kind(
            window.on(spec.shape), native(spec.dtype), result_dtype(average_dtype(spec.dtype), wanted), by, include_pad
        )

    return op


def norm(*given: Any) -> OpOf:
    *arguments, p, dtype = given
    window = parse_window(*arguments)
    power = real_number("p", p)
    if not power > 0:
        raise BadValue(Argument("p"), f"={format_value(p)}: a number above 0 is needed, or inf")
    wanted = parse_dtype(dtype)

    def op(spec: Spec) -> LpPool | SelectPool:
        after = result_dtype(norm_dtype(spec.dtype), wanted)
        geometry = window.on(spec.shape)
        if power >= core.SAME_AS_INFINITE_P:
            return SelectPool(geometry, native(spec.dtype), after, True, magnitude=True)
        return LpPool(geometry, native(spec.dtype), after, power)

    return op


def smooth(*given: Any) -> OpOf:
    *arguments, beta, pad_value, dtype = given
    window = parse_window(*arguments)
    sharpness = real_number("beta", beta)
    if sharpness == 0 or not math.isfinite(sharpness):
        raise BadValue(Argument("beta"), f"={format_value(beta)}: a finite number other than 0 is needed")
    fill = None if pad_value is None else real_number("pad_value", pad_value)
    if fill is not None and math.isnan(fill):
        raise BadValue("pad_value=nan: a number is needed, or None to leave padded elements out")
    wanted = parse_dtype(dtype)

    def op(spec: Spec) -> SmoothMaxPool:
        after = result_dtype(norm_dtype(spec.dtype), wanted)
        geometry = window.on(spec.shape)
        if fill is not None:  # the core lays padded elements out in memory, like any others
            padded = list(spec.shape)
            for axis in geometry.axes:
                padded[axis.position] += axis.low + axis.high
            given = arguments[2]
            addressable(
                lambda: (Argument("padding"), f"={format_value(given)} with pad_value={fill}: the padded array"),
                tuple(padded),
            )
        return SmoothMaxPool(geometry, native(spec.dtype), after, sharpness, fill)

    return op
