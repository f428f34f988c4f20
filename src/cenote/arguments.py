"""Single arguments, checked: ints, sequences of them, flags, choices and numbers.

``given`` in a message is the whole argument as the user wrote it, so that it can be found in the call.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from numbers import Real
from typing import TypeAlias

import numpy as np

from .errors import BadType, BadValue, kind, shown

Ints: TypeAlias = int | Sequence[int]
Padding: TypeAlias = int | str | Sequence[int] | Sequence[Sequence[int]]

INT64_MAX = 2**63 - 1


def as_int(name: str, given: object, entry: object, least: int) -> int:
    """``entry`` of the argument ``name`` as an int of at least ``least``; ``given`` is the whole argument."""
    if isinstance(entry, (bool, np.bool_)) or not hasattr(type(entry), "__index__"):
        inside = "" if entry is given else f"{shown(entry)} is {kind(entry)}; "
        raise BadType(f"{name}={shown(given)}: {inside}an int is needed, not {kind(entry)}")
    try:
        value = operator.index(entry)  # type: ignore[arg-type]
    except TypeError:  # an array with more than one element has __index__ and refuses
        raise BadType(f"{name}={shown(given)}: an int is needed, not {kind(entry)}") from None
    if value < least:
        raise BadValue(f"{name}={shown(given)}: {value} is too small, at least {least} is needed")
    if value > INT64_MAX:
        raise BadValue(f"{name}={shown(given)}: {value} does not fit 64 bits")
    return int(value)


def as_sequence(value: object) -> tuple[object, ...] | None:
    """``value`` as a tuple when it is a sequence of arguments, otherwise None."""
    if isinstance(value, np.ndarray):
        return tuple(value.tolist()) if value.ndim else None
    if isinstance(value, (tuple, list, range)):
        return tuple(value)
    return None


def per_axis(name: str, value: object, rank: int, least: int) -> tuple[int, ...]:
    """An int for all axes, or one int for each."""
    entries = as_sequence(value)
    if entries is None:
        return (as_int(name, value, value, least),) * rank
    if len(entries) != rank:
        raise BadValue(
            f"{name}={shown(value)} has {len(entries)} entries, the window has {rank} axes: "
            f"give one int, or {rank} of them"
        )
    return tuple(as_int(name, value, entry, least) for entry in entries)


def as_flag(name: str, value: object) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise BadType(f"{name}={shown(value)}: True or False is needed, not {kind(value)}")


def choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str):
        raise BadType(f"{name}={shown(value)} is {kind(value)}: {' or '.join(map(repr, allowed))} is needed")
    if value not in allowed:
        raise BadValue(f"{name}={shown(value)}: {' or '.join(map(repr, allowed))} is needed")
    return value


def real_number(name: str, value: object) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Real, np.floating, np.integer)):
        raise BadType(f"{name}={shown(value)} is {kind(value)}: a real number is needed")
    try:
        return float(value)
    except OverflowError:
        raise BadValue(f"{name}={shown(value)} is too large for a float") from None
