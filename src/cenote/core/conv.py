"""Convolution by the compiled core: it takes checked arrays and a ConvGeometry, and trusts both.

It means what the functions of ``reference.conv`` say. x, w and y are the three arrays of one form that is linear in
each of them; of any two it computes the third. Layouts are views: nothing is copied but batch axes that cannot be
merged into one in memory, and what is not in the dtype of the result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from .. import _core
from .._core import ConvForm
from ..arguments.arrays import Array
from ..dtypes import code_of, native
from ..geometry.conv import ConvGeometry
from .buffers import as_storage, empty

# The form that computes each of the three.
FORMS = {"y": ConvForm.conv, "x": ConvForm.input, "w": ConvForm.filter}


def convolve(geometry: ConvGeometry, result: str, operands: Mapping[str, Array], bias: Array | None = None) -> Array:
    """x, w or y, whichever ``result`` says, of the other two; ``bias`` is added to each channel of x or of y."""
    first, second = operands.values()
    dtype = first.dtype
    if second.dtype is not dtype or (bias is not None and bias.dtype is not dtype) or not dtype.isnative:
        dtypes = (dtype, second.dtype) if bias is None else (dtype, second.dtype, bias.dtype)
        dtype = native(np.result_type(*dtypes))
        operands = {name: operand.astype(dtype, copy=False) for name, operand in operands.items()}
        bias = None if bias is None else bias.astype(dtype, copy=False)
    out = empty(getattr(geometry, result), dtype)
    arrays = {**operands, result: out}
    x, w, y = batched(arrays["x"], geometry), filter_order(arrays["w"], geometry), batched(arrays["y"], geometry)
    _core.convolve(
        FORMS[result],
        aligned(x),
        aligned(w),
        aligned(y),
        None if bias is None else aligned(bias),
        geometry.core_axes,
        geometry.groups,
        code_of(dtype),
    )
    return out


def aligned(x: Array) -> Array:
    return as_storage(x if x.flags.aligned else x.copy())


def batched(x: Array, geometry: ConvGeometry) -> Array:
    """(B, *spatial, C)"""
    batch = x.ndim - len(geometry.axes) - 1
    if batch != 1:
        x = x.reshape(math.prod(x.shape[:batch]), *x.shape[batch:])
    return x.transpose(0, *range(2, x.ndim), 1) if geometry.channels_first else x


def filter_order(w: Array, geometry: ConvGeometry) -> Array:
    """(*k, C/groups, O)"""
    return w.transpose(*range(2, w.ndim), 1, 0) if geometry.channels_first else w
