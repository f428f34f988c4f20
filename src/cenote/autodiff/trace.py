"""One run of a function: what it gave, and the two ways through what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arguments.errors import Argument, BadType, BadValue, describe_type, format_value
from ..backends.dispatch import bind, dispatch, is_foreign, operand
from ..dtypes import DType, is_complex, is_differentiable
from ..ops.elementwise import ZerosLike
from .elementwise import Form, form_of
from .graph import Node, Value, backward_pass, forward_pass, trace_level
from .linear import Cast
from .mixtures import mixture
from .owning import Borrowed, borrowed, copied, is_shared
from .tensor import Tensor, current, data_of, make


def refuse_own_derivatives(x: Any, name: str) -> None:
    """Arrays of a library that records what is done with them are not recorded a second time."""
    advice = getattr(dispatch(x), "own_derivatives", None)
    if advice is not None:
        library = dispatch(x).name
        raise BadType(f"{name} is a {library} {type(x).__name__}, and {library} has derivatives of its own: {advice}")


def traced(f: Callable[..., Any], primals: Sequence[Any], outlives: bool = False, forward: bool = False) -> Any:
    """One run of a function: by this engine, or by that of the library that an argument is of, if it has one.

    ``forward``: tangents are pushed through it, not cotangents pulled back.
    """
    for p in primals:
        own = getattr(dispatch(p), "trace", None) if is_foreign(p) else None
        if own is not None:
            return own(f, primals, forward)
    return Trace(f, primals, outlives)


class Trace:
    """One run of a function: its inputs' nodes and its outputs, taken apart into values and nodes."""

    def __init__(self, f: Callable[..., Any], primals: Sequence[Any], outlives: bool = False) -> None:
        """``outlives``: the derivative is used after the call, when the primals may have other values."""
        if not callable(f):
            raise BadType(Argument("f"), f"={format_value(f)} is {describe_type(f)}: a function is needed")
        for i, p in enumerate(primals):
            refuse_own_derivatives(p, f"primals[{i}]")
        arrays = [current(operand(p, f"primals[{i}]")) for i, p in enumerate(primals)]
        self.primals = [form_of(p) for p in arrays]
        self.foreign_primals = list(map(foreign, arrays))
        self.nodes = [Node(()) if is_differentiable(form.dtype) else None for form in self.primals]
        with trace_level() as level:
            if outlives:
                borrowed[level] = Borrowed(arrays)
            try:
                y = f(
                    *(p if node is None else make(p, level, node) for p, node in zip(arrays, self.nodes, strict=True))
                )
            finally:
                borrowed.pop(level, None)
            self.many = isinstance(y, (tuple, list))
            self.values: list[Value] = []
            self.ends: list[Node | None] = []
            for i, out in enumerate(y if self.many else (y,)):
                value, end = output_of(out, level, f"output {i} of f" if self.many else "the output of f")
                self.values.append(value)
                self.ends.append(end)
        self.forms = [form_of(value) for value in self.values]
        self.foreign = list(map(foreign, self.values))

    def hand_over(self) -> Any:
        """The value of f, once: as arrays that may be written to, which are no part of what ``pull`` needs."""
        values, self.values = self.values, []
        for i in range(len(values)):
            if type(values[i]) is np.ndarray and is_shared(values, i):
                values[i] = copied(values[i])
        return tuple(values) if self.many else values[0]

    def transpose(self, g: Any) -> tuple[Any, ...]:
        parts = g if self.many else (g,)
        if self.many and (not isinstance(g, (tuple, list)) or len(g) != len(self.forms)):
            raise BadValue(f"g must be a tuple of {len(self.forms)}, one for each output of ", Argument("f"))
        seeds = []
        for i, (part, form, like, end) in enumerate(zip(parts, self.forms, self.foreign, self.ends, strict=True)):
            held = fitted(part, form, f"g[{i}]" if self.many else "g", "the output of f", like)
            if end is not None:
                seeds.append((end, held))
        cotangents = backward_pass(seeds)
        out = []
        for form, like, node in zip(self.primals, self.foreign_primals, self.nodes, strict=True):
            found = cotangents.get(node) if node is not None else None
            if found is None:
                found = zeros(form, like)
            out.append(found)
        return owned(out, [held for _, held in seeds])

    def apply(self, tangents: Sequence[Any]) -> Any:
        if len(tangents) != len(self.primals):
            raise BadValue(f"{len(tangents)} tangents for {len(self.primals)} primals: give one for each")
        seeds = {}
        of_primals = zip(self.primals, self.foreign_primals, self.nodes, strict=True)
        for i, (t, (form, like, node)) in enumerate(zip(tangents, of_primals, strict=True)):
            if node is not None:
                seeds[node] = fitted(t, form, f"tangents[{i}]", f"primals[{i}]", like)
            elif foreign(t) is None and np.any(data_of(t)):  # those of other libraries may not be looked at
                raise BadValue(f"tangents[{i}] is not zero, but primals[{i}] is an array of {form.dtype}, a constant")
        found = forward_pass(seeds, [end for end in self.ends if end is not None])
        out = [
            found[end] if end is not None and end in found else zeros(form, like)
            for form, like, end in zip(self.forms, self.foreign, self.ends, strict=True)
        ]
        results = owned(out, list(seeds.values()))
        return results if self.many else results[0]


def output_of(out: Any, level: int, name: str) -> tuple[Value, Node | None]:
    """The value of an output of f, and its node if it depends on the inputs at ``level``."""
    out = current(out)
    if not isinstance(out, Tensor):
        return operand(out, name), None
    if out._node is None:
        return out._value, None
    if out._level > level:
        raise BadValue(
            f"{name} was recorded by a later derivative, which still runs on another thread: take that derivative "
            "inside of ",
            Argument("f"),
        )
    return (out._value, out._node) if out._level == level else (out, None)


def owned(values: Sequence[Value], given: Sequence[Value]) -> tuple[Value, ...]:
    """The same as arrays of their own, also where they are scalars, read-only views, or one array several times."""
    out: list[Value] = []
    for value in values:
        if isinstance(value, (np.ndarray, np.generic)):
            value = np.asarray(value)
            others = (data_of(other) for other in (*given, *out))
            shared = (isinstance(other, np.ndarray) and np.may_share_memory(value, other) for other in others)
            if not value.flags.writeable or any(shared):
                value = value.copy()
        out.append(value)
    return tuple(out)


def float_of(dtype: DType) -> DType:
    return dtype if is_differentiable(dtype) else np.dtype(np.float64)


def foreign(value: Value) -> Any:
    """The array of another library that a value is or holds, otherwise None: what belongs to it is of that library."""
    held = data_of(value)
    return held if is_foreign(held) else None


def zeros(form: Form, like: Any) -> Any:
    dtype = float_of(form.dtype)
    return np.zeros(form.shape, dtype) if like is None else bind(ZerosLike(form.shape, dtype), like)[0]


def fitted(given: Any, form: Form, name: str, of: str, like: Any) -> Value:
    """A tangent or cotangent with the shape and dtype of what it belongs to, of the library of ``like`` if given."""
    held = operand(given, name)
    shape, dtype = form.shape, float_of(form.dtype)
    found = data_of(held)
    if is_foreign(found) and (reason := mixture(found, like, name, of)):
        raise BadType(reason)
    if found.shape != shape:
        raise BadValue(f"{name} has shape {found.shape}, {of} has {shape}: they must agree")
    if is_complex(found.dtype) and not is_complex(dtype):
        raise BadType(f"{name} has dtype {found.dtype}, {of} is real: its imaginary part would be lost")
    lift = getattr(dispatch(like), "lift", None) if type(held) is np.ndarray and like is not None else None
    if lift is not None:
        held = lift(held, like)
    return held if found.dtype == dtype else Cast(found.dtype, dtype)(held)
