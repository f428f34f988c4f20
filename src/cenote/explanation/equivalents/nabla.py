"""nabla: 2-D, on (N, H, W, C)."""

from __future__ import annotations

from .common import Different, Problem, array_text, call_text, one_or_all, program


def write(problem: Problem) -> tuple[str, str]:
    if problem.rank != 2:
        raise Different(f"nabla has windows over 2 axes, not {problem.rank}")
    if not problem.is_conv and problem.op not in ("max_pool", "avg_pool", "global_max_pool", "global_avg_pool"):
        raise Different(f"nabla has max_pool2d and avg_pool2d, no {problem.op}")
    problem.needs_floats("nabla")
    if problem.is_dilated:
        raise Different("nabla has no dilation")
    if problem.is_conv:
        return convolution(problem), ""
    problem.needs("nan", "ties", of="nabla")
    if not problem.op.startswith("global"):
        problem.needs_floor("nabla")
    if problem.arguments.get("divisor") is not None:
        raise Different("nabla's avg_pool2d has no divisor")
    if not problem.arguments.get("count_include_pad", True) and problem.is_padded:
        raise Different("nabla's avg_pool2d always counts padding")
    ties = "Where elements tie, nabla gives each of them the whole derivative." if "max" in problem.op else ""
    return pooling(problem), ties


def padding(problem: Problem) -> dict[str, str]:
    """(top, bottom, left, right)"""
    return {"padding": str(tuple(end for pair in problem.pads for end in pair))} if problem.is_padded else {}


def pooling(problem: Problem) -> str:
    x = problem.x
    others = [i for i in range(x.ndim) if i not in problem.positions]
    moved = problem.positions != (x.ndim - 2, x.ndim - 1)
    spatial = tuple(x.shape[i] for i in problem.positions)
    into = f"np.moveaxis(x, {problem.positions}, (-2, -1))" if moved else "x"
    size = spatial if problem.op.startswith("global") else problem.size
    given = {"kernel_size": one_or_all(size)}
    if not problem.op.startswith("global") and problem.stride != size:
        given["stride"] = one_or_all(problem.stride)
    name = "max_pool2d" if "max" in problem.op else "avg_pool2d"
    y = problem.y
    shape = () if y is None else y.shape
    out = tuple(shape[i] for i in (*others, *problem.positions))
    lines = ["import numpy as np", "import nabla as nb", "", array_text("x", x)]
    lines.append(f"t = nb.Tensor.from_dlpack({into}.reshape({(-1, *spatial, 1)}).copy())")
    lines.append(f"y = {call_text(f'nb.{name}', 't', **given, **padding(problem))}.to_numpy().reshape({out})")
    if moved:
        lines.append(f"y = np.moveaxis(y, (-2, -1), {problem.positions})")
    return program(*lines)


def convolution(problem: Problem) -> str:
    if problem.arguments["groups"] != 1:
        raise Different("nabla has no groups")
    if problem.w is None or problem.x.dtype != problem.w.dtype:
        raise Different("nabla needs x and w of the same dtype")
    transposed = problem.op == "conv_transpose"
    if transposed and any(problem.extra):
        raise Different("nabla has no output padding")
    if not transposed:
        problem.needs_floor("nabla")
    x = problem.x
    last = "np.moveaxis(x, -3, -1)" if problem.first else "x"
    batch = x.shape[: problem.batch]
    inner = tuple(x.shape[i] for i in problem.positions)
    channels = x.shape[-3 if problem.first else -1]
    lines = ["import numpy as np", "import nabla as nb", "", array_text("x", x), array_text("w", problem.w)]
    lines.append(f"t = nb.Tensor.from_dlpack({last}.reshape({(-1, *inner, channels)}).copy())")
    filters = "np.moveaxis(w, (0, 1), (-1, -2)).copy()" if problem.first else "w"
    lines.append(f"f = nb.Tensor.from_dlpack({filters})")
    given = {} if all(s == 1 for s in problem.stride) else {"stride": str(problem.stride)}
    given |= padding(problem)
    if problem.bias is not None:
        lines.append(array_text("b", problem.bias))
        given["bias"] = "nb.Tensor.from_dlpack(b)"
    y = problem.y
    shape = () if y is None else y.shape
    features = shape[-3 if problem.first else -1]
    out = (*batch, *(shape[i] for i in problem.positions), features)
    name = "nb.conv2d_transpose" if transposed else "nb.conv2d"
    lines.append(f"y = {call_text(name, 't', 'f', **given)}.to_numpy().reshape({out})")
    if problem.first:
        lines.append("y = np.moveaxis(y, -1, -3)")
    return program(*lines)
