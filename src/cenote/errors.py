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
    """``value`` as a message can carry it: its repr, cut when it is long."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def kind(value: object) -> str:
    """The kind of ``value`` with its article: ``a float``, ``an int``."""
    name = type(value).__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"
