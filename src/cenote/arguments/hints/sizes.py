"""Sizes in another form: floats, one entry for each axis of the data, axes as keys, texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import format_value
from ..values import as_sequence
from .drafts import Draft, ints, is_one_int, literal, picture_axes

WHOLE = ("window", "stride", "padding", "dilation", "output_size", "axes", "groups")  # ints
PER_AXIS = ("stride", "padding", "dilation")


def in_our_form(draft: Draft, topic: str, value: Any) -> str | None:
    """What a value is here, which the draft then has; None if that is not known."""
    if topic not in WHOLE:
        return None
    if isinstance(value, Mapping):
        return by_axis(draft, topic, value)
    whole = whole_numbers(value)
    if whole is not value:
        draft.given[topic] = whole
        return f"{format_value(value)} is {topic}={whole}"
    return for_every_axis(draft, topic) if topic in PER_AXIS else None


def whole_numbers(value: Any) -> Any:
    """Floats and texts that stand for ints as ints; anything else as it is."""
    entries = as_sequence(value)
    if entries is not None:
        numbers = tuple(map(whole_numbers, entries))
        unchanged = all(a is b for a, b in zip(numbers, entries, strict=True))
        return numbers if ints(numbers) is not None and not unchanged else value
    if isinstance(value, str):
        return int(value) if value.isdecimal() else value
    return int(value) if isinstance(value, (float, np.floating)) and float(value).is_integer() else value


def by_axis(draft: Draft, topic: str, value: Mapping[Any, Any]) -> str | None:
    """A dict by the numbers of axes: the sizes, and axes=."""
    axes, sizes = ints(value), ints(value.values())
    if topic not in ("window", "output_size") or not axes or sizes is None or draft.given.get("axes") is not None:
        return None
    draft.given |= {topic: sizes, "axes": axes}
    return "the keys are axes= here"


def for_every_axis(draft: Draft, topic: str) -> str | None:
    """An entry for each axis of the data, as in TensorFlow: those for the axes of the window, or those axes."""
    entries, window, shape = as_sequence(draft.given[topic]), draft.window, draft.shape
    if entries is None or window is None or shape is None or len(entries) == len(window):
        return None
    rank, positions = len(window), draft.positions
    if topic == "padding" and len(entries) == 2 * rank and is_one_int(entries[0]) and len(set(entries)) == 1:
        draft.given[topic] = entries[0]
        return f"it is {literal(entries[0], topic)} at every side"
    if len(entries) != len(shape) or len(shape) < 3:
        return None
    starts = [i for i in range(len(shape) - rank + 1) if is_neutral(topic, (*entries[:i], *entries[i + rank :]))]
    named = "axes" not in draft.parameters or draft.given.get("axes") is not None
    if 1 in starts and topic != "padding" and not named:  # channels are last in TensorFlow
        starts, positions = [1], None
    if positions is not None and positions[0] in starts and positions == tuple(range(positions[0], positions[-1] + 1)):
        start = positions[0]
    elif starts and not named:
        start = 1 if 1 in starts else starts[0]
        draft.given["axes"] = tuple(range(start, start + rank))
    else:
        return None
    draft.given[topic] = tuple(entries[start : start + rank])
    return "there is one entry for each axis of the window, not of x"


def is_neutral(topic: str, entries: tuple[Any, ...]) -> bool:
    """Whether strides, dilations or padding change nothing."""
    if topic == "padding":
        return not any(any(as_sequence(entry) or (entry,)) for entry in entries)
    return all(entry == 1 for entry in entries)


def of_every_axis(draft: Draft, value: Any) -> Any:
    """One int for all axes, as in scipy.ndimage and scikit-image; they do not know pictures, which are left alone."""
    shape = draft.shape
    if shape is None or len(shape) < 3 or picture_axes(shape) or draft.given.get("axes") is not None:
        return value
    return (int(value),) * len(shape) if is_one_int(value) else value


def one_per_axis(draft: Draft, name: str, value: Any) -> tuple[Any, str]:
    """One int, where a dialect demands a tuple: flax's window_shape and strides, mygrad's pool, d2l's pool_size."""
    ndim = len(draft.shape or ())
    ranks = {"window_shape": max(ndim - 2, 1), "strides": max(ndim - 2, 1), "pool": min(ndim, 2), "pool_size": 2}
    given = as_sequence(draft.given.get("window_shape"))
    rank = len(given) if name == "strides" and given is not None else ranks.get(name, 0)
    if name not in ranks or not is_one_int(value):
        return value, ""
    return ((int(value),) * rank if ndim else value), ", and has one int per axis"
