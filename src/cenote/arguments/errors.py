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


class Misfit(str):
    """The part of a cause that says by how much shapes do not fit. ``call`` draws it: of a window, the axis alone.

    ``subject`` is what does not: the "window" on an axis, the "channels" of data and filters, the "groups" that they
    are in, or the "size" of a result of which padding leaves nothing.
    """

    call: str
    subject: str

    def __new__(cls, text: str, call: str = "", subject: str = "window") -> Self:
        misfit = super().__new__(cls, text)
        misfit.call, misfit.subject = call, subject
        return misfit


X, W = Argument("x"), Argument("w")
# One int in the place of a size per axis: what to write depends on the array, see hints.
WHICH_AXES = Hint(": give one size for each axis, such as (2, 2) for the last two, or name the axes with axes=")

# How the part of a cause begins that says by how much a window does not fit: what is drawn by explain.
MISFIT = " does not fit on axis "
TO_SEE_IT = "; to see it, write "


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


class Deferred(Exception):
    """Raised by a backend for arrays that have no sizes yet: ``run(function, *args, **kwargs)`` makes the
    call."""

    def __init__(self, run: Callable[..., Any]) -> None:
        self.run = run


# What may take over a call that fails on its arguments as they are, because they carry more than numbers, such as names
# of dimensions: given the function and its arguments, what to call instead, or None.
Takeover = Callable[[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]], Callable[[], Any] | None]
takeovers: list[Takeover] = []


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Put the function's name in front of the causes raised below it, and add what to write instead.

    Arguments that do not fit the signature are explained, too, and xarray's objects are taken over. They are looked at
    when the call has failed: a call that succeeds does not pay for it.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Deferred as deferred:
            again: Callable[..., R] = functools.wraps(function)(functools.partial(deferred.run, function))
            return public(again)(*args, **kwargs)
        except (BadValue, BadType, TypeError) as error:
            instead = taken_over(function, args, kwargs)
            if instead is None:
                failure = explained(function, error, args, kwargs)
                if failure is error:
                    raise
                raise failure from None
        return instead()  # type: ignore[no-any-return]

    return call


def taken_over(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Callable[[], Any] | None:
    return next(filter(None, (take_over(function, args, kwargs) for take_over in takeovers)), None)


def explained(
    function: Callable[..., Any], error: Exception, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Exception:
    """What the user sees of an error: with the name of the call, and what to write instead."""
    name = function.__name__
    if isinstance(error, Cause):
        kind = ValueError if isinstance(error, BadValue) else TypeError
        return kind(f"{name}: {hints().advise(function, error, args, kwargs)}")
    wrong = hints().wrong_call(function, args, kwargs)
    return error if wrong is None else TypeError(f"{name}: {wrong}")


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
