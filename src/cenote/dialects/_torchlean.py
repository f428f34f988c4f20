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
from ._common import call

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Function = Callable[..., Any]

NAMES = {"window": "spec.kernel", "stride": "spec.stride", "padding": "spec.padding"}
# What TorchLean's own names have in the place of ours.
ENDINGS = {"": "_spec", "_jvp": "_jvp_spec", "_vjp": "_backward_spec"}


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
        described(form(template, 0, f"{stem}_spatial{mode}"), one),
        form(template, 1, f"{stem}{ENDINGS[mode]}"),
        described(form(template, 0, f"{stem}_spatial{ENDINGS[mode]}"), one),
    )


def form(template: Callable[Concatenate[T, P], R], first: T, name: str, *words: str) -> Callable[P, R]:
    """The template with its first argument given, under a name of its own, and ``words`` put into its docstring."""

    def function(*args: P.args, **options: P.kwargs) -> R:
        return template(first, *args, **options)

    functools.update_wrapper(function, template)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = str(template.__doc__).format(*words) if words else template.__doc__
    whole = inspect.signature(template)
    function.__dict__["__signature__"] = whole.replace(parameters=list(whole.parameters.values())[1:])
    return public(function)


def described(function: Callable[P, R], doc: str) -> Callable[P, R]:
    function.__doc__ = doc
    return function


def spatial(x: object) -> Any:
    """(C, spatial…), where no spatial axis may be empty."""
    data = operand(x)
    if data.ndim < 2:
        raise BadValue(f"x has shape {format_value(data.shape)}: at least 2 axes are needed, (channels, spatial…)")
    for axis in range(1, data.ndim):
        if data.shape[axis] == 0:
            raise BadValue(f"x has shape {format_value(data.shape)}: axis {axis} is empty, there is nothing to pool")
    return data


# ------------------------------------------------------------------------------------------------- derivatives


def pushed(f: Function, x: Any, dx: object) -> Any:
    _, push = call(autodiff.linearize, NAMES, f, differentiable(x))
    return like(push(direction("dx", dx, "x", x)), x, dx)


def pulled(f: Function, x: Any, g: object) -> Any:
    y, pull = call(autodiff.vjp, NAMES, f, differentiable(x))
    return like(pull(direction("g", g, "the result", y))[0], x, g)


def differentiable(x: Any) -> Any:
    """Integers are numbers here like any others, not constants."""
    return x if has_nan(x.dtype) else x.astype(np.float64)


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
