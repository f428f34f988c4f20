"""The call that a user should have written: as arguments that can be changed, checked and printed."""

from __future__ import annotations

import contextlib
import inspect
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from importlib import import_module
from typing import Any

import numpy as np

from ...dtypes import is_integer
from ..errors import Cause
from ..pictures import CHANNELS, has_colours, sides
from ..values import as_sequence
from .trials import refused

PACKAGE = __name__.partition(".")[0]
Function = Callable[..., Any]
Shape = tuple[int, ...]
Note = tuple[str, bool]  # the end of a sentence, and whether the call is then what was meant
CONVOLUTIONS = ("conv", "conv_transpose")
FILTERS = ("correlate", "convolve")
WINDOW_ARGUMENTS = ("stride", "padding", "dilation", "ceil_mode", "axes")
LONGEST = 80  # characters of one value in an advised call
# Arguments that are written by their name, whatever was given: they hold data, or functions.
ARRAYS = (
    "x", "y", "w", "k", "bias", "indices", "out", "data", "f", "args", "primals", "tangents", "inputs", "input",
    "weight", "filter", "X",
)  # fmt: skip


def public_functions() -> Mapping[str, Any]:
    """The functions of the package by name: hints are about them, although they stand above this layer."""
    package = import_module(PACKAGE)
    return {name: getattr(package, name) for name in package.__all__ if name != "dialects"}


def is_dialect(function: Function) -> bool:
    return ".dialects" in function.__module__


class Draft:
    """A call: a function, its arguments by name, and how some of them are written."""

    def __init__(self, function: Function, given: Mapping[str, Any]) -> None:
        self.function = function
        self.given = dict(given)
        self.written: dict[str, str] = {}  # expressions that take the place of values
        self.shapes: dict[str, Shape] = {}  # and the shapes of those that are not of the shape that was given
        self.suffix = ""
        self.meaning = ""  # of the axes that a window of one int was given
        self.ending = ""  # what follows the call: where it is the right one
        self.unsure = False  # whether a convention cannot be followed
        self.answered: set[str] = set()  # what was wrong with values that have been corrected

    def changed(self, changes: Mapping[str, Any]) -> Draft:
        """The same call with other arguments."""
        other = copy(self)
        other.given, other.written = {**self.given, **changes}, dict(self.written)
        other.shapes, other.answered = dict(self.shapes), set(self.answered)
        return other

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.function).parameters

    @property
    def missing(self) -> list[str]:
        """The required arguments that are not given."""
        plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        needed = (name for name, p in self.parameters.items() if p.kind in plain and p.default is p.empty)
        return [name for name in needed if name not in self.given]

    def switch(self, name: str, given: Mapping[str, Any]) -> bool:
        """Call another public function, if there is one that takes all these arguments."""
        other = public_functions().get(name)
        if other is None or not set(given) <= set(Draft(other, {}).parameters):
            return False
        self.function, self.given = other, dict(given)
        return True

    # ------------------------------------------------------------------------------------------ what it is about

    @property
    def shape(self) -> Shape | None:
        """The shape of the data, if it is known."""
        first = next(iter(self.parameters), None)
        if first not in self.given:
            return None
        return self.shapes.get(first) or shape_of(self.given[first], first == "shape")

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """The dtype of x, if it is one of NumPy's."""
        x = self.given.get("x")
        dtype = np.asarray(x).dtype if isinstance(x, (list, tuple)) else getattr(x, "dtype", None)
        return dtype if isinstance(dtype, np.dtype) else None

    @property
    def window(self) -> Shape | None:
        """The size of the window on each pooled axis: of a convolution, that of its filters."""
        if self.name in FILTERS:
            return shape_of(self.given.get("k"))
        if self.name in CONVOLUTIONS:
            w = self.shapes.get("w") or shape_of(self.given.get("w")) or ()
            return w[2:] if self.given.get("layout") == "channels_first" else w[:-2]
        size = self.given.get("window")
        axes = self.given.get("axes")
        if isinstance(size, int) and axes is not None:
            return (size,) * len(as_sequence(axes) or (axes,))
        entries = as_sequence(size)
        return None if entries is None else ints(entries)

    @property
    def positions(self) -> Shape | None:
        """The axes of the data that the window lies on."""
        window, shape = self.window, self.shape
        if window is None or shape is None or len(window) > len(shape):
            return None
        ndim, axes = len(shape), self.given.get("axes")
        if axes is not None:
            named = ints(as_sequence(axes) or (axes,))
            return None if named is None else tuple(axis % ndim for axis in named)
        last = ndim - (self.name in CONVOLUTIONS and self.given.get("layout") != "channels_first")
        return tuple(range(last - len(window), last))

    @property
    def extents(self) -> Shape | None:
        """How many elements a window spans on each axis, dilation included."""
        window = self.window
        if window is None:
            return None
        given = self.given.get("dilation", 1)
        dilation = ints(as_sequence(given) or (given,) * len(window))
        if dilation is None or len(dilation) != len(window):
            return None
        return tuple((k - 1) * d + 1 for k, d in zip(window, dilation, strict=True))

    # ---------------------------------------------------------------------------------------------- one int

    def failure(self) -> Cause | None:
        """Why the call is refused, or None if it works or if that is unknown."""
        if self.missing:
            return None
        return refused(self.function, self.given, self.shapes)

    def settle(self) -> str | None:
        """Give a window of one int its axes: what they are, or None if there is nothing to give, or no way.

        A window of two entries gets those of a picture: without them it would run over the colours.
        """
        name, shape = self.size_name, self.shape
        size: Any = self.given.get(name)
        if shape is None or self.given.get("axes") is not None or "axes" not in self.parameters:
            return None
        if not self.unsettled:
            self.name_colours()
            return None
        for changes, meaning in ways_to_lie(int(size), name, shape, self.rank, not self.of_torch):
            tried = self.changed(changes)
            if tried.failure() is None:
                self.given, self.meaning = tried.given, meaning
                return meaning
        return None

    def name_colours(self) -> None:
        """Keep a window of two axes off the colours of a picture."""
        entries = self.window or as_sequence(self.given.get(self.size_name))
        axes = None if self.of_torch else sides(self.shape or ())
        if "axes" in self.parameters and self.given.get("axes") is None and axes and len(entries or ()) == 2:
            self.given["axes"] = axes

    @property
    def of_torch(self) -> bool:
        """Whether x is a tensor of torch, which has channels in front of height and width."""
        return self.library == "torch"

    @property
    def library(self) -> str:
        """The package that the type of the data is from."""
        name = type(self.given.get(next(iter(self.parameters), ""))).__module__.partition(".")[0]
        return "jax" if name == "jaxlib" else name

    @property
    def size_name(self) -> str:
        return "output_size" if "output_size" in self.parameters else "window"

    @property
    def unsettled(self) -> bool:
        """Whether the window is one int, and its axes are not named."""
        size = self.given.get(self.size_name)
        one = is_one_int(size)
        return one and self.given.get("axes") is None and not is_dialect(self.function)

    @property
    def rank(self) -> int | None:
        """The number of window axes that other arguments speak of."""
        for name in ("stride", "dilation", "padding"):
            entries = as_sequence(self.given.get(name))
            if entries is not None:
                return len(entries)
        return None

    # ---------------------------------------------------------------------------------------------- as text

    def __str__(self) -> str:
        parts = []
        for name, parameter in self.parameters.items():
            if name in self.written:
                value = self.written[name]
            elif name in self.given and not (self.given[name] is None is parameter.default):
                value = literal(self.given[name], name)
            else:
                continue
            by_name = parameter.kind is parameter.KEYWORD_ONLY or parameter.default is not parameter.empty
            parts.append(f"{name}={value}" if by_name else value)
        return f"{self.name}({', '.join(parts)}){self.suffix}"


def explained(bound: Mapping[str, Any], **changes: Any) -> str:
    """A call of explain with other arguments; it takes a shape in the place of x."""
    options = dict(bound.get("arguments", {}))
    x = bound["x_or_shape"] if "x_or_shape" in bound else options.pop("x", None)
    window = bound["window_or_w"] if "window_or_w" in bound else options.pop("window", None)
    shape = x if isinstance(x, tuple) and ints(x) is not None else None
    positional = [literal(value, "") for value in bound.get("more", ())]
    written = [f'"{bound["op"]}"', "x" if shape is None else repr(shape), literal(window, "window_or_w"), *positional]
    named = [f"{name}={literal(value, name)}" for name, value in {**options, **changes}.items()]
    return f"explain({', '.join([*written, *named])})"


def ways_to_lie(
    size: int, name: str, shape: Shape, rank: int | None, pictures: bool = True
) -> list[tuple[dict[str, Any], str]]:
    """How a window of one int may lie on an array, the likeliest first: the arguments, and the axes in words."""
    ndim = len(shape)
    ways: list[tuple[dict[str, Any], str]] = []
    if pictures and rank in (None, 2) and picture_axes(shape) is not None:
        ways.append(
            ({name: size, "axes": picture_axes(shape)}, f"height and width of a picture with {shape[-1]} channels")
        )
    ranks = [rank] if rank is not None else [1] if ndim == 1 else [2]
    if rank is None and ndim > 1 and (shape[-1] > 1 or ndim == 2):
        ranks.append(1)
    for r in ranks:
        if 0 < r <= ndim:
            which = (
                ("its only axis" if r == 1 else "both axes" if r == 2 else f"all {r} axes")
                if r == ndim
                else ("the last axis" if r == 1 else "the last two axes" if r == 2 else f"the last {r} axes")
            )
            of = "" if which.startswith("its") else f" of shape {shape}"
            ways.append(({name: (size,) * r}, which + of))
    # A last axis that is too short may be a channel.
    if rank in (None, 2):
        ways += [
            ({name: size, "axes": (i, i + 1)}, f"axes {i} and {i + 1} of shape {shape}")
            for i in reversed(range(ndim - 2))
        ]
    if rank in (None, 1):
        ways += [({name: size, "axes": i}, f"axis {i} of shape {shape}") for i in reversed(range(ndim - 1))]
    return ways


def picture_axes(shape: Shape) -> tuple[int, int] | None:
    """Height and width, if an array of this shape is likely to be a picture or a batch of pictures."""
    if len(shape) == 3 and shape[2] in CHANNELS and min(shape[:2]) > shape[2]:
        return 0, 1
    if len(shape) == 4 and has_colours(shape[1:]):
        return 1, 2
    return None


def is_one_int(size: Any) -> bool:
    """An int, also of NumPy's, also as an array without axes."""
    if isinstance(size, np.ndarray):
        return size.ndim == 0 and is_integer(size.dtype)
    return isinstance(size, (int, np.integer)) and not isinstance(size, bool)


def shape_of(value: Any, is_shape: bool = False) -> Shape | None:
    """The shape of data, without making an array of another library's; or ``value`` as a shape."""
    with contextlib.suppress(Exception):  # whatever this object is
        if not is_shape and hasattr(value, "shape"):
            value = value.shape
        elif not is_shape:
            return tuple(np.shape(value)) if isinstance(value, (list, tuple, int, float, complex)) else None
        return tuple(int(n) for n in value)
    return None


def ints(entries: Iterable[Any]) -> Shape | None:
    """The entries as ints, or None if one is something else."""
    try:
        return tuple(operator.index(entry) for entry in entries)
    except TypeError:
        return None


def literal(value: Any, name: str) -> str:
    """``value`` as it can be written in a call: an array, or what has no short form, by the argument's name."""
    if name in ARRAYS:
        text = name
    elif value is None or isinstance(value, (bool, str, int)):
        text = repr(value)
    elif isinstance(value, (np.bool_, np.integer)):
        text = repr(value.item())
    elif isinstance(value, (float, np.floating)):
        number = float(value)
        text = repr(number) if math.isfinite(number) else f"np.{number}".replace("np.-", "-np.")
    elif isinstance(value, (tuple, list)):
        entries = [literal(entry, "") for entry in value]
        inside = ", ".join(entries) + ("," if len(entries) == 1 and isinstance(value, tuple) else "")
        text = (f"({inside})" if isinstance(value, tuple) else f"[{inside}]") if all(entries) else name
    elif isinstance(value, dict):
        pairs = [(literal(key, ""), literal(entry, "")) for key, entry in value.items()]
        text = "{" + ", ".join(f"{key}: {entry}" for key, entry in pairs) + "}" if all(map(all, pairs)) else name
    elif isinstance(value, np.dtype):
        text = repr(str(value))
    else:
        called = getattr(value, "__name__", "")
        if called and getattr(np, called, None) is value:
            text = f"np.{called}"
        else:
            text = called if isinstance(value, type) and value in (bool, int, float, complex) else name
    return text if len(text) <= LONGEST else name
