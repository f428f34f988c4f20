"""The pooling and convolution of ``torch.nn.functional``, and what torch does around a function of its own.

The functions are those of :mod:`cenote.dialects.torch`. What is added concerns tensors only: objects with
``__torch_function__`` (subclasses of tensors, the proxies of torch.fx) are asked first; inside of ``torch.autocast``
operands are converted as torch converts them for the function of the same name; and a result is contiguous, or
``channels_last`` if the input is, whatever the strides of the input.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import torch
from torch.overrides import handle_torch_function, has_torch_function

from ..api import norms, pooling
from ..arguments.values import Ints, as_flag
from ..backends.torch.dynamo import one_node
from ..dialects import torch as dialect
from ..dialects._common import call
from ..dialects._torch import NAMES, by_rank, per_axis, planes, step, window_arguments

P = ParamSpec("P")
R = TypeVar("R")

# What torch.autocast does on a CPU: pooling of three axes and unpooling in float32, convolutions in its own dtype.
IN_FLOAT32 = ("pool3d", "pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d")
IN_LOWER = ("conv",)
CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def overridable(function: Callable[P, R]) -> Callable[P, R]:
    """``function`` as torch would have it, whose first argument is a tensor or what behaves like one."""
    name = function.__name__
    full, lower = name.endswith(IN_FLOAT32), name.startswith(IN_LOWER)

    @functools.wraps(function)
    def overriding(*args: P.args, **kwargs: P.kwargs) -> R:
        operands = (*args, *kwargs.values()) if lower else args[:1] or (kwargs.get("input"),)
        if has_torch_function(operands):
            return handle_torch_function(overriding, operands, *args, **kwargs)
        if (full or lower) and torch.is_autocast_enabled("cpu"):
            dtype = torch.float32 if full else torch.get_autocast_dtype("cpu")
            cast = [autocast(value, dtype) for value in args]
            result = function(*cast, **{key: autocast(value, dtype) for key, value in kwargs.items()})  # type: ignore[arg-type]
        else:
            result = function(*args, **kwargs)
        return formatted(result, operands)  # type: ignore[no-any-return]

    return one_node(overriding)


def formatted(result: Any, operands: tuple[Any, ...]) -> Any:
    """A result in the memory format that torch gives it: contiguous, or channels_last if an operand is."""
    if isinstance(result, tuple):
        return tuple(formatted(part, operands) for part in result)
    if not isinstance(result, torch.Tensor):
        return result
    channels_last = CHANNELS_LAST.get(result.ndim)
    if channels_last is None or not any(is_in(channels_last, x) for x in operands):
        return result.contiguous()
    return result.contiguous(memory_format=channels_last)


def is_in(channels_last: torch.memory_format, x: object) -> bool:
    """Whether a tensor has that memory format, and no other."""
    if not isinstance(x, torch.Tensor) or x.is_contiguous():
        return False
    try:
        return x.is_contiguous(memory_format=channels_last)
    except RuntimeError:  # inside of vmap nobody can know
        return False


def autocast(value: object, dtype: torch.dtype) -> object:
    """``value`` in the dtype of an autocast, which leaves float64 alone."""
    cast = isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype != torch.float64
    return value.to(dtype) if cast and isinstance(value, torch.Tensor) else value


max_pool1d, max_pool2d, max_pool3d = map(overridable, (dialect.max_pool1d, dialect.max_pool2d, dialect.max_pool3d))
avg_pool1d, avg_pool2d, avg_pool3d = (
    overridable(dialect.avg_pool1d),
    overridable(dialect.avg_pool2d),
    overridable(dialect.avg_pool3d),
)
lp_pool1d, lp_pool2d, lp_pool3d = map(overridable, (dialect.lp_pool1d, dialect.lp_pool2d, dialect.lp_pool3d))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = map(
    overridable, (dialect.adaptive_max_pool1d, dialect.adaptive_max_pool2d, dialect.adaptive_max_pool3d)
)
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(
    overridable, (dialect.adaptive_avg_pool1d, dialect.adaptive_avg_pool2d, dialect.adaptive_avg_pool3d)
)
max_unpool1d, max_unpool2d, max_unpool3d = map(
    overridable, (dialect.max_unpool1d, dialect.max_unpool2d, dialect.max_unpool3d)
)
conv1d, conv2d, conv3d = map(overridable, (dialect.conv1d, dialect.conv2d, dialect.conv3d))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(
    overridable, (dialect.conv_transpose1d, dialect.conv_transpose2d, dialect.conv_transpose3d)
)


def with_indices(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with ``return_indices=True``, whatever is given: torch's name for it ends in ``_with_indices``."""

    position = [*inspect.signature(function).parameters].index("return_indices")

    def indexed(*args: Any, **kwargs: Any) -> Any:
        if len(args) <= position:
            return function(*args, **{**kwargs, "return_indices": True})
        return function(*args[:-1], True, **kwargs)

    functools.update_wrapper(indexed, function)
    indexed.__name__ = indexed.__qualname__ = f"{function.__name__}_with_indices"
    return overridable(indexed)


max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = map(
    with_indices, (dialect.max_pool1d, dialect.max_pool2d, dialect.max_pool3d)
)
adaptive_max_pool1d_with_indices, adaptive_max_pool2d_with_indices, adaptive_max_pool3d_with_indices = map(
    with_indices, (dialect.adaptive_max_pool1d, dialect.adaptive_max_pool2d, dialect.adaptive_max_pool3d)
)


# --------------------------------------------------------------------------------------- what torch does not have


def _min_pool(
    rank: int,
    input: Any,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The smallest element of each window; the arguments are those of :func:`max_pool2d`.

    >>> import torch
    >>> from cenote.torch import min_pool1d
    >>> min_pool1d(torch.tensor([[1.0, 5.0, 2.0, 4.0]]), 2)
    tensor([[1., 2.]])
    """
    data = planes(rank, input)
    window = window_arguments(rank, kernel_size, stride, padding, dilation, ceil_mode)
    return call(pooling.min_pool, NAMES, data, **window, return_indices=as_flag("return_indices", return_indices))


min_pool1d, min_pool2d, min_pool3d = map(overridable, by_rank(_min_pool))


def _smooth_max_pool(
    rank: int,
    input: Any,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    beta: float | torch.Tensor = 1.0,
) -> Any:
    """The smooth maximum of each window, (1/β)·log Σ exp(β·x), in which padded elements count as zeros.

    >>> import torch
    >>> from cenote.torch import smooth_max_pool1d
    >>> beta = torch.tensor(2.0, requires_grad=True)
    >>> smooth_max_pool1d(torch.tensor([[1.0, 5.0, 2.0, 4.0]]), 2, beta=beta).sum().backward()
    >>> beta.grad
    tensor(-0.0233)

    ``beta`` is any number but 0, negative for a smooth minimum, or a tensor, which torch differentiates with respect
    to: one number, or one for each channel, of shape (C, 1, 1) in two dimensions. ``padding`` is of any size.
    """
    data = planes(rank, input)
    kernel = per_axis("kernel_size", kernel_size, rank, 1)
    window = {"stride": step(stride, kernel), "padding": per_axis("padding", padding, rank, 0)}
    if not isinstance(beta, torch.Tensor):
        return call(norms.smooth_max_pool, NAMES, data, kernel, **window, beta=beta)
    # y(x; β) = y(β·x; 1)/β, and a padded zero stays a zero: β becomes an operand like any other.
    return call(norms.smooth_max_pool, NAMES, data * beta, kernel, **window) / beta


smooth_max_pool1d, smooth_max_pool2d, smooth_max_pool3d = map(overridable, by_rank(_smooth_max_pool))
