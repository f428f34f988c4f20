"""The size arithmetic in words, with the numbers of the call."""

from __future__ import annotations

from ..arguments.errors import pluralize
from ..geometry.axes import Axis
from .calls import Call, Fault, channel_axis
from .faults import dims


def describe(call: Call) -> str:
    lines = [call.text]
    if call.problem is not None:
        lines.append(f"does not work: {call.problem}")
    ceil = bool(call.arguments.get("ceil_mode"))
    fault = call.fault
    if fault is not None and fault.subject in ("channels", "groups"):
        return "\n".join([*lines, partners(call, fault), *also(call, fault)])
    for axis in call.axes:
        if call.op == "conv_transpose":
            lines.append(transposed(axis))
        elif call.op.startswith("adaptive"):
            lines.append(bins(axis))
        elif call.op.startswith("global"):
            every = "" if axis.n == 1 else "all "
            lines.append(f"axis {axis.position}: one window over {every}{elements(axis.n)}, 1 output.")
        else:
            lines.append(windows(axis, ceil))
    if call.y is not None:
        lines.append(f"Result: shape {call.y.shape}, {outputs(call.y.size)}.")
    return "\n".join(lines)


def elements(number: int) -> str:
    return pluralize(number, "element", "elements")


def outputs(number: int) -> str:
    return pluralize(number, "output", "outputs")


def windows(axis: Axis, ceil: bool) -> str:
    k, s, d, low, high, n = axis.k, axis.s, axis.d, axis.low, axis.high, axis.n
    reach, extent = d * (k - 1) + 1, n + low + high
    text = f"axis {axis.position}: {elements(n)}"
    if low or high:
        text += f", with padding {low} + {n} + {high} = {extent}"
    text += f". The window spans {k}" if d == 1 else f". The window spans ({k} - 1)*{d} + 1 = {reach}"
    room = extent - reach
    if axis.o == 0 and n:
        return text + f": {elements(max(-room, 0))} too many, it does not fit."
    text += f", which leaves {extent} - {reach} = {room}"
    text += f" for steps of {s}: " if s > 1 else ": "
    rule = f"ceil({room} / {s}) + 1" if ceil else f"floor({room} / {s}) + 1"
    full = -(-room // s) + 1 if ceil else room // s + 1
    text += f"{rule} = {outputs(full)}"
    if axis.o == full - 1:
        text += f", less the last, which would start at {(full - 1) * s} in the high padding: {axis.o}"
    elif axis.o != full:  # "same" with a stride beyond the window
        text += f'; "same" gives ceil({n} / {s}) = {axis.o}'
    last = (axis.o - 1) * s + reach
    if last > extent:
        text += f". The last window hangs over the end by {last - extent}"
    elif last < extent:
        text += f". {unseen(axis, extent - last)}"
    return text + "."


def unseen(axis: Axis, number: int) -> str:
    """What the end of the padded input has beyond the last window."""
    real = max(0, min(axis.n, number - axis.high))
    padded = number - real
    parts = [elements(real)] if real else []
    parts += [pluralize(padded, "position of padding", "positions of padding")] if padded else []
    return f"{' and '.join(parts)} at the end {'is' if number == 1 else 'are'} not seen"


def partners(call: Call, fault: Fault) -> str:
    """Of channels that do not fit together."""
    number, groups = call.x.shape[channel_axis(call)], call.arguments["groups"]
    if fault.subject == "groups":
        return in_groups(fault.needed, "of x" if call.op == "conv_transpose" else "that w gives", groups)
    text = f"axis {channel_axis(call)}: {pluralize(number, 'channel', 'channels')}; the filters take {fault.needed}"
    if number > fault.needed:
        return f"{text}, which leaves {number - fault.needed} without weights."
    return f"{text}, which leaves weights for {fault.needed - number} without a channel."


def also(call: Call, fault: Fault) -> list[str]:
    """Of a convolution whose channels do not fit: what else does not."""
    if call.op == "conv_transpose":
        return []
    outer, groups = dims(call).outer, call.arguments["groups"]
    out = [in_groups(outer, "that w gives", groups)] if fault.subject == "channels" and outer % groups else []
    too_large = (axis for axis in fault.axes if axis.n and axis.n + axis.low + axis.high <= axis.d * (axis.k - 1))
    return out + [windows(axis, False) for axis in too_large]


def in_groups(channels: int, whose: str, groups: int) -> str:
    each, left = divmod(channels, groups)
    number = pluralize(channels, "channel", "channels")
    return f"{number} {whose} in {groups} groups: {each} in each, and {left} left over."


def bins(axis: Axis) -> str:
    lengths = sorted(set(axis.number(False).tolist()))
    text = f"axis {axis.position}: {elements(axis.n)} in {pluralize(axis.o, 'bin', 'bins')}"
    if not lengths:
        return text + "."
    sizes = " or ".join([*map(str, lengths[:-1]), elements(lengths[-1])])
    return f"{text}; bin i covers floor(i*{axis.n}/{axis.o}) up to ceil((i + 1)*{axis.n}/{axis.o}), {sizes}."


def transposed(axis: Axis) -> str:
    """Of a transposed convolution, whose input is what the convolution gives."""
    n, k, s, d = axis.o, axis.k, axis.s, axis.d
    least = (n - 1) * s - axis.low - axis.high + d * (k - 1) + 1
    text = (
        f"axis {axis.position}: {elements(n)}, each spread over a filter of {k}, {s} apart: "
        f"({n} - 1)*{s} - {axis.low} - {axis.high} + ({k} - 1)*{d} + 1 = {least}"
    )
    if axis.n < 1:
        whole = axis.n + axis.low + axis.high
        more = f", and {axis.n - least} more: {axis.n}" if axis.n != least else ""
        return f"{text}{more}. Padding cuts {axis.low} + {axis.high} off {elements(whole)}, which leaves none."
    return text + (f", and {axis.n - least} more: {axis.n} outputs." if axis.n != least else " outputs.")
