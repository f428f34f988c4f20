"""What the dialects share: reading arguments, and calling canonical functions under other argument names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from ..arguments import as_int, as_sequence
from ..errors import BadType, BadValue, counted, kind, shown


def ints(name: str, value: object, least: int, count: int | None = None) -> tuple[int, ...]:
    """One int per axis; one int for all of them is not enough."""
    entries = as_sequence(value)
    if entries is None:
        raise BadType(
            f"{name}={shown(value)}: a tuple with one int per axis is needed, such as (2, 2), not {kind(value)}"
        )
    if count is not None and len(entries) != count:
        found = counted(len(entries), "entry", "entries")
        raise BadValue(f"{name}={shown(value)} has {found} and needs {count}: one int per axis")
    return tuple(as_int(name, value, entry, least) for entry in entries)


def call(function: Callable[..., Any], names: Mapping[str, str], *args: Any, **options: Any) -> Any:
    """``function`` of cenote, with causes that speak of the arguments by the ``names`` that the dialect has for them.

    The dialect's own public function puts its name in front, as the canonical one would have put its own.
    """
    try:
        return inspect.unwrap(function)(*args, **options)
    except BadValue as cause:
        raise BadValue(translated(str(cause), names)) from None
    except BadType as cause:
        raise BadType(translated(str(cause), names)) from None


def translated(cause: str, names: Mapping[str, str]) -> str:
    """A cause begins with the argument it is about; the data, x and w, may be mentioned anywhere.

    A dialect has one layout: a hint at the other is left out.
    """
    cause = cause.partition("; with layout=")[0]
    return re.sub(r"^\w+(?==)|\b[xw]\b", lambda found: names.get(found[0], found[0]), cause)
