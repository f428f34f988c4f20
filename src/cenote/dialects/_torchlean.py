"""What the functions of TorchLean are made of: their four names each, and their derivatives."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from ..arguments.errors import BadType, BadValue, format_value, public
from ..autodiff import transforms as autodiff
from ..autodiff.tensor import Tensor
from ..backends.dispatch import operand
from ..dtypes import has_nan, is_complex
from ._common import astype, call, dtype_of
from ._sections import Texts, with_sections

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Function = Callable[..., Any]

NAMES = {"window": "spec.kernel", "stride": "spec.stride", "padding": "spec.padding"}
# What TorchLean's own names have in the place of ours.
ENDINGS = {"": "_spec", "_jvp": "_jvp_spec", "_vjp": "_backward_spec"}

# What help says of each argument, which has the same meaning in every function.
TEXTS: Texts = {
    "kernel": ("tuple of int", "Size of the window along each spatial axis."),
    "stride": ("tuple of int", "Step of the window along each spatial axis."),
    "padding": ("tuple of int", "Number of elements added at both ends of each spatial axis."),
    "spec": ("PoolSpec", "Size, stride and padding of the window: MaxPoolSpec and AvgPoolSpec are the same."),
    "beta": ("float", "Any finite number other than 0: the larger, the closer to the maximum; negative for a minimum."),
    "output_size": ("int or tuple of int", "Number of bins: one int for all spatial axes, or one per axis."),
    "x": ("array_like or Tensor", "Input of shape (C, spatial…), without a batch axis."),
    "dx": ("array_like or Tensor", "Tangent of ``x``, of the same shape."),
    "g": ("array_like or Tensor", "Cotangent of the result, of the same shape as the result."),
}
SPATIAL: Texts = {**TEXTS, "x": ("array_like or Tensor", "Input of shape (spatial…), without batch and channel axes.")}


def result_of(name: str) -> Texts:
    stem = name.removesuffix("_spec")
    if stem.endswith("jvp"):
        text = "Tangent of the result."
    elif stem.endswith(("vjp", "backward")):
        text = "Cotangent of ``x``, of the same shape as ``x``."
    else:
        per = {"adaptive": "bin", "global": "channel"}.get(stem.partition("_")[0], "window")
        text = f"One value per {per}."
    return {"result": ("ndarray or Tensor", text)}


def forms(
    template: Callable[Concatenate[int, P], R],
) -> tuple[Callable[P, R], Callable[P, R], Callable[P, R], Callable[P, R]]:
    """The functions of a template whose first argument is the number of channel axes.

    Of ``_max_pool_vjp`` they are ``max_pool_vjp`` and ``max_pool_spatial_vjp``, without the channel axis, and the two
    again under the names of TorchLean, ``max_pool_backward_spec`` and ``max_pool_spatial_backward_spec``.
    """
    name = template.__name__.removeprefix("_")
    mode = next(mode for mode in ("_jvp", "_vjp", "") if name.endswith(mode))
    stem = name.removesuffix(mode)
    one = f":func:`{name}` of one channel, without the channel axis."
    return (
        form(template, 1, name),
        form(template, 0, f"{stem}_spatial{mode}", doc=one),
        form(template, 1, f"{stem}{ENDINGS[mode]}"),
        form(template, 0, f"{stem}_spatial{ENDINGS[mode]}", doc=one),
    )


def form(
    template: Callable[Concatenate[T, P], R], first: T, name: str, *words: str, doc: str | None = None
) -> Callable[P, R]:
    """The template with its first argument given, under a name of its own, and ``words`` put into its docstring."""

    def function(*args: P.args, **options: P.kwargs) -> R:
        return template(first, *args, **options)

    functools.update_wrapper(function, template)
    function.__name__ = function.__qualname__ = name
    text = doc or str(template.__doc__)
    function.__doc__ = text.format(*words) if words else text
    whole = inspect.signature(template)
    function.__dict__["__signature__"] = whole.replace(parameters=list(whole.parameters.values())[1:])
    with_sections(function, SPATIAL if "_spatial" in name else TEXTS, result_of(name))
    return public(function)


def camel_case(name: str) -> str:
    """maxPoolSpec of max_pool_spec."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def spatial(x: object) -> Any:
    """(C, spatial…), where no spatial axis may be empty."""
    data = operand(x)
    if data.ndim < 2:
        raise BadValue(f"x has shape {format_value(data.shape)}: at least 2 axes are needed, (channels, spatial…)")
    for axis in range(1, data.ndim):
        if data.shape[axis] == 0:
            raise BadValue(f"x has shape {format_value(data.shape)}: axis {axis} is empty, there is nothing to pool")
    return data


def zeroed(values: Any, where: Any) -> Any:
    """``values`` with zeros, by the library that the array is of: NumPy's function would convert torch's and JAX's."""
    if hasattr(values, "masked_fill"):
        return values.masked_fill(where, 0)
    of = values.__array_namespace__() if hasattr(values, "__array_namespace__") else np
    return of.where(where, of.zeros((), dtype=values.dtype), values)


# ------------------------------------------------------------------------------------------------- derivatives


def pushed(f: Function, x: Any, dx: object) -> Any:
    _, push = call(autodiff.linearize, NAMES, f, differentiable(x))
    return like(push(direction("dx", dx, "x", x)), x, dx)


def pulled(f: Function, x: Any, g: object) -> Any:
    y, pull = call(autodiff.vjp, NAMES, f, differentiable(x))
    return like(pull(direction("g", g, "the result", y))[0], x, g)


def differentiable(x: Any) -> Any:
    """Integers are numbers here like any others, not constants."""
    return x if has_nan(dtype_of(x)) else astype(x, np.float64)


def direction(name: str, given: object, of: str, point: Any) -> Any:
    """A tangent or cotangent, which has the shape of what it belongs to."""
    data = operand(given, name)
    if data.shape != point.shape:
        raise BadValue(
            f"{name} has shape {format_value(data.shape)}, {of} has {format_value(point.shape)}: they must agree"
        )
    if is_complex(data.dtype) and not is_complex(point.dtype):
        raise BadType(f"{name} has dtype {data.dtype}, {of} has {point.dtype}: real numbers are needed")
    return data


def like(out: Any, *given: object) -> Any:
    """Tensors give a Tensor, a constant one where the derivative does not depend on them."""
    if isinstance(out, Tensor) or not any(isinstance(value, Tensor) for value in given):
        return out
    return Tensor(out, constant=True)
