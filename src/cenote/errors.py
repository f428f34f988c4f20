"""How a wrong argument is reported.

Deep inside, a check raises :class:`BadValue` or :class:`BadType` with a short cause. The public call
that the user wrote adds its own name once, on the way out, and the user sees a plain ValueError or
TypeError: no chain of internal frames to read, and the same wording wherever a check is shared.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class BadValue(ValueError):
    """A value of the right kind that cannot be used."""


class BadType(TypeError):
    """A value of the wrong kind."""


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Put the function's name in front of the causes raised below it."""
    name = function.__name__

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except BadValue as cause:
            raise ValueError(f"{name}: {cause}") from None
        except BadType as cause:
            raise TypeError(f"{name}: {cause}") from None

    return call


def shown(value: object, limit: int = 80) -> str:
    """``value`` as a message can carry it: its repr on one line, cut when it is long."""
    try:
        text = " ".join(map(str.strip, repr(value).splitlines()))
    except Exception:  # nested too deep, an int of thousands of digits, or a repr of the user's that fails
        bits = f" of {value.bit_length()} bits" if isinstance(value, int) else ""
        return f"<{kind(value)}{bits}>"
    return cut(text, limit)


def cut(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def kind(value: object) -> str:
    """The kind of ``value`` with its article: ``a float``, ``an int``."""
    if value is None:
        return "None"
    name = type(value).__name__
    # Written for the ear: an ndarray, a uint8.
    return f"an {name}" if name[:1].lower() in "aeio" or name.startswith("nd") else f"a {name}"


def counted(number: int, one: str, many: str) -> str:
    """``1 axis``, ``2 axes``."""
    return f"{number} {one if number == 1 else many}"
