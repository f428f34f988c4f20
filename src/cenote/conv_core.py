"""The primitive of convolution over the compiled core: it takes checked arrays and a ConvGeometry, and trusts both.

It means what the functions of ``convolution_reference`` say. x, w and y are the three arrays of one form that is linear
in each of them; of any two it makes the third. Layouts are views: nothing is copied but batch axes that do not lie
in memory as one, and what is not in the dtype of the result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from . import _core
from .arguments.arrays import Array, DType, convolved, is_bfloat16, native
from .arguments.errors import Argument, BadType
from .core import code_of
from .geometry.conv import ConvGeometry

# The core's number of the form that makes each of the three.
FORMS = {"y": 0, "x": 1, "w": 2}


def promoted(operands: Mapping[str, DType]) -> DType:
    """The dtype of a convolution of these: NumPy's rule."""
    for name, dtype in operands.items():
        convolved(dtype, name)
    try:
        found: DType = np.result_type(*operands.values())
    except TypeError:
        told = [part for name, dtype in operands.items() for part in (", ", Argument(name), f" has dtype {dtype}")][1:]
        raise BadType(*told, ": NumPy knows no dtype that holds them all, convert them to one") from None
    return native(found)


def convolve(frame: ConvGeometry, result: str, operands: Mapping[str, Array], bias: Array | None = None) -> Array:
    """x, w or y, whichever ``result`` says, of the other two; ``bias`` is added to each channel of x or of y."""
    first, second = operands.values()
    dtype = first.dtype
    if second.dtype is not dtype or (bias is not None and bias.dtype is not dtype) or not dtype.isnative:
        known = (dtype, second.dtype) if bias is None else (dtype, second.dtype, bias.dtype)
        dtype = native(np.result_type(*known))
        operands = {name: operand.astype(dtype, copy=False) for name, operand in operands.items()}
        bias = None if bias is None else bias.astype(dtype, copy=False)
    out = _core.empty(getattr(frame, result), dtype)
    held = {**operands, result: out}
    x, w, y = batched(held["x"], frame), filter_order(held["w"], frame), batched(held["y"], frame)
    if is_bfloat16(dtype):  # the buffer protocol has no name for it
        x, w, y = x.view(np.uint16), w.view(np.uint16), y.view(np.uint16)
        bias = None if bias is None else bias.view(np.uint16)
    _core.convolve(
        FORMS[result],
        x if x.flags.aligned else x.copy(),
        w if w.flags.aligned else w.copy(),
        y if y.flags.aligned else y.copy(),
        bias if bias is None or bias.flags.aligned else bias.copy(),
        frame.core,
        frame.groups,
        code_of(dtype),
    )
    return out


def batched(x: Array, frame: ConvGeometry) -> Array:
    """(B, *spatial, C)"""
    batch = x.ndim - len(frame.axes) - 1
    if batch != 1:
        x = x.reshape(math.prod(x.shape[:batch]), *x.shape[batch:])
    return x.transpose(0, *range(2, x.ndim), 1) if frame.first else x


def filter_order(w: Array, frame: ConvGeometry) -> Array:
    """(*k, C/groups, O)"""
    return w.transpose(*range(2, w.ndim), 1, 0) if frame.first else w
