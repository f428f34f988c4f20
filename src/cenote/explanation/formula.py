"""The formula of one output with its numbers, in words that stand in a line of text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np

from ..arguments.errors import pluralize
from ..dtypes import is_float, is_integer
from .calls import Call, function_name
from .rounding import LARGEST, Number
from .windows import Element, Index, Window

T = TypeVar("T")
MOST_TERMS = 12  # of a sum that are written out


def short(value: Number | None) -> str:
    """A number as a square of a picture can carry it; a whole one of up to six digits exactly."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, complex):
        return f"{value.real:.2g}{value.imag:+.2g}j"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if abs(value) < 10**6 and value == int(value):
        return str(int(value))
    if len(str(value)) <= 6 and "e" not in str(value):
        return str(value)
    if 100 <= abs(value) < 10**5:  # 252.333 is not 252
        return f"{value:.1f}"
    text = f"{value:.3g}"
    if text.lstrip("-").isdigit():  # 6.0002 is not 6
        return f"{value:.1f}" if abs(value) > 99 else f"{value:#.3g}"
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if e else text


def precise(value: Number) -> str:
    """A number that is going to be rounded: in full where fewer digits would look like an integer, or halfway."""
    if not isinstance(value, float):
        return rounded(value) if isinstance(value, int) and abs(value) >= LARGEST else str(value)
    if not math.isfinite(value):
        return short(value)
    text = f"{value:.6g}"
    return repr(value) if (float(text) * 2).is_integer() and float(text) != value else text


def rounded(value: int) -> str:
    """``2e308`` of an int of many digits, which may be beyond the floats."""
    mantissa, _, exponent = f"{Decimal(value):.2e}".partition("e")
    return f"{short(float(mantissa))}e{int(exponent)}"


def place(array: str, index: Index) -> str:
    """``x[0, 1]``"""
    return f"{array}[{', '.join(map(str, index))}]"


def listed(elements: Sequence[T], write: Callable[[T], str], sign: str) -> str:
    """The elements as terms; of many the first ones, and how many there are."""
    if len(elements) <= MOST_TERMS:
        return sign.join(map(write, elements))
    return f"{sign.join(map(write, elements[: MOST_TERMS - 2]))}{sign}... ({len(elements)} terms)"


def summed(elements: Sequence[Element], write: Callable[[Element], str], zeros: int) -> str:
    text = listed(elements, write, " + ")
    if zeros:
        text += f"{' + ' if text else ''}{pluralize(zeros, 'padded zero', 'padded zeros')}"
    return text or "0"


def factor(value: Number | None) -> str:
    """A number after a multiplication sign."""
    text = short(value)
    return f"({text})" if text.startswith("-") or isinstance(value, complex) else text


def value(element: Element) -> str:
    return short(element.value)


def formula(call: Call, window: Window) -> str:
    """``y[0, 1] = max(3, 5, 5, 1) = 5``"""
    return f"{place('y', window.index)} = {right_side(call, window)} = {result(call, window)}"


def result(call: Call, window: Window) -> str:
    """``252``, or ``252.5, rounded to 252``"""
    unrounded = window.unrounded
    if unrounded is None or call.y is None:
        return short(window.result)
    if is_float(call.y.dtype):
        found = float(window.result)  # type: ignore[arg-type]
        verb = "rounded to" if math.isfinite(found) else "which overflows to"
        return f"{precise(unrounded)}, {verb} {short(found) if found % 1 == 0 else precise(found)} in {call.y.dtype}"
    if unrounded != unrounded:
        verb = "stored as"
    elif is_in_range(unrounded, call.y.dtype):
        verb = "rounded to"
    else:
        verb = "which wraps around to" if call.arguments.get("dtype") is None else "clipped to"
    return f"{precise(unrounded)}, {verb} {window.result}"


def is_in_range(unrounded: Number, dtype: np.dtype[Any]) -> bool:
    """Whether a number is one of an integer dtype when it has been rounded."""
    limits = np.iinfo(dtype)
    return (
        isinstance(unrounded, (int, float))
        and math.isfinite(unrounded)
        and limits.min <= round(unrounded) <= limits.max
    )


def is_left_empty(window: Window) -> bool:
    """Whether all elements of a window are NaN that is omitted: no data in, no data out, whatever padding there is."""
    return bool(window.omitted) and len(window.omitted) == len(window.elements)


def right_side(call: Call, window: Window) -> str:
    name = call.op.removeprefix("adaptive_").removeprefix("global_").removesuffix("_pool")
    omitted = set(window.omitted)
    real = [e for e in window.elements if e.index not in omitted]
    zeros = len(window.padding)
    if name in ("max", "min", "median", "mode") or is_left_empty(window):
        return f"{name}({listed(real, value, ', ')})"
    if name == "sum":
        return summed(real, lambda e: factor(e.value), 0)
    if name == "avg":
        counted = zeros if call.arguments.get("count_include_pad", True) else 0
        return f"({summed(real, lambda e: factor(e.value), counted)}) / {short(window.divisor)}"
    if name == "lp":
        return norm(real, float(call.arguments["p"]))
    if name == "smooth_max":
        beta = short(float(call.arguments["beta"]))
        counted_too = [e for e in window.padding if e.value is not None]
        terms = listed([*real, *counted_too], lambda e: f"exp({beta}*{factor(e.value)})", " + ")
        return f"log({terms or '0'}) / {factor(float(call.arguments['beta']))}"
    if name in ("conv", "conv_transpose"):
        text = summed(real, lambda e: f"{factor(e.value)}*{factor(e.weight)}", zeros)
        return text if window.bias is None else f"{text} + {factor(window.bias)} (bias)"
    function = function_name(call.arguments.get("reduce_fn"))
    init = Element((), call.arguments.get("init"))
    return f"{function} of {listed([init, *real], value, ', ')}, one after the other"


def norm(elements: Sequence[Element], p: float) -> str:
    if math.isinf(p):
        return f"max({listed(elements, lambda e: f'|{short(e.value)}|', ', ') or '0'})"
    return f"({summed(elements, lambda e: f'|{short(e.value)}|^{short(p)}', 0)})^(1/{short(p)})"


def shares(call: Call) -> bool:
    """Whether elements that tie share the gradient."""
    return call.arguments.get("ties") == "split"


def ties_of_mode(call: Call, window: Window) -> list[str]:
    """Of a mode: the values that are as frequent as it."""
    if call.op != "mode_pool" or not window.elements:
        return []
    values = Counter(e.value for e in window.elements if e.value is not None)
    most = values[window.result]
    tied = sorted((v for v, times in values.items() if times == most), key=float)  # type: ignore[arg-type]
    if len(tied) < 2:
        return []
    return [f"{listed(tied, short, ', ')} are equally frequent: the smallest is taken"]


def remarks(call: Call, window: Window) -> list[str]:
    """What is special about a window."""
    out = []
    selects = call.op.endswith(("max_pool", "min_pool")) and call.op != "smooth_max_pool"
    if selects and window.chosen is not None:
        where = place("x", window.chosen)
        if window.result != window.result:
            out.append(f"{where} is the first NaN, which is passed on")
        elif len(window.selected) > 1:
            number = len(window.selected)
            gradient = f"each gets 1/{number} of the gradient" if shares(call) else "it gets the gradient"
            out.append(f"{number} elements tie, {where} is the first: {gradient}")
        else:
            out.append(f"{where} is chosen")
    elif selects:
        out.append("no element can be chosen: index -1, and no gradient")
    elif not window.elements:
        out.append("the window sees no element of x")
    if call.op == "smooth_max_pool" and window.elements:
        out.append("percentages: the weights exp(beta*(x - y)), which the gradient has")
    if call.op == "median_pool" and len(window.selected) == 2:
        out.append("the mean of the two in the middle")
    if window.omitted:
        out.append(f"{len(window.omitted)} NaN omitted{', which leaves no element' if is_left_empty(window) else ''}")
    if window.padding and (selects or call.op in ("median_pool", "mode_pool", "pool")):
        out.append(
            f"{len(window.padding)} padded, never chosen" if selects else f"{len(window.padding)} padded, left out"
        )
    elif window.padding and call.arguments.get("count_include_pad") is False:
        out.append(f"{len(window.padding)} padded, not counted")
    out += ties_of_mode(call, window)
    integer = call.y is not None and is_integer(call.y.dtype)
    if integer and call.y is not None and window.unrounded is not None and window.unrounded == window.unrounded:
        if not is_in_range(window.unrounded, call.y.dtype):
            limits = np.iinfo(call.y.dtype)
            out.append(f"{call.y.dtype} holds {limits.min} to {limits.max}")
        elif window.unrounded % 1 == 0.5:  # type: ignore[operator]
            out.append(f"{precise(window.unrounded)} is halfway between two integers: rounded to the even one")
    if window.overhang:
        out.append(f"{len(window.overhang)} beyond the end, not counted")
    return out
