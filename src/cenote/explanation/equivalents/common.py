"""What programs for several libraries share."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np

from ...arguments.arrays import Array
from ...dtypes import has_nan, is_complex
from ...geometry.axes import Axis
from ..calls import Call, end_of

MOST_WRITTEN = 4096  # elements of an array: a larger one is left to the reader


class Different(Exception):
    """Why a library has no call that means the same."""


class Problem:
    """A call as other libraries ask for it: windows in numbers, defaults filled in."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.op, self.x, self.w, self.y = call.op, call.x, call.w, call.y
        bias = call.arguments.get("bias")
        self.bias: Array | None = None if bias is None else np.asarray(bias)
        self.arguments = call.arguments
        self.axes: tuple[Axis, ...] = call.axes

    @property
    def rank(self) -> int:
        return len(self.axes)

    @property
    def is_conv(self) -> bool:
        return self.w is not None

    @property
    def first(self) -> bool:
        """Whether the channels of a convolution come first."""
        return self.arguments.get("layout") == "channels_first"

    @property
    def batch(self) -> int:
        """Number of batch axes of a convolution."""
        return self.x.ndim - self.rank - 1

    @property
    def positions(self) -> tuple[int, ...]:
        return tuple(axis.position for axis in self.axes)

    @property
    def size(self) -> tuple[int, ...]:
        return tuple(axis.k for axis in self.axes)

    @property
    def stride(self) -> tuple[int, ...]:
        return tuple(axis.s for axis in self.axes)

    @property
    def dilation(self) -> tuple[int, ...]:
        return tuple(axis.d for axis in self.axes)

    @property
    def pads(self) -> tuple[tuple[int, int], ...]:
        return tuple((axis.low, axis.high) for axis in self.axes)

    @property
    def is_padded(self) -> bool:
        return any(low or high for low, high in self.pads)

    @property
    def is_even(self) -> bool:
        """Whether the padding is the same at both ends."""
        return all(low == high for low, high in self.pads)

    @property
    def is_dilated(self) -> bool:
        return any(d != 1 for d in self.dilation)

    @property
    def extra(self) -> tuple[int, ...]:
        """Of a transposed convolution: how many outputs each axis has beyond the least."""
        return tuple(a.n - ((a.o - 1) * a.s - a.low - a.high + a.d * (a.k - 1) + 1) for a in self.axes)

    def needs(self, *names: str, of: str) -> None:
        """No argument is used that the library does not have."""
        words = {"nan": "omit", "ties": "split"}
        for name in names:
            if self.arguments.get(name) == words[name]:
                more = ": the values are the same, the derivative is not" if name == "ties" else ""
                raise Different(f'{of} has nothing like {name}="{words[name]}"{more}')

    def needs_floats(self, of: str) -> None:
        if not has_nan(self.x.dtype):
            raise Different(f"{of} has other rules for integers: choose float64 as the dtype of x")

    def needs_floor(self, of: str) -> None:
        """The output size is rounded down, and no window hangs over the end."""
        for axis in self.axes:
            room = axis.n + axis.low + axis.high - axis.d * (axis.k - 1) - 1
            if room // axis.s + 1 != axis.o or end_of(axis) > axis.n + axis.high:
                raise Different(f"{of} rounds the output size down: {room // axis.s + 1} on axis {axis.position}")


# ------------------------------------------------------------------------------------------------------- text


def array_text(name: str, array: Array) -> str:
    """``x = np.array([[1., 2.]])``, to the last digit"""
    if array.size == 0:
        return f"{name} = np.zeros({array.shape}, dtype=np.{array.dtype})"
    if array.size > MOST_WRITTEN:
        return f"# {name}: your array of shape {array.shape}, {array.dtype}"
    if is_complex(array.dtype) and not np.isfinite(array).all():  # there is no literal for inf+nanj
        texts = np.array([str(value) for value in array.ravel().tolist()]).reshape(array.shape).tolist()
        return f"{name} = np.array({texts}).astype({value_text(array.dtype)})"
    prefix = f"{name} = np.array("
    with np.printoptions(legacy=False, nanstr="nan", infstr="inf", sign="-", formatter=None):
        numbers = np.array2string(
            array, separator=", ", prefix=prefix, threshold=sys.maxsize, max_line_width=100, floatmode="unique",
            suppress_small=False,
        )  # fmt: skip
    numbers = re.sub(r"\b(nan|inf)\b", r"np.\1", re.sub(r"\n\n+", "\n", numbers))
    kind = (
        "" if str(array.dtype) in ("float64", "int64", "bool", "complex128") else f", dtype={value_text(array.dtype)}"
    )
    return f"{prefix}{numbers}{kind})"


def is_function(value: object) -> bool:
    """One of the user's own, or of another library, which has no text; NumPy's have their names."""
    of_numpy = isinstance(value, np.ufunc) and getattr(np, value.__name__, None) is value
    return callable(value) and not isinstance(value, type) and not of_numpy


def value_text(value: Any) -> str:
    if isinstance(value, np.ufunc):
        return f"np.{value.__name__}"
    if isinstance(value, (type, np.dtype)):
        name = str(np.dtype(value))
        return f"np.{name}" if hasattr(np, name) else repr(name)
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()!r})"
    if isinstance(value, np.generic):
        return value_text(value.item())
    if isinstance(value, (tuple, list)):
        inner = ", ".join(map(value_text, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, float) and not np.isfinite(value):
        return f"np.{value}" if value > 0 or value != value else f"-np.{-value}"
    return repr(value)


def one_or_all(values: tuple[int, ...]) -> str:
    """An int if all are the same."""
    return str(values[0]) if len(set(values)) == 1 else str(values)


def call_text(function: str, *arguments: str, **named: str) -> str:
    return f"{function}({', '.join([*arguments, *(f'{name}={text}' for name, text in named.items())])})"


def program(*lines: str) -> str:
    return "\n".join(lines) + "\n"
