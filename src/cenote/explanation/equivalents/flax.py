"""flax: nnx for pooling, linen for convolution, whose layers can be given their parameters."""

from __future__ import annotations

import numpy as np

from ...dtypes import has_nan
from ..calls import function_name
from .common import Different, Problem, array_text, call_text, program

NEUTRAL = {"add": 0.0, "multiply": 1.0, "maximum": -np.inf, "minimum": np.inf}
LAX = {"add": "jax.lax.add", "multiply": "jax.lax.mul", "maximum": "jax.lax.max", "minimum": "jax.lax.min"}


def imports(problem: Problem, *more: str) -> list[str]:
    wide = ['jax.config.update("jax_enable_x64", True)'] if problem.x.dtype.itemsize == 8 else []
    return ["import numpy as np", "import jax", *more, *wide, ""]


def write(problem: Problem) -> tuple[str, str]:
    if problem.op == "conv":
        return convolution(problem), ""
    if problem.op == "conv_transpose":
        return transposed(problem), ""
    problem.needs("nan", "ties", of="flax")
    if problem.op.startswith("adaptive"):
        raise Different("flax has no adaptive pooling")
    if problem.op in ("lp_pool", "smooth_max_pool", "median_pool", "mode_pool"):
        raise Different(f"flax has no {problem.op.replace('_', ' ')}ing")
    if problem.is_dilated:
        raise Different("flax's pooling has no dilation")
    if not has_nan(problem.x.dtype) and not problem.op.endswith(("max_pool", "min_pool")):
        raise Different("flax has other rules for integers: choose float64 as the dtype of x")
    if not problem.op.startswith("global"):
        problem.needs_floor("flax")
    return pooling(problem), ""


def pooling(problem: Problem) -> str:
    """On (batch, *spatial, features): the features are an axis of length 1, the batch is all others."""
    x, rank, op = problem.x, problem.rank, problem.op
    others = [i for i in range(x.ndim) if i not in problem.positions]
    moved = problem.positions != tuple(range(x.ndim - rank, x.ndim))
    spatial = tuple(x.shape[i] for i in problem.positions)
    into = f"np.moveaxis(x, {problem.positions}, {tuple(range(-rank, 0))})" if moved else "x"
    lines = [*imports(problem, "from flax import nnx"), array_text("x", x)]
    lines.append(f"t = {into}.reshape({(-1, *spatial, 1)})")
    given = ["t"]
    if op == "sum_pool":
        given += ["0.0", LAX["add"]]
    elif op == "pool":
        function, init = problem.arguments["reduce_fn"], problem.arguments["init"]
        name = function_name(function)
        if name not in LAX or not isinstance(function, np.ufunc):
            raise Different(f"jax.lax has no function like {name} for windows")
        if init != NEUTRAL[name]:
            raise Different(f"flax also fills the padding with init: it must be {NEUTRAL[name]} for {name}")
        given += [f"np.float64({str(float(init))!r})" if np.isinf(init) else repr(float(init)), LAX[name]]
    elif op == "avg_pool" and problem.arguments.get("divisor") is not None:
        raise Different("flax's avg_pool has no divisor")
    named = {} if op == "pool" or op == "sum_pool" else {"strides": str(problem.stride)}
    size = spatial if op.startswith("global") else problem.size
    pads = "'VALID'" if not problem.is_padded else str(problem.pads)
    if op in ("pool", "sum_pool"):
        given += [str(size), str(problem.stride), pads]
        result = call_text("nnx.pool", *given)
    else:
        name = "max_pool" if "max" in op else "min_pool" if "min" in op else "avg_pool"
        if problem.is_padded:
            named["padding"] = pads
        if not problem.arguments.get("count_include_pad", True):
            named["count_include_pad"] = "False"
        result = call_text(f"nnx.{name}", *given, str(size), **named)
    y = problem.y
    shape = () if y is None else y.shape
    out = tuple(shape[i] for i in (*others, *problem.positions))
    lines.append(f"y = np.asarray({result}).reshape({out})")
    if moved:
        lines.append(f"y = np.moveaxis(y, {tuple(range(-rank, 0))}, {problem.positions})")
    return program(*lines)


def layer(problem: Problem, name: str, **more: str) -> str:
    """``flax.linen.Conv`` with the parameters that it is given."""
    x, w, bias, rank = problem.x, problem.w, problem.bias, problem.rank
    if w is None or not has_nan(x.dtype):
        raise Different("flax's layers have other rules for integers: choose float64 as the dtype of x")
    lines = [*imports(problem, "from flax import linen as nn"), array_text("x", x), array_text("w", w)]
    parameters = "{'kernel': " + (f"np.moveaxis(w, (0, 1), {(-1, -2)})" if problem.first else "w")
    if bias is not None:
        lines.append(array_text("b", bias))
        parameters += ", 'bias': b"
    y = problem.y
    features = 0 if y is None else y.shape[-1 - rank if problem.first else -1]
    given = {"strides": str(problem.stride), **more, "use_bias": str(bias is not None)}
    if problem.is_dilated:
        given["kernel_dilation"] = str(problem.dilation)
    given["dtype"] = given["param_dtype"] = f"np.{x.dtype}"
    lines.append(f"layer = {call_text(f'nn.{name}', str(features), str(problem.size), **given)}")
    data = f"np.moveaxis(x, {-1 - rank}, -1)" if problem.first else "x"
    result = f"np.asarray(layer.apply({{'params': {parameters}}}}}, {data}))"
    lines.append(f"y = np.moveaxis({result}, -1, {-1 - rank})" if problem.first else f"y = {result}")
    return program(*lines)


def convolution(problem: Problem) -> str:
    problem.needs_floor("flax")
    more = {"padding": str(problem.pads)}
    if problem.arguments["groups"] != 1:
        more["feature_group_count"] = str(problem.arguments["groups"])
    return layer(problem, "Conv", **more)


def transposed(problem: Problem) -> str:
    if problem.arguments["groups"] != 1:
        raise Different("flax's ConvTranspose has no groups")
    # flax pads the spread input: by what the filter reaches, less our padding
    pads = []
    for axis, extra in zip(problem.axes, problem.extra, strict=True):
        reach = axis.d * (axis.k - 1)
        pads.append((reach - axis.low, reach - axis.high + extra))
    return layer(problem, "ConvTranspose", padding=str(tuple(pads)), transpose_kernel="True")
