"""Arrays in the place of options: masks, weights and structuring elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import is_differentiable, is_exact, is_float
from .drafts import Draft, Note, shape_of
from .paddings import same_as_scipy


def counted(draft: Draft, value: Any, word: str) -> Note | None:
    """An array that is True where elements count: the others become NaN."""
    x, mask = draft.given.get("x"), shape_of(value)
    dtype = getattr(x, "dtype", None)
    if "nan" not in draft.parameters or draft.shape is None or not mask or not isinstance(dtype, np.dtype):
        return None
    draft.written["x"] = f"np.where({word}, x, np.nan)"
    draft.given["x"] = np.broadcast_to(np.empty((), dtype if is_differentiable(dtype) else float), draft.shape)
    draft.given["nan"] = "omit"
    if word == "mask":  # of np.ma, it is True where they do not
        draft.ending = " if mask is True where elements count, with ~mask if where they do not"
    return ": make the elements that do not count NaN, and leave those out", mask == draft.shape


def weights(draft: Draft, value: Any) -> Note | None:
    """Of a sum or an average of windows."""
    shape, window = shape_of(value), draft.window
    if draft.name not in ("sum_pool", "avg_pool") or not shape:
        return None
    note = ": correlate is the sum of weighted elements"
    if window not in (None, shape) or not set(draft.given) <= {"x", "window", "stride", "axes", "dilation"}:
        return note, False
    given = {name: given for name, given in draft.given.items() if name != "window"}
    average = draft.name == "avg_pool"
    if not draft.switch("correlate", {"stride": window or shape, **given, "k": value, "mode": "valid"}):
        return note, False
    if average:
        draft.written["k"] = "k / k.sum()"
    return f"{note}, with weights as k", True


def flat(draft: Draft, value: Any) -> Note | None:
    """A structuring element in the place of a window, as of scipy.ndimage and OpenCV."""
    array = np.asarray(value)
    if (
        "window" not in draft.parameters
        or not (array.ndim and array.size)
        or not (is_exact(array.dtype) or is_float(array.dtype))
    ):
        return None
    draft.given["window"] = tuple(array.shape)
    return " is given by its size here, as window, in which every element counts", bool(np.all(array == array.flat[0]))


def structuring_element(draft: Draft, value: Any) -> str | None:
    """The same by position, as of cv2.dilate: what a message ends with."""
    if draft.name not in ("max_pool", "min_pool") or value.ndim < 2 or not np.isin(value, (0, 1)).all():
        return None
    if not value.size or not value.all():
        return "every element of a window counts: give its size"
    draft.given["window"] = tuple(value.shape)
    note = "a window is given by its size"
    if draft.given.get("stride") is None and "padding" not in draft.given:
        draft.given["stride"] = 1
        draft.given["padding"] = same_as_scipy(draft)
        note += ", and the default stride is the window, not 1"
    return note
