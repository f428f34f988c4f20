"""Single arguments, checked: ints, sequences of them, flags, choices and numbers.

``given`` in a message is the whole argument as the user wrote it, so that it can be found in the call.
"""

from __future__ import annotations

import contextlib
import math
import operator
import sys
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from .errors import Argument, BadType, BadValue, describe_type, format_value, pluralize

Ints: TypeAlias = int | Sequence[int]
Padding: TypeAlias = int | str | Sequence[int] | Sequence[Sequence[int]]


class TorchDType(Protocol):
    """What type checkers know a dtype of torch's by: nothing here imports torch."""

    @property
    def is_floating_point(self) -> bool: ...
    @property
    def is_signed(self) -> bool: ...


DTypeLike: TypeAlias = npt.DTypeLike | TorchDType

INT64_MAX = 2**63 - 1
MOST = sys.float_info.max
MOST_AXES = 64  # of a NumPy array


def as_index(name: str, given: object, entry: object, needed: str = "ints") -> int:
    """``entry`` of the argument ``name`` as an int of any size; ``given`` is the whole argument."""
    # An array has __index__, and refuses unless it is one integer.
    if not isinstance(entry, (bool, np.bool_)) and hasattr(type(entry), "__index__"):
        with contextlib.suppress(TypeError):
            return int(operator.index(entry))  # type: ignore[arg-type]
    if entry is given:
        raise BadType(
            Argument(name), f"={format_value(given)}: an int or a tuple of ints is needed, not {describe_type(entry)}"
        )
    found = "None" if entry is None else f"the {type(entry).__name__} {format_value(entry)}"
    raise BadType(Argument(name), f"={format_value(given)}: {needed} are needed, not {found}")


def as_int(name: str, given: object, entry: object, least: int, needed: str = "ints") -> int:
    """``entry`` of the argument ``name`` as an int from ``least`` to what 64 bits hold."""
    value = as_index(name, given, entry, needed)
    if least <= value <= INT64_MAX:
        return value
    culprit = f"={format_value(given)}" if entry is given else f"={format_value(given)}: {format_value(value)}"
    if value < least:
        raise BadValue(Argument(name), f"{culprit} is too small, at least {least} is needed")
    raise BadValue(Argument(name), f"{culprit} does not fit 64 bits, at most {INT64_MAX} is possible")


def as_sequence(value: object) -> tuple[object, ...] | None:
    """``value`` as a tuple when it is a sequence of arguments, otherwise None."""
    # Data in the place of an argument, or a range of any length, is not worth making a tuple of.
    if isinstance(value, np.ndarray):
        return tuple(value.tolist()) if value.ndim and max(value.shape) <= MOST_AXES else None
    if isinstance(value, (tuple, list)) or (isinstance(value, range) and not value[MOST_AXES:]):
        return tuple(value)
    return None


def per_axis(name: str, value: object, rank: int, least: int) -> tuple[int, ...]:
    """An int for all axes, or one int for each."""
    entries = as_sequence(value)
    if entries is None:
        return (as_int(name, value, value, least),) * rank
    if len(entries) != rank:
        raise BadValue(
            Argument(name),
            f"={format_value(value)} has {pluralize(len(entries), 'entry', 'entries')}, the window has "
            f"{pluralize(rank, 'axis', 'axes')}: give one int, or one int per axis",
        )
    return tuple(as_int(name, value, entry, least) for entry in entries)


def addressable(what: Callable[[], tuple[str, ...]], shape: tuple[int, ...]) -> None:
    """An array of ``shape``, which is ``what()`` in a cause, is not too large for NumPy, whatever its dtype."""
    # NumPy multiplies the sizes other than 0, although one that is 0 leaves nothing to store.
    if math.prod(max(size, 1) for size in shape) * 16 > INT64_MAX:
        raise BadValue(
            *what(), f" would have shape {format_value(shape)}, and an array has at most {INT64_MAX // 16} elements"
        )


def as_flag(name: str, value: object) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise BadType(Argument(name), f"={format_value(value)}: True or False is needed, not {describe_type(value)}")


def choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str):
        raise BadType(
            Argument(name),
            f"={format_value(value)}: {' or '.join(map(repr, allowed))} is needed, not {describe_type(value)}",
        )
    if value not in allowed:
        raise BadValue(
            Argument(name), f"={format_value(value)} is not known: {' or '.join(map(repr, allowed))} is needed"
        )
    return value


def real_number(name: str, value: object) -> float:
    # NumPy counts a timedelta64 among the integers.
    if isinstance(value, (bool, np.bool_, np.timedelta64)) or not isinstance(value, (Real, np.floating, np.integer)):
        raise BadType(Argument(name), f"={format_value(value)}: a real number is needed, not {describe_type(value)}")
    try:
        return float(value)
    except OverflowError:
        raise BadValue(
            Argument(name), f"={format_value(value)} is too large for a float, at most {MOST} is possible"
        ) from None
