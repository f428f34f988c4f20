"""torch.nn.functional."""

from __future__ import annotations

import math
from typing import Any

from .common import Different, Problem, array_text, call_text, one_or_all, program

IMPORTS = ("import numpy as np", "import torch", "import torch.nn.functional as F", "")


def write(problem: Problem) -> tuple[str, str]:
    if not 1 <= problem.rank <= 3:
        raise Different(f"torch has windows over 1, 2 and 3 axes, not {problem.rank}")
    op = problem.op
    if op in ("median_pool", "mode_pool", "smooth_max_pool", "pool"):
        raise Different(f"torch has no {op.replace('_', ' ')}ing" if op != "pool" else "torch has no general pooling")
    problem.needs_floats("torch")
    if problem.is_conv:
        return convolution(problem), ""
    problem.needs("nan", "ties", of="torch")
    return pooling(problem), "torch has no min pooling: minus the maximum of minus x." if op == "min_pool" else ""


# ----------------------------------------------------------------------------------------------------- pooling


def pooling(problem: Problem) -> str:
    rank, op = problem.rank, problem.op
    lines = [*IMPORTS, array_text("x", problem.x), f"t = torch.from_numpy(x){to_planes(problem)}"]
    if op.startswith(("adaptive", "global")):
        sizes = one_or_all(tuple(axis.o for axis in problem.axes))
        name = "max" if "max" in op else "avg"
        result = call_text(f"F.adaptive_{name}_pool{rank}d", "t", sizes)
    elif op in ("avg_pool", "sum_pool"):
        result = averages(problem, lines)
    elif op == "lp_pool":
        result = norms(problem, lines)
    else:
        minus = "-" if op == "min_pool" else ""
        given = window(problem, lines, math.inf if minus else -math.inf, dilated=True)
        result = f"{minus}{call_text(f'F.max_pool{rank}d', f'{minus}t', **given)}"
        if minus:
            result = f"({result})"
    lines.append(f"y = {result}{from_planes(problem)}.numpy()")
    return program(*lines)


def to_planes(problem: Problem) -> str:
    """Pooled axes at the end, after one or two others."""
    rank, ndim = problem.rank, problem.x.ndim
    trailing = tuple(range(ndim - rank, ndim))
    text = "" if problem.positions == trailing else f".movedim({problem.positions}, {tuple(range(-rank, 0))})"
    lead = ndim - rank
    return text + ("[None]" if lead == 0 else f".flatten(0, {lead - 2})" if lead > 2 else "")


def from_planes(problem: Problem) -> str:
    rank, ndim = problem.rank, problem.x.ndim
    lead = [n for i, n in enumerate(problem.x.shape) if i not in problem.positions]
    text = "[0]" if not lead else f".unflatten(0, {tuple(lead[:-1])})" if len(lead) > 2 else ""
    moved = problem.positions != tuple(range(ndim - rank, ndim))
    return text + (f".movedim({tuple(range(-rank, 0))}, {problem.positions})" if moved else "")


def window(problem: Problem, lines: list[str], pad_value: float | None, dilated: bool) -> dict[str, str]:
    """The arguments of a pooling function. Padding that it does not take is added to ``t`` first, as ``pad_value``."""
    if problem.is_dilated and not dilated:
        raise Different(f"torch's {problem.op} has no dilation")
    given = {"kernel_size": one_or_all(problem.size)}
    if problem.stride != problem.size:
        given["stride"] = one_or_all(problem.stride)
    ceil = bool(problem.arguments["ceil_mode"])
    # A window of padding alone has a wrong index in torch, and a derivative that is written outside of the array.
    blind = any(not a.number(False).all() for a in problem.axes)
    taken = problem.is_even and all(2 * a.low <= a.k for a in problem.axes) and not blind
    if problem.is_padded and taken:
        given["padding"] = one_or_all(tuple(low for low, _ in problem.pads))
    elif problem.is_padded and ceil:
        raise Different("torch pads by at most half of the window, the same at both ends, and ceil_mode depends on it")
    elif problem.is_padded and pad_value is None:
        raise Different("torch pads by at most half of the window, the same at both ends")
    elif problem.is_padded:
        lines.append(f"t = {padded(problem, pad_value)}")
    if problem.is_dilated:
        given["dilation"] = one_or_all(problem.dilation)
    if ceil:
        given["ceil_mode"] = "True"
    elif any(size(a) != a.o for a in problem.axes):
        raise Different(f"torch gives {tuple(size(a) for a in problem.axes)} outputs with this padding")
    return given


def size(axis: Any) -> int:
    return int((axis.n + axis.low + axis.high - axis.d * (axis.k - 1) - 1) // axis.s + 1)


def padded(problem: Problem, value: float | None) -> str:
    pads = tuple(end for pair in reversed(problem.pads) for end in pair)  # torch counts from the last axis
    named = {} if not value else {"value": "float('inf')" if value > 0 else "-float('inf')"}
    return call_text("F.pad", "t", str(pads), **named)


def averages(problem: Problem, lines: list[str]) -> str:
    include = bool(problem.arguments.get("count_include_pad", True))
    divisor = 1 if problem.op == "sum_pool" else problem.arguments.get("divisor")
    rank = problem.rank
    if divisor is not None and (not isinstance(divisor, int) or divisor == 0):
        raise Different("torch's divisor_override is an int other than 0")
    given = window(problem, lines, 0.0 if include or divisor is not None else None, dilated=False)
    if divisor is None:
        more = {} if include else {"count_include_pad": "False"}
        return call_text(f"F.avg_pool{rank}d", "t", **given, **more)
    if rank == 1:  # avg_pool1d has no divisor: a plane of one row
        for name, one in (("kernel_size", 1), ("stride", 1), ("padding", 0)):
            if name in given:
                given[name] = f"({one}, {given[name]})"
        return call_text("F.avg_pool2d", "t[..., None, :]", **given, divisor_override=str(divisor)) + "[..., 0, :]"
    return call_text(f"F.avg_pool{rank}d", "t", **given, divisor_override=str(divisor))


def norms(problem: Problem, lines: list[str]) -> str:
    p = problem.arguments["p"]
    if p == math.inf:
        given = window(problem, lines, 0.0, dilated=True)
        return call_text(f"F.max_pool{problem.rank}d", "t.abs()", **given)
    if problem.arguments["ceil_mode"]:
        raise Different("torch's lp_pool scales windows that hang over the end")
    if problem.is_dilated:
        raise Different("torch's lp_pool has no dilation")
    if problem.is_padded:
        lines.append(f"t = {padded(problem, 0.0)}")
    if any(size(a) != a.o for a in problem.axes):
        raise Different(f"torch gives {tuple(size(a) for a in problem.axes)} outputs with this padding")
    even = float(p).is_integer() and int(p) % 2 == 0
    given = {"norm_type": repr(p), "kernel_size": one_or_all(problem.size)}
    if problem.stride != problem.size:
        given["stride"] = one_or_all(problem.stride)
    # torch adds x**p, without the absolute value
    return call_text(f"F.lp_pool{problem.rank}d", "t" if even else "t.abs()", **given)


# ------------------------------------------------------------------------------------------------- convolution


def convolution(problem: Problem) -> str:
    rank, transposed = problem.rank, problem.op == "conv_transpose"
    filters = problem.w
    if filters is None or problem.x.dtype != filters.dtype:
        raise Different("torch needs x and w of the same dtype")
    last = "" if problem.first else f".movedim(-1, {-1 - rank})"
    flat = f".flatten(0, {problem.batch - 1})" if problem.batch > 1 else ""
    lines = [*IMPORTS, array_text("x", problem.x), array_text("w", filters)]
    lines.append(f"t = torch.from_numpy(x){last}{flat}")
    lines.append("f = torch.from_numpy(w)" + ("" if problem.first else ".movedim((-1, -2), (0, 1))"))
    given = {}
    if problem.bias is not None:
        lines.append(array_text("b", problem.bias))
        given["bias"] = "torch.from_numpy(b)"
    if any(s != 1 for s in problem.stride):
        given["stride"] = one_or_all(problem.stride)
    if problem.is_padded and problem.is_even:
        given["padding"] = one_or_all(tuple(low for low, _ in problem.pads))
    elif problem.is_padded and transposed:
        raise Different("torch's conv_transpose has the same padding at both ends")
    elif problem.is_padded:
        lines.append(f"t = {padded(problem, 0.0)}")
    if problem.is_dilated:
        given["dilation"] = one_or_all(problem.dilation)
    groups = problem.arguments["groups"]
    if groups != 1:
        given["groups"] = str(groups)
    if transposed:
        extra = problem.extra
        if any(not 0 <= e < max(s, d) for e, s, d in zip(extra, problem.stride, problem.dilation, strict=True)):
            raise Different("torch's output_padding is smaller than the stride or the dilation")
        if any(extra):
            given["output_padding"] = one_or_all(extra)
    elif any(size(a) != a.o for a in problem.axes):
        raise Different(f"torch gives {tuple(size(a) for a in problem.axes)} outputs with this padding")
    name = f"F.conv_transpose{rank}d" if transposed else f"F.conv{rank}d"
    back = f".unflatten(0, {problem.x.shape[: problem.batch]})" if flat else ""
    back += "" if problem.first else f".movedim({-1 - rank}, -1)"
    lines.append(f"y = {call_text(name, 't', 'f', **given)}{back}.numpy()")
    return program(*lines)
