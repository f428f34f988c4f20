"""The state of the page, texts by name, as a call with its data."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arguments.arrays import Array
from ..arguments.errors import Cause, format_value
from ..dtypes import has_nan
from ..explanation.calls import FUNCTIONS, NOT_EXPLAINED, Call, example, geometry_of
from ..explanation.explanation import Explanation, explain
from ..explanation.limits import MOST_ELEMENTS, REDUCERS, too_large
from ..geometry.axes import Axis, Geometry
from .fields import EDITS, FILLS, OPERATIONS, Operation
from .parsing import edited, flag, int_or_ints, ints, number, padding, refused, sizes_or_none

OTHER = ("op", "view", *EDITS)
VIEWS = ("values", "gradient")


@dataclass(frozen=True)
class Request:
    """A call as the form has it."""

    op: str
    x: Array
    w: Array | None
    given: Mapping[str, Any]  # the arguments that are not the function's defaults; window and output_size always
    cotangent: str  # changes of the cotangent, which is ones elsewhere
    gradient: bool

    @property
    def bias(self) -> Array | None:
        return self.given.get("bias")

    def explain(self) -> Explanation:
        given = dict(self.given)
        second = self.w if self.w is not None else given.pop("window", given.pop("output_size", None))
        out: Explanation = explain(self.op, self.x, second, **given)
        return out


def parse_state(state: object) -> Request:
    """The call that the texts describe. Whatever is wrong is a ValueError or TypeError for the user."""
    if not isinstance(state, dict) or not all(isinstance(v, str) for v in state.values()):
        raise TypeError("the state is a JSON object of texts")
    op = state.get("op", "max_pool")
    operation = OPERATIONS.get(op)
    if operation is None:
        raise refused("op", op, f"one of {', '.join(OPERATIONS)} is needed")
    known = {field.name for field in operation.all_fields} | set(OTHER)
    for name in state:
        if name not in known and state[name]:  # the page writes no parameter that is empty
            raise ValueError(f"{format_value(name)}: {op} has no such parameter; it has {', '.join(sorted(known))}")
    texts = {field.name: state.get(field.name, operation.default(field)) for field in operation.all_fields}
    for field in operation.all_fields:
        if field.choices and texts[field.name] not in field.choices:
            raise refused(field.name, texts[field.name], f"one of {', '.join(field.choices)} is needed")
    view = state.get("view", VIEWS[0])
    if view not in VIEWS:
        raise refused("view", view, f"one of {', '.join(VIEWS)} is needed")
    x = edited("x", filled(texts), state.get("x", ""))
    w = None
    if "filter" in texts:
        shape = checked_shape("shape of w", ints("shape of w", texts["filter"]))
        kind = x.dtype if has_nan(x.dtype) else np.dtype(np.float64)
        w = edited("w", example(shape, -1, 3).astype(kind), state.get("w", ""))
    given = arguments(op, operation, texts)
    if given.pop("bias", False) and w is not None:
        numbers = np.arange(1, 1 + channels_of(op, w, given)).astype(w.dtype)
        given["bias"] = edited("b", numbers, state.get("b", ""))
    request = Request(op, x, w, given, state.get("g", ""), view == "gradient")
    check_limits(request)
    return request


def filled(texts: Mapping[str, str]) -> Array:
    shape = checked_shape("shape of x", ints("shape of x", texts["shape"]))
    dtype, fill = texts["dtype"], texts["fill"]
    if fill == FILLS[0]:
        return example(shape, 0, 10).astype(dtype)
    if fill == FILLS[1]:
        return np.arange(math.prod(shape)).astype(dtype).reshape(shape)
    return np.full(shape, 1 if fill == FILLS[2] else 0, dtype)


def checked_shape(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    if any(n < 0 for n in shape):
        raise ValueError(f"{name}: {shape} has a negative size")
    if math.prod(shape) > MOST_ELEMENTS:
        raise ValueError(
            f"{name}: {shape} has {math.prod(shape)} elements, at most {MOST_ELEMENTS} are drawn: make it smaller"
        )
    return shape


def channels_of(op: str, w: Array, given: Mapping[str, Any]) -> int:
    """Output channels, as long as the arguments are right."""
    if w.ndim < 2:
        return 1
    first = given.get("layout") == "channels_first"
    if op == "conv":
        return int(w.shape[0 if first else -1])
    groups = given.get("groups", 1)
    return min(int(w.shape[1 if first else -2]) * (groups if isinstance(groups, int) else 1), MOST_ELEMENTS)


READERS: dict[str, Callable[[str, str], Any]] = {
    "window": ints,
    "stride": int_or_ints,
    "padding": padding,
    "dilation": int_or_ints,
    "axes": int_or_ints,
    "ceil_mode": flag,
    "count_include_pad": flag,
    "bias": flag,
    "divisor": number,
    "p": number,
    "beta": number,
    "pad_value": lambda name, text: None if text.strip().lower() == "none" else number(name, text),
    "init": number,
    "reduce_fn": lambda name, text: REDUCERS[text],
    "output_size": sizes_or_none,
    "output_padding": int_or_ints,
    "output_shape": ints,
    "groups": int_or_ints,
}
OPTIONAL = ("stride", "axes", "divisor", "output_shape")  # empty: the default of the function


def arguments(op: str, operation: Operation, texts: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of the function that are not its defaults."""
    defaults = {name: p.default for name, p in inspect.signature(FUNCTIONS[op]).parameters.items()}
    out: dict[str, Any] = {}
    for field in operation.fields:
        name, text = field.name, texts[field.name]
        if name == "filter" or (name in OPTIONAL and not text.strip()):
            continue
        value = READERS[name](name, text) if name in READERS else text
        if name == "bias" or name not in defaults or value is None or value != defaults[name]:
            out[name] = value
    if len(out.get("window", ())) == 1 and "axes" in out:
        out["window"] = out["window"][0]
    if len(out.get("output_size", ())) == 1 and "axes" in out:
        out["output_size"] = out["output_size"][0] if out["output_size"][0] is not None else out["output_size"]
    return out


# ------------------------------------------------------------------------------------------------------ limits


def axes_of(request: Request) -> tuple[Call, tuple[Axis, ...], tuple[int, ...]] | None:
    """The call, the axes of its windows, and the shape of its result; None if it is wrong, which it says itself."""
    parameters = list(inspect.signature(FUNCTIONS[request.op]).parameters.items())
    defaults = {name: p.default for name, p in parameters if name not in NOT_EXPLAINED}
    call = Call(request.op, request.x, request.w, {**defaults, **request.given}, {}, (), None, None, None)
    try:
        geometry = geometry_of(call)
    except (Cause, ValueError, TypeError):
        return None
    call = replace(call, axes=geometry.axes)
    if isinstance(geometry, Geometry):
        return call, geometry.axes, geometry.out_shape
    return call, geometry.axes, geometry.x if request.op == "conv_transpose" else geometry.y


def check_limits(request: Request) -> None:
    """Refuse what is too large to be drawn, before anything is computed."""
    found = axes_of(request)
    if found is not None:
        problem = too_large(*found)
        if problem is not None:
            raise ValueError(problem)
