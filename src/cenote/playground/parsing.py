"""What the texts of the form mean."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ..arguments.arrays import Array
from ..arguments.errors import format_value
from ..dtypes import has_nan
from ..explanation.limits import LARGEST, LONGEST, MOST_AXES, MOST_EDITS

INTS = re.compile(r"-?\d{1,9}(\s*,\s*-?\d{1,9})*")


def refused(name: str, value: str, needed: str) -> ValueError:
    return ValueError(f"{name}={format_value(value)}: {needed}")


def ints(name: str, value: str) -> tuple[int, ...]:
    """``2,3`` → (2, 3), also with parentheses around it and a comma at the end."""
    bare = value.strip().removeprefix("(").removesuffix(")").strip().removesuffix(",").strip()
    if not INTS.fullmatch(bare):
        raise refused(name, value, "ints with commas between them are needed, such as 2,3")
    found = tuple(int(part) for part in bare.split(","))
    if len(found) > MOST_AXES:
        raise refused(name, value, f"at most {MOST_AXES} axes can be drawn, not {len(found)}")
    for number in found:
        if abs(number) > LARGEST:
            raise refused(name, value, f"{number} is too large to be drawn, at most {LARGEST} is possible")
    return found


def int_or_ints(name: str, value: str) -> int | tuple[int, ...]:
    found = ints(name, value)
    return found[0] if len(found) == 1 else found


def sizes_or_none(name: str, value: str) -> tuple[int | None, ...]:
    """``3,none`` → (3, None)"""
    parts = [part.strip().lower() for part in value.split(",")]
    return tuple(None if part == "none" else ints(name, part)[0] for part in parts)


def padding(name: str, value: str) -> Any:
    """``1`` · ``1,2`` · ``0:1,2:2`` · ``same``"""
    bare = value.strip()
    if re.fullmatch(r"[A-Za-z_]{1,20}", bare):
        return bare
    if ":" not in bare:
        return int_or_ints(name, bare)
    pairs = []
    for part in bare.split(","):
        low, sign, high = part.partition(":")
        if not sign:
            high = low
        try:
            pairs.append((ints(name, low)[0], ints(name, high)[0]))
        except ValueError:
            raise refused(name, value, "an int, one per axis, low:high pairs such as 0:1,2:2, or same") from None
    if len(pairs) > MOST_AXES:
        raise refused(name, value, f"at most {MOST_AXES} axes can be drawn, not {len(pairs)}")
    return tuple(pairs)


def number(name: str, value: str) -> int | float:
    """``3``, ``2.5``, ``nan``, ``-inf``"""
    bare = value.strip().lower().replace("−", "-").replace("∞", "inf")
    try:
        if len(bare) > LONGEST:
            raise ValueError
        found = float(bare)
    except ValueError:
        raise refused(name, value, "a number is needed: 3, 2.5, nan, inf or -inf") from None
    if re.fullmatch(r"[+-]?\d+", bare):
        return int(bare)
    return found


def flag(name: str, value: str) -> bool:
    if value not in ("0", "1"):
        raise refused(name, value, "0 or 1 is needed")
    return value == "1"


def edited(name: str, array: Array, value: str) -> Array:
    """``array`` with some elements replaced: ``1.2:7;0.0:nan`` sets element (1, 2) to 7, and (0, 0) to NaN.

    Elements outside of the array are left out: they are those of a larger shape that the user had before.
    """
    out = array.copy()
    parts = value.split(";") if value else []
    if len(parts) > MOST_EDITS:
        raise ValueError(f"{name}: {len(parts)} elements are changed, at most {MOST_EDITS} can be")
    for part in parts:
        place, sign, what = part.partition(":")
        if not sign or not re.fullmatch(r"\d{1,4}(\.\d{1,4})*", place):
            raise refused(name, part, "changed elements are written as 1.2:7, which sets element (1, 2) to 7")
        index = tuple(int(i) for i in place.split("."))
        if len(index) == out.ndim and all(i < n for i, n in zip(index, out.shape, strict=True)):
            where = f"{name}[{', '.join(map(str, index))}]"
            out[index] = element(where, what, out.dtype)
    return out


def element(where: str, text: str, dtype: np.dtype[Any]) -> int | float:
    found = number(where, text)
    if has_nan(dtype):
        return float(found)
    if isinstance(found, float) and not found.is_integer():
        kind = "has no NaN" if math.isnan(found) else "has no infinity" if math.isinf(found) else "has no fractions"
        raise refused(where, text, f"{dtype} {kind}, choose float64 as the dtype of x")
    limits = np.iinfo(dtype)
    if not limits.min <= found <= limits.max:
        raise refused(where, text, f"{dtype} has numbers from {limits.min} to {limits.max}")
    return int(found)
