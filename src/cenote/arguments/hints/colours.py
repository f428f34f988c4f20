"""The warning for a window that runs over the colours of a picture."""

from __future__ import annotations

import inspect
import sys
import warnings
from types import FrameType
from typing import Any

from .drafts import PACKAGE, Draft

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
        if first is None and at.f_code.co_qualname == CALL:
            first = at
        outer, at, level = at, at.f_back, level + 1
    if first is None or outer is None or not is_canonical(outer):
        return
    name, advised = described(first)
    warnings.warn(
        f"{name}: the window lies on the last two axes of shape {shape}, and the last one looks like the {shape[2]} "
        f"colours of a picture: write {advised} for height and width, or axes=(1, 2) if these are meant",
        UserWarning,
        stacklevel=level + 1,
    )


def is_canonical(frame: FrameType) -> bool:
    """Whether this is the frame of a call of one of the package's own functions, not of a dialect's."""
    function = frame.f_locals.get("function")
    return frame.f_code.co_qualname == CALL and getattr(function, "__module__", "").startswith(f"{PACKAGE}.api")


def described(call: FrameType) -> tuple[str, str]:
    """The function of a public call, and the call with the axes of the picture."""
    given: dict[str, Any] = call.f_locals
    function = given["function"]
    draft = Draft(function, inspect.signature(function).bind(*given["args"], **given["kwargs"]).arguments)
    draft.given["axes"] = (0, 1)
    return draft.name, str(draft)
