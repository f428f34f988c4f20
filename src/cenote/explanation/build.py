"""What the user wrote, as a call with its data."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..api import filtering
from ..arguments.errors import TO_SEE_IT, BadType, BadValue, format_value, hints
from ..arguments.values import per_axis
from .calls import FUNCTIONS, MOST_EXAMPLES, NOT_EXPLAINED, Call, data, geometry_of, name_of
from .faults import find_fault


def by_parameter(name: str, args: Sequence[object], options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by the names that the function has for them."""
    parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
    by_position = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    if args[1] is not None and len(by_position) == 1:
        raise BadType(f"window={format_value(args[1])}: {name} has no window, name the axes with axes=")
    given = {n: value for n, value in zip(by_position, args, strict=False) if value is not None}
    for twice in given.keys() & options.keys():
        raise BadType(f"{twice} is given twice, by position and by name")
    return {n: as_written(n, value) for n, value in {**given, **options}.items()}


def as_written(name: str, value: object) -> object:
    """An argument as people write it: not a range; ``init`` not as an array without axes."""
    if isinstance(value, range) and name != "x":
        return tuple(value)
    return value.item() if name == "init" and isinstance(value, np.ndarray) and not value.ndim else value


def filtered(op: str, args: Sequence[object], options: Mapping[str, Any]) -> str:
    """correlate and convolve, which are convolutions with one channel: the call that draws them, if that is known."""
    function = {"correlate": filtering.correlate, "convolve": filtering.convolve}[op]
    text = f"op={op!r}: it is conv with one channel{'' if op == 'correlate' else ', and k flipped'}"
    with contextlib.suppress(TypeError, ValueError, KeyError):
        given = inspect.signature(function).bind(*(a for a in args if a is not None), **options)
        given.apply_defaults()
        x, k = (data(name, given.arguments[name], 0, 10)[0].shape for name in ("x", "k"))
        mode, stride, dilation = (given.arguments[name] for name in ("mode", "stride", "dilation"))
        margin = [d * (n - 1) for n, d in zip(k, per_axis("dilation", dilation, len(k), 1), strict=True)]
        pads = {
            "full": tuple((r, r) for r in margin), "same": tuple((r - r // 2, r // 2) for r in margin), "valid": 0
        }[mode]  # fmt: skip
        named = {"stride": (stride, 1), "padding": (pads, 0), "dilation": (dilation, 1)}
        written = "".join(f", {name}={value!r}" for name, (value, default) in named.items() if value != default)
        if given.arguments["axes"] is None and 0 < len(k) <= len(x):
            text += f': write explain("conv", {(*x, 1)}, {(*k, 1, 1)}{written})'
    return text


def build_call(op: object, args: Sequence[object], options: Mapping[str, Any]) -> Call:
    """The call of the function ``op`` with these arguments, by position and by name as it takes them itself."""
    if isinstance(op, str) and op in ("correlate", "convolve"):
        raise BadValue(filtered(op, args, options))
    name = name_of(op)
    for word in NOT_EXPLAINED:
        if word in options:
            raise BadType(f"{word} does not change what a window sees: leave it out")
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    given = by_parameter(name, args, options)
    if "x" not in given:
        raise BadType(f"x is missing: {name} needs its input, or the shape of it")
    x_or_shape = given.pop("x")
    x, is_too_large = data("x", x_or_shape, 0, 10, name == "mode_pool")
    w = window_or_w = None
    is_conv = name.startswith("conv")
    if is_conv:
        window_or_w = given.pop("w", None)
        if window_or_w is None:
            raise BadType(f"w is missing: {name} needs the filters, or their shape")
        w, w_is_too_large = data("w", window_or_w, -1, 3)
        is_too_large |= w_is_too_large
    rest = list(parameters.items())[2 if is_conv else 1 :]
    defaults = {n: p.default for n, p in rest if p.default is not p.empty and n not in NOT_EXPLAINED}
    written = {n: given[n] for n in (*parameters, *given) if n in given}  # in the order of the signature
    call = Call(name, x, w, {**defaults, **given}, written, (), None, None, None)
    if is_too_large and find_fault(call) is None:
        raise BadValue(
            f"x={format_value(x.shape)}: example data has at most {MOST_EXAMPLES} elements: give a smaller "
            "shape, or an array"
        )
    try:
        if len(args) > max(2, sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters.values())):
            call.function(x, args[1] if w is None else w, *args[2:], **options)  # which refuses more by position
        y = np.asarray(call.compute(x))
    except (TypeError, ValueError) as error:
        fault = find_fault(call) if isinstance(error, ValueError) else None
        text = hints().as_explained(str(error), name, x_or_shape, window_or_w)
        if fault is not None:
            return replace(call, axes=fault.axes, fault=fault, problem=text.partition(TO_SEE_IT)[0])
        if text == str(error):
            raise
        raise type(error)(text) from None
    geometry = geometry_of(call)
    return replace(call, axes=geometry.axes, geometry=geometry, y=y)
