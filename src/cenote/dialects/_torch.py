"""What torch allows: its checks of the input and of the window, for one, two and three dimensions alike."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..api import sums
from ..arguments.errors import BadType, BadValue, describe_type, format_value, pluralize, public
from ..arguments.values import INT64_MAX, as_flag, as_int, as_sequence
from ..autodiff.tensor import Tensor, data_of
from ..backends.dispatch import dispatch, operand
from ..dtypes import DType, is_exact, native
from ..geometry.window import by_arguments, parse_window
from ._common import call

P = ParamSpec("P")
R = TypeVar("R")
Window = dict[str, Any]

# What torch calls the arguments of cenote.
NAMES = {"x": "input", "w": "weight", "window": "kernel_size", "divisor": "divisor_override"}


def by_rank(template: Callable[Concatenate[int, P], R]) -> tuple[Callable[P, R], Callable[P, R], Callable[P, R]]:
    """The functions of a template whose first argument is the number of spatial axes: ``…1d``, ``…2d``, ``…3d``."""
    return of_rank(template, 1), of_rank(template, 2), of_rank(template, 3)


def of_rank(template: Callable[Concatenate[int, P], R], rank: int) -> Callable[P, R]:
    def ranked(*args: P.args, **options: P.kwargs) -> R:
        return template(rank, *args, **options)

    functools.update_wrapper(ranked, template)
    ranked.__name__ = ranked.__qualname__ = f"{template.__name__.removeprefix('_')}{rank}d"
    whole = inspect.signature(template)
    ranked.__dict__["__signature__"] = whole.replace(parameters=list(whole.parameters.values())[1:])
    return public(ranked)


# -------------------------------------------------------------------------------------------------- the input


def planes(rank: int, input: object, channels: bool = True) -> Any:
    """The input as (C, *spatial) or (N, C, *spatial), of which only N may be 0, or C too without ``channels``."""
    data = operand(input, "input")
    shape = tuple(data.shape)
    if len(shape) not in (rank + 1, rank + 2):
        spatial = ("L", "H, W", "D, H, W")[rank - 1]
        raise BadValue(
            f"input has shape {format_value(shape)}, with {pluralize(len(shape), 'axis', 'axes')}: {rank + 1} are "
            "needed, "
            f"(C, {spatial}), or {rank + 2} with a batch, (N, C, {spatial})"
        )
    for axis in range(len(shape) - rank - channels, len(shape)):
        if shape[axis] == 0:
            raise BadValue(f"input has shape {format_value(shape)}: axis {axis} is empty, and only a batch axis may be")
    return data


# ------------------------------------------------------------------------------------------------- the window


def per_axis(name: str, value: object, rank: int, least: int) -> tuple[int, ...]:
    """An int, or a tuple of ``rank`` ints, or of one for all axes."""
    given = as_sequence(value)
    if given is None:
        return (as_size(name, value, value, least),) * rank
    if len(given) == 1:
        given *= rank
    if len(given) != rank:
        needed = "an int or a tuple of " + ("one int" if rank == 1 else f"{rank} ints")
        raise BadValue(
            f"{name}={format_value(value)} has {pluralize(len(given), 'entry', 'entries')}: {needed} is needed"
        )
    return tuple(as_size(name, value, entry, least) for entry in given)


def as_size(name: str, given: object, entry: Any, least: int, needed: str = "ints") -> int:
    """``as_int``, but a size that torch.compile keeps open stays so."""
    if type(entry).__name__ == "SymInt" and entry >= least:
        return entry  # type: ignore[no-any-return]
    return as_int(name, given, entry, least, needed)


def step(stride: object, kernel: tuple[int, ...]) -> tuple[int, ...]:
    """None and an empty tuple stand for the kernel."""
    return kernel if stride is None or as_sequence(stride) == () else per_axis("stride", stride, len(kernel), 1)


def window_arguments(
    rank: int,
    kernel_size: object,
    stride: object,
    padding: object,
    dilation: object,
    ceil_mode: object,
) -> Window:
    """The window arguments of cenote, after torch's checks."""
    given = (kernel_size, stride, padding, dilation, ceil_mode)
    return by_arguments(build, (rank,), given)


def build(
    rank: int, kernel_size: object, stride: object, padding: object, dilation: object, ceil_mode: object
) -> Window:
    kernel = per_axis("kernel_size", kernel_size, rank, 1)
    steps = step(stride, kernel)
    pads = per_axis("padding", padding, rank, 0)
    apart = per_axis("dilation", dilation, rank, 1)
    for k, p in zip(kernel, pads, strict=True):
        if p > k // 2:
            raise BadValue(
                f"padding={format_value(padding)} is more than half of kernel_size={format_value(kernel_size)}: "
                f"{p} > {k} // 2 = {k // 2}"
            )
    ceil = as_flag("ceil_mode", ceil_mode)
    return {"window": kernel, "stride": steps, "padding": pads, "dilation": apart, "ceil_mode": ceil}


# ------------------------------------------------------------------------------------------------- averages


def check_averaged(dtype: DType) -> None:
    if is_exact(dtype) and native(dtype) != np.int64:
        raise BadType(
            f"input has dtype {dtype}: torch averages floats, and int64 truncated towards zero, and nothing "
            "else: convert it to say which"
        )


def check_kernel(kernel_size: object, kernel: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """In three dimensions an average takes no kernel that is larger than the input."""
    for axis, (n, k) in enumerate(zip(shape[-3:], kernel, strict=True), len(shape) - 3):
        if n < k:
            raise BadValue(
                f"kernel_size={format_value(kernel_size)} on shape {format_value(shape)}: avg_pool3d "
                "needs a kernel "
                f"no larger than the input without padding, and on axis {axis} {k} is {k - n} more than {n}"
            )


def truncated_average(data: Any, window: Window, include_pad: bool, divisor: int | None) -> Any:
    """The average of int64, rounded towards zero."""
    total = call(sums.sum_pool, NAMES, data_of(data), **window)
    by = parse_window(**window).on(tuple(map(int, data.shape))).counts(include_pad) if divisor is None else divisor
    out = truncated(total, by if divisor is not None else like(total, by))
    return Tensor(out) if isinstance(data, Tensor) else out


def checked_divisor(given: object) -> int:
    if isinstance(given, (bool, np.bool_)) or not hasattr(type(given), "__index__"):
        raise BadType(f"divisor_override={format_value(given)}: an int is needed, not {describe_type(given)}")
    divisor = as_int("divisor_override", given, given, -INT64_MAX)
    if divisor == 0:
        raise BadValue("divisor_override=0: an int other than 0 is needed")
    return divisor


def like(array: Any, constant: Any) -> Any:
    """A NumPy array as one that can be next to ``array`` in arithmetic: torch takes its own tensors only."""
    return array.new_tensor(constant) if hasattr(array, "new_tensor") else constant


def truncated(total: Any, by: Any) -> Any:
    """``total / by``, rounded towards zero, as C divides integers."""
    with np.errstate(over="ignore"):  # the least integer divided by -1
        down = total // by
        inexact = down * by != total
    return down + (inexact & ((total < 0) != (by < 0)))


# ------------------------------------------------------------------------------------------------- bins


def bins(rank: int, output_size: object) -> tuple[Any, ...]:
    """The sizes of an adaptive result: an int, or one entry per axis, which may be None but in 1-D."""
    entries = as_sequence(output_size)
    if entries is None:
        return (as_size("output_size", output_size, output_size, 0),) * rank
    if len(entries) != rank:
        raise BadValue(
            f"output_size={format_value(output_size)} has {pluralize(len(entries), 'entry', 'entries')}: an int "
            "or a tuple of "
            f"{pluralize(rank, 'entry', 'entries')} is needed"
        )
    needed = "ints" if rank == 1 else "ints or None"
    return tuple(
        None if entry is None and rank > 1 else as_size("output_size", output_size, entry, 0, needed)
        for entry in entries
    )


# ------------------------------------------------------------------------------------------------- unpooling


def unpooled(
    rank: int, shape: tuple[int, ...], kernel_size: object, stride: object, padding: object, output_size: object
) -> tuple[Window, tuple[int, ...]]:
    """The window arguments of cenote, and the spatial sizes of what max_unpool gives."""
    kernel = per_axis("kernel_size", kernel_size, rank, 1)
    steps = kernel if stride is None else per_axis("stride", stride, rank, 1)
    pads = per_axis("padding", padding, rank, 0)
    spatial = shape[-rank:]
    usual = tuple((n - 1) * s + k - 2 * p for n, s, k, p in zip(spatial, steps, kernel, pads, strict=True))
    if output_size is None:
        for axis, (n, s, k, p, size) in enumerate(zip(spatial, steps, kernel, pads, usual, strict=True)):
            if size < 1:
                raise BadValue(
                    f"padding={format_value(padding)} on input of shape {format_value(shape)}: axis "
                    f"{len(shape) - rank + axis} would "
                    f"unpool to ({n} - 1)*{s} + {k} - 2*{p} = {size} elements: use less padding or give output_size"
                )
        return {"window": kernel, "stride": steps, "padding": pads}, usual
    entries = as_sequence(output_size)
    if entries is None:
        raise BadType(
            f"output_size={format_value(output_size)}: a tuple of ints is needed, not {describe_type(output_size)}"
        )
    if len(entries) not in (rank, rank + 2):
        raise BadValue(
            f"output_size={format_value(output_size)} has {pluralize(len(entries), 'entry', 'entries')}: {rank} "
            "are needed, or "
            f"{rank + 2} with the batch and the channels"
        )
    sizes: tuple[Any, ...] = tuple(as_size("output_size", output_size, entry, 0) for entry in entries[-rank:])
    for size, middle, s in zip(sizes, usual, steps, strict=True):
        if not middle - s < size < middle + s:
            raise BadValue(
                f"output_size={format_value(output_size)}: {size} is not from {max(middle - s + 1, 0)} to "
                f"{middle + s - 1}, "
                f"which is less than a stride of {s} from {middle}"
            )
    return {"window": kernel, "stride": steps, "output_shape": sizes}, sizes


def check_indices(indices: NDArray[Any], sizes: tuple[int, ...]) -> None:
    """All of them lie in a result of ``sizes``: torch knows no −1."""
    elements = math.prod(sizes)
    if indices.size and not (indices.min() >= 0 and indices.max() < elements):
        raise BadValue(
            f"indices has values from {indices.min()} to {indices.max()}, the result has "
            f"{'*'.join(map(str, sizes))} = {elements} elements: 0 to {elements - 1} is possible"
        )


# ------------------------------------------------------------------------------------------------ convolution


def operands(rank: int, input: object, weight: object, bias: object) -> tuple[Any, Any, Any]:
    """All of one dtype, which torch does not choose for anybody."""
    backend = dispatch(input, weight, bias)
    data = planes(rank, backend.operand(input, "input"), channels=False)
    filters = backend.operand(weight, "weight")
    if filters.ndim != rank + 2:
        raise BadValue(
            f"weight has shape {format_value(tuple(filters.shape))}, with "
            f"{pluralize(filters.ndim, 'axis', 'axes')}: {rank + 2} are "
            f"needed, two for channels and {rank} for the kernel"
        )
    if filters.shape[0] == 0:
        raise BadValue(
            f"weight has shape {format_value(tuple(filters.shape))}: axis 0 is empty, and must have at least 1 entry"
        )
    offset = None if bias is None else backend.operand(bias, "bias")
    for name, other in (("weight", filters), ("bias", offset)):
        if other is not None and other.dtype != data.dtype:
            raise BadType(
                f"{name} has dtype {other.dtype}, input has {data.dtype}: torch needs them to be the same, convert one"
            )
    return data, filters, offset


def strung(padding: object, strides: tuple[int, ...]) -> str:
    """A padding by name."""
    if padding not in ("valid", "same"):
        raise BadValue(
            f"padding={format_value(padding)} is not known: 'valid', 'same', an int or one int per axis is needed"
        )
    if padding == "same" and any(s != 1 for s in strides):
        raise BadValue(f"padding='same' is not possible in torch with a stride other than 1, and stride={strides}")
    return str(padding)
