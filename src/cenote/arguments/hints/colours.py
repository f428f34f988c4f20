"""The warning for a window that runs over the colours of a picture."""

from __future__ import annotations

import inspect
import sys
import warnings
from types import FrameType
from typing import Any

from ..pictures import sides
from . import trials
from .drafts import PACKAGE, Draft, explained

CALL = "public.<locals>.call"  # what public makes of a function, see errors.py


def warn_of_colours(shape: tuple[int, ...]) -> None:
    """Warn the line of the user's that called the public function.

    It is called each time, so that Python's own filters decide what is shown: by default, once for each line. Where one
    of our own modules made the call, a dialect say, it knows which axes are meant, and nothing is said.
    """
    first = outer = None
    at: FrameType | None = sys._getframe(1)
    level = 1  # of this function
    while at is not None and at.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        if at.f_globals["__name__"] == trials.__name__:  # the call that a message is to advise
            return
        if first is None and at.f_code.co_qualname == CALL:
            first = at
        outer, at, level = at, at.f_back, level + 1
    if first is None or outer is None or not is_canonical(outer):
        return
    if called(outer).__name__ == "explain":  # which computes the call with that, too
        first = outer
    axes = sides(shape) or (0, 1)
    warnings.warn(
        f"{called(first).__name__}: the window lies on the last two axes of shape {shape}, and the last one looks like "
        f"the {shape[-1]} colours of a picture: write {advised(first, axes)} for height and width, or "
        f"axes={(len(shape) - 2, len(shape) - 1)} if these are meant",
        UserWarning,
        stacklevel=level + 1,
    )


def called(frame: FrameType) -> Any:
    """The function of a public call."""
    return frame.f_locals.get("function")


def is_canonical(frame: FrameType) -> bool:
    """Whether this is the frame of a call of one of the package's own functions, not of a dialect's."""
    module = getattr(called(frame), "__module__", "")
    return frame.f_code.co_qualname == CALL and module.startswith((f"{PACKAGE}.api", f"{PACKAGE}.explanation"))


def advised(call: FrameType, axes: tuple[int, int]) -> str:
    """The call with the axes of the picture."""
    function, given = called(call), call.f_locals
    bound = inspect.signature(function).bind(*given["args"], **given["kwargs"]).arguments
    if function.__name__ == "explain":
        return explained(bound, axes=axes)
    return str(Draft(function, bound | {"axes": axes}))
