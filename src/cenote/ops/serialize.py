"""Ops as text and back: what a compiled or exported program of another library stores.

The text is JSON: a value that JSON lacks is a list that begins with a tag. Only Ops and geometries can be read, never
code; sizes are checked, because the core trusts a geometry. A transposed geometry is written as the transpose of its
original, which is shorter than its lists of windows.
"""

from __future__ import annotations

import dataclasses
import json
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numpy as np

from .. import cache
from ..arguments.errors import BadType, BadValue
from ..geometry.axes import Axis, Geometry
from ..geometry.conv import ConvGeometry
from .base import Op
from .fold import Reducer

DATACLASSES = {"axis": Axis, "conv_geometry": ConvGeometry}
MOST = 2**46  # elements on an axis: products of sizes stay within 64 bits


def dumps(op: Op) -> str:
    """The Op as text; a TypeError for one that holds a Python function."""
    text: str | None = cache.lookup(("text", op))
    if text is None:
        text = json.dumps(encode(op), separators=(",", ":"))
        cache.insert(("text", op), text, 2 * len(text))
    return text


def loads(text: str) -> Op:
    """The Op that :func:`dumps` wrote; a ValueError for any other text."""
    op: Op | None = cache.lookup(("op of text", text))
    if op is None:
        try:
            op = decode(json.loads(text))
        except (BadValue, BadType):
            raise
        except Exception as cause:
            raise BadValue(f"not an operation that cenote wrote: {type(cause).__name__}: {cause}") from None
        if not isinstance(op, Op):
            raise BadValue("not an operation that cenote wrote")
        cache.insert(("op of text", text), op, 2 * len(text))
    return op


def encode(value: Any) -> Any:
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, np.generic)):
        return value
    if isinstance(value, tuple):
        return ["tuple", *map(encode, value)]
    if isinstance(value, Op):
        return ["op", value.name, *map(encode, value.values)]
    if isinstance(value, Geometry):
        if value.of is not None:
            return ["transpose", encode(value.of)]
        return ["geometry", encode(value.shape), encode(value.axes)]
    if isinstance(value, np.dtype):
        return ["dtype", value.name if value.isnative else value.str]
    if isinstance(value, np.generic):
        return ["number", encode(value.dtype), value.tobytes().hex()]
    if isinstance(value, np.ufunc):
        return ["ufunc", value.__name__]
    for tag, kind in DATACLASSES.items():
        if type(value) is kind:
            return [tag, *(encode(getattr(value, field.name)) for field in dataclasses.fields(kind))]
    if isinstance(value, Reducer) or callable(value):
        raise BadType(
            "reduce_fn is a Python function, which a compiled or exported program cannot hold: use a NumPy ufunc, "
            "or call pool outside of it"
        )
    raise BadType(f"{type(value).__name__} has no text")


def decode(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    tag, *parts = value
    if tag == "dtype":
        return dtype_of(parts[0])
    if tag == "ufunc":
        return ufunc_of(parts[0])
    inner = [decode(part) for part in parts]
    if tag == "tuple":
        return tuple(inner)
    if tag == "op":
        return op_named(inner[0])(*inner[1:])
    if tag == "geometry":
        return checked(Geometry(*inner))
    if tag == "transpose":
        return inner[0].transposed
    if tag == "number":
        return np.frombuffer(bytes.fromhex(inner[1]), inner[0])[0]
    kind = DATACLASSES[tag]
    return checked_axis(kind(*inner)) if kind is Axis else kind(*inner)


def op_named(name: str) -> type[Op]:
    known: dict[str, type[Op]] = cache.lookup("ops by name") or {}
    if name not in known:  # or its module was imported since
        for module in iter_modules([str(Path(__file__).parent)]):  # all Ops are defined here, or by others by now
            import_module(f".{module.name}", __package__)
        known, left = {}, [Op]
        while left:
            kind = left.pop()
            left += kind.__subclasses__()
            if "name" in vars(kind):
                known[kind.name] = kind
        cache.insert("ops by name", known)
    return known[name]


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(import_module("ml_dtypes").bfloat16 if name == "bfloat16" else name)


def ufunc_of(name: str) -> np.ufunc:
    found = getattr(np, name)
    if not isinstance(found, np.ufunc):
        raise BadValue(f"{name} is no ufunc of NumPy's")
    return found


def checked_axis(axis: Axis) -> Axis:
    sizes = (axis.position, axis.n, axis.o, axis.low, axis.high)
    if not all(isinstance(v, int) and 0 <= v <= MOST for v in sizes):
        raise BadValue(f"not a possible axis: {axis}")
    if not all(isinstance(v, int) and 1 <= v <= 2**63 - 1 for v in (axis.k, axis.s, axis.d)):
        raise BadValue(f"not a possible axis: {axis}")
    if axis.o and max((axis.o - 1) * axis.s, (axis.k - 1) * axis.d) > 4 * MOST:  # coordinates would overflow
        raise BadValue(f"not a possible axis: {axis}")
    if axis.starts is not None or axis.lengths is not None:
        windows = list(zip(axis.starts or (), axis.lengths or (), strict=True))
        inside = all(b >= 0 and 0 <= k <= axis.k and (not k or b + (k - 1) * axis.d < axis.n) for b, k in windows)
        if len(windows) != axis.o or not inside:
            raise BadValue(f"not a possible axis: {axis}")
    return axis


def checked(geometry: Geometry) -> Geometry:
    positions = geometry.positions
    fits = all(a.position < len(geometry.shape) and geometry.shape[a.position] == a.n for a in geometry.axes)
    if not fits or len(set(positions)) != len(positions) or not all(0 <= n <= MOST for n in geometry.shape):
        raise BadValue(f"not a possible geometry: {geometry}")
    return geometry
