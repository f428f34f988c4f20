"""How a wrong argument is reported.

Deep inside, a check raises :class:`BadValue` or :class:`BadType` with a short cause. The public call
that the user wrote adds its own name once, on the way out, and the user sees a plain ValueError or
TypeError: no chain of internal frames to read, and the same wording wherever a check is shared.

A cause is made of parts, of which the names of arguments are :class:`Argument`: a dialect, whose users wrote
``kernel_size`` and not ``window``, replaces those parts and no others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, ParamSpec, Self, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Argument(str):
    """The name of an argument as a part of a cause."""

    __slots__ = ()


class Hint(str):
    """A part of a cause with advice that holds for the canonical functions alone."""

    __slots__ = ()


X, W = Argument("x"), Argument("w")
# One int in the place of a size per axis: what to write depends on the array, see hints.
WHICH_AXES = Hint(": give one size for each axis, such as (2, 2) for the last two, or name the axes with axes=")


class Cause(Exception):
    """What is wrong, in parts: text, names of arguments and hints."""

    def __init__(self, *parts: str) -> None:
        super().__init__(*parts)

    def __str__(self) -> str:
        return "".join(self.args)

    def renamed(self, names: Mapping[str, str]) -> Self:
        """The same with other names of arguments, and without hints."""
        parts = (part for part in self.args if not isinstance(part, Hint))
        return type(self)(*(names.get(part, part) if isinstance(part, Argument) else part for part in parts))


class BadValue(Cause, ValueError):
    """A value of the right kind that cannot be used."""


class BadType(Cause, TypeError):
    """A value of the wrong kind."""


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Put the function's name in front of the causes raised below it, and add what to write instead.

    Arguments that do not fit the signature are explained, too. They are looked at when the call has failed: a call that
    succeeds does not pay for it.
    """
    name = function.__name__

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except BadValue as cause:
            raise ValueError(f"{name}: {hints().advise(function, cause, args, kwargs)}") from None
        except BadType as cause:
            raise TypeError(f"{name}: {hints().advise(function, cause, args, kwargs)}") from None
        except TypeError:
            wrong = hints().wrong_call(function, args, kwargs)
            if wrong is None:
                raise
            raise TypeError(f"{name}: {wrong}") from None

    return call


def hints() -> Any:
    """The module that says what to write instead, which only a call that has failed imports."""
    return import_module(".hints", __package__)


def format_value(value: object, limit: int = 80) -> str:
    """``value`` as a message can carry it: its repr on one line, cut when it is long."""
    try:
        text = " ".join(map(str.strip, repr(value).splitlines()))
    except Exception:  # nested too deep, an int of thousands of digits, or a repr of the user's that fails
        bits = f" of {value.bit_length()} bits" if isinstance(value, int) else ""
        return f"<{describe_type(value)}{bits}>"
    return cut(text, limit)


def cut(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def describe_type(value: object) -> str:
    """The kind of ``value`` with its article: ``a float``, ``an int``."""
    if value is None:
        return "None"
    name = type(value).__name__
    # Written for the ear: an ndarray, a uint8.
    return f"an {name}" if name[:1].lower() in "aeio" or name.startswith("nd") else f"a {name}"


def pluralize(number: int, one: str, many: str) -> str:
    """``1 axis``, ``2 axes``."""
    return f"{number} {one if number == 1 else many}"
