"""mygrad: max_pool over trailing axes, conv_nd on (N, C, *spatial)."""

from __future__ import annotations

from ..calls import end_of
from .common import Different, Problem, array_text, call_text, one_or_all, program

IMPORTS = ("import numpy as np", "import mygrad as mg")


def write(problem: Problem) -> tuple[str, str]:
    if problem.op == "conv":
        return convolution(problem), ""
    if problem.op not in ("max_pool", "global_max_pool"):
        raise Different(f"mygrad has max_pool and conv_nd, no {problem.op}")
    problem.needs("nan", "ties", of="mygrad")
    if problem.is_padded:
        raise Different("mygrad's max_pool has no padding")
    if problem.is_dilated:
        raise Different("mygrad's max_pool has no dilation")
    if problem.op == "max_pool":
        needs_whole(problem)
    return pooling(problem), ""


def needs_whole(problem: Problem) -> None:
    for axis in problem.axes:
        left = axis.n + axis.high - end_of(axis)
        if left < 0:
            raise Different("mygrad has no ceil_mode: windows end where the array ends")
        if left:
            raise Different(f"mygrad refuses to leave elements over: {left} at the end of axis {axis.position}")


def pooling(problem: Problem) -> str:
    x, rank = problem.x, problem.rank
    moved = problem.positions != tuple(range(x.ndim - rank, x.ndim))
    ends = tuple(range(-rank, 0))
    size = tuple(a.n for a in problem.axes) if problem.op.startswith("global") else problem.size
    stride = "1" if problem.op.startswith("global") else one_or_all(problem.stride)
    lines = [*IMPORTS, "from mygrad.nnet.layers import max_pool", "", array_text("x", x)]
    into = f"np.moveaxis(x, {problem.positions}, {ends})" if moved else "x"
    lines.append(f"y = {call_text('max_pool', f'mg.tensor({into})', str(size), stride)}.data")
    if moved:
        lines.append(f"y = np.moveaxis(y, {ends}, {problem.positions})")
    return program(*lines)


def convolution(problem: Problem) -> str:
    x, w, rank = problem.x, problem.w, problem.rank
    if w is None or problem.arguments["groups"] != 1:
        raise Different("mygrad has no groups")
    if not problem.is_even:
        raise Different("mygrad's conv_nd has the same padding at both ends")
    needs_whole(problem)
    if any(a.d > 1 and a.k * a.d > a.n + a.low + a.high for a in problem.axes):
        raise Different("mygrad takes a dilated filter to be larger than it is, and finds that it does not fit")
    into = "x" if problem.first else f"np.moveaxis(x, -1, {-1 - rank})"
    inner = x.shape[problem.batch :] if problem.first else (x.shape[-1], *(x.shape[i] for i in problem.positions))
    lines = [*IMPORTS, "from mygrad.nnet.layers import conv_nd", "", array_text("x", x), array_text("w", w)]
    lines.append(f"t = mg.tensor({into}.reshape({(-1, *inner)}))")
    lines.append("f = mg.tensor(" + ("w)" if problem.first else "np.moveaxis(w, (-1, -2), (0, 1)))"))
    given = {"stride": one_or_all(problem.stride)}
    if problem.is_padded:
        given["padding"] = one_or_all(tuple(low for low, _ in problem.pads))
    if problem.is_dilated:
        given["dilation"] = one_or_all(problem.dilation)
    result = call_text("conv_nd", "t", "f", **given)
    if problem.bias is not None:
        lines.append(array_text("b", problem.bias))
        result = f"({result} + b.reshape({(-1, *(1,) * rank)}))"
    y = problem.y
    shape = () if y is None else y.shape
    channels = shape[problem.batch] if problem.first else shape[-1]
    out = (*x.shape[: problem.batch], channels, *(shape[i] for i in problem.positions))
    lines.append(f"y = {result}.data.reshape({out})")
    if not problem.first:
        lines.append(f"y = np.moveaxis(y, {-1 - rank}, -1)")
    return program(*lines)
