"""A call as the address of the playground has it: the part after ``#``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import numpy as np

from ..arguments.arrays import Array
from ..dtypes import is_float
from .calls import Call, example
from .limits import DTYPES, LARGEST, LONGEST, MOST_AXES, MOST_CELLS, MOST_ELEMENTS, REDUCERS, cells_of_input, too_large
from .rounding import number

MOST_CHANGED = 100  # elements that are written out: an address is short
SAFE = ",:;"  # as the page leaves them
WHOLE = ("window", "stride", "padding", "dilation", "axes", "groups", "output_size", "output_padding", "output_shape")


def state_of(call: Call) -> str | None:
    """``op=max_pool&shape=7,7&window=3,3``; None if the playground cannot show this call."""
    if not can_be_drawn(call):
        return None
    fill, changed = filling(call.x)
    out: dict[str, str | None] = {"op": call.op, "shape": joined(call.x.shape), "dtype": str(call.x.dtype)}
    out |= {"fill": fill, "x": changed}
    if call.w is not None:
        if call.w.dtype != (call.x.dtype if is_float(call.x.dtype) else np.float64):
            return None
        out |= {"filter": joined(call.w.shape), "w": changes(call.w, example(call.w.shape, -1, 3))}
    for name, value in call.given.items():
        if name == "bias" and value is not None:
            out |= {"bias": "1", "b": changes_of_bias(call, np.asarray(value))}
        elif value is not None or name == "pad_value":
            out[name] = text_of(name, value)
    if call.op == "conv_transpose":  # whose form begins with others than the function's defaults
        out.setdefault("stride", "1")
    if None in out.values():
        return None
    return "&".join(f"{name}={quote(text, SAFE)}" for name, text in out.items() if text)


def can_be_drawn(call: Call) -> bool:
    """Whether the playground takes data of this dtype, and draws as much."""
    arrays = [array for array in (call.x, call.w) if array is not None]
    if str(call.x.dtype) not in DTYPES or any(array.size > MOST_ELEMENTS for array in arrays):
        return False
    if not all(1 <= array.ndim <= MOST_AXES and max(array.shape) <= LARGEST for array in arrays):
        return False
    if call.y is None:
        return math.prod(cells_of_input(call)) <= MOST_CELLS
    return too_large(call, call.axes, call.y.shape) is None


def joined(numbers: Any) -> str | None:
    """``3,none``; None if the form has no such numbers."""
    if not len(numbers) or len(numbers) > MOST_AXES or any(n is not None and abs(int(n)) > LARGEST for n in numbers):
        return None
    return ",".join("none" if n is None else str(int(n)) for n in numbers)


def changes_of_bias(call: Call, bias: Array) -> str | None:
    """The form has a bias in the dtype of the filters; None if this one would give another dtype."""
    if call.w is None or np.result_type(call.x, call.w, bias) != np.result_type(call.x, call.w):
        return None
    return changes(bias.astype(call.w.dtype), np.arange(1, 1 + bias.size))


def filling(x: Array) -> tuple[str, str | None]:
    """What the array is filled with, and the elements that are others: of all ways the one that needs the fewest."""
    fills: Mapping[str, Callable[[], Array]] = {
        "example": lambda: example(x.shape, 0, 10),
        "count": lambda: np.arange(x.size).reshape(x.shape),
        "ones": lambda: np.ones(x.shape),
        "zeros": lambda: np.zeros(x.shape),
    }
    found = {name: make() for name, make in fills.items()}
    name = min(found, key=lambda key: int(different(x, found[key]).sum()))
    return name, changes(x, found[name])


def different(array: Array, base: Array) -> Array:
    """Where an array is not ``base``; -0.0 is not 0.0."""
    out: Array = (array != base.astype(array.dtype)) | (np.signbit(array) != np.signbit(base))
    return out


def changes(array: Array, base: Array) -> str | None:
    """``1.2:7;0.0:nan``: the elements that differ; None if there are too many."""
    places = np.argwhere(different(array, base))
    if len(places) > MOST_CHANGED:
        return None
    texts = (f"{'.'.join(map(str, place))}:{number_text(number(array[tuple(place)]))}" for place in places.tolist())
    return ";".join(texts)


def text_of(name: str, value: Any) -> str | None:
    """An argument as the form has it; None if the form has no such thing."""
    if name == "dtype":
        return None
    if name == "reduce_fn":
        return next((word for word, function in REDUCERS.items() if value is function), None)
    if value is None:
        return "none"
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, (tuple, list, np.ndarray)):
        entries = list(value)
        if name == "padding" and any(np.ndim(entry) for entry in entries):
            pairs = [joined(entry if np.ndim(entry) else (entry, entry)) for entry in entries]
            return None if None in pairs else ",".join(pair.replace(",", ":") for pair in pairs if pair)
        return joined(entries)
    if name in WHOLE:
        return joined([value])
    text = number_text(number(value))
    return text if len(text) <= LONGEST else None


def number_text(value: Any) -> str:
    """``3`` for 3.0, ``-0.0``, ``1e+300``, ``nan``"""
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < 1e16 and math.copysign(1, value) == math.copysign(1, int(value))
        return str(int(value)) if whole else repr(value)
    return str(int(value))
