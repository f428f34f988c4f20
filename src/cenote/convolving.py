"""The primitive of convolution over the compiled core: it takes checked arrays and a Frame, and trusts both.

It means what the functions of ``convolution_reference`` say. x, w and y are the three arrays of one form that is linear
in each of them; of any two it makes the third. Layouts are views: nothing is copied but batch axes that do not lie
in memory as one, and what is not in the dtype of the result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from . import _core
from .arrays import Array, DType, convolved, is_bfloat16, native
from .errors import BadType
from .frame import Frame
from .primitives import code_of

# The core's number of the form that makes each of the three.
FORMS = {"y": 0, "x": 1, "w": 2}


def promoted(operands: Mapping[str, DType]) -> DType:
    """The dtype of a convolution of these: NumPy's rule."""
    for name, dtype in operands.items():
        convolved(dtype, name)
    try:
        found: DType = np.result_type(*operands.values())
    except TypeError:
        told = ", ".join(f"{name} has dtype {dtype}" for name, dtype in operands.items())
        raise BadType(f"{told}: NumPy knows no dtype that holds them all, convert them to one") from None
    return native(found)


def convolve(frame: Frame, result: str, operands: Mapping[str, Array], bias: Array | None = None) -> Array:
    """x, w or y, whichever ``result`` says, of the other two; ``bias`` is added to each channel of x or of y."""
    dtypes = [operand.dtype for operand in operands.values()]
    dtype = dtypes[0]
    if bias is not None:
        dtypes.append(bias.dtype)
    if not all(dtype is other for other in dtypes):
        dtype = np.result_type(*dtypes)
    dtype = native(dtype)
    out = np.empty(getattr(frame, result), dtype)
    held = {name: np.asarray(operand, dtype) for name, operand in operands.items()} | {result: out}
    _core.convolve(
        FORMS[result],
        raw(batched(held["x"], frame)),
        raw(filter_order(held["w"], frame)),
        raw(batched(held["y"], frame)),
        None if bias is None else raw(np.asarray(bias, dtype)),
        frame.core,
        frame.groups,
        code_of(dtype),
    )
    return out


def batched(x: Array, frame: Frame) -> Array:
    """(B, *spatial, C)"""
    batch = x.ndim - len(frame.axes) - 1
    if batch != 1:
        x = x.reshape(math.prod(x.shape[:batch]), *x.shape[batch:])
    return x.transpose(0, *range(2, x.ndim), 1) if frame.first else x


def filter_order(w: Array, frame: Frame) -> Array:
    """(*k, C/groups, O)"""
    return w.transpose(*range(2, w.ndim), 1, 0) if frame.first else w


def raw(x: Array) -> Array:
    """As the core reads it: on whole addresses, and bfloat16, which the buffer protocol has no name for, as bits."""
    if not x.flags.aligned:
        x = x.copy()
    return x.view(np.uint16) if is_bfloat16(x.dtype) else x
