"""Tensors as NumPy arrays and back, on the same memory; and which tensors are refused."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import torch

from ...arguments.arrays import Array
from ...arguments.errors import BadType, describe_type
from ...dtypes import DType
from ...ops.base import Spec

Tensor: TypeAlias = torch.Tensor

NAMES = [
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip
tracing = torch._C._get_tracing_state  # of torch.jit
PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})  # types of tensors without a behaviour of their own
TO_NUMPY: dict[torch.dtype, DType] = {getattr(torch, name): np.dtype(name) for name in NAMES if hasattr(torch, name)}
TO_TORCH: dict[DType, torch.dtype] = {dtype: kind for kind, dtype in TO_NUMPY.items()}


def numpy_dtype(kind: Any) -> DType | None:
    """The NumPy dtype of a torch dtype, if windows know it."""
    found = TO_NUMPY.get(kind)
    if found is None and kind is torch.bfloat16:
        try:
            import ml_dtypes
        except ImportError:
            raise BadType("bfloat16 needs the package ml_dtypes: pip install ml_dtypes") from None
        found = TO_NUMPY[kind] = np.dtype(ml_dtypes.bfloat16)
        TO_TORCH[found] = kind
    return found


def torch_dtype(dtype: DType) -> torch.dtype:
    found = TO_TORCH.get(dtype)
    return torch.bfloat16 if found is None else found


def checked(x: Any, name: str) -> Tensor:
    """What a user passed, if it is a tensor that windows can be computed on."""
    if not isinstance(x, Tensor):
        what = "a NumPy array" if type(x) is np.ndarray else describe_type(x)
        raise BadType(f"{name} is {what}, and another argument is a torch tensor: pass torch.as_tensor({name})")
    if x.is_cpu and x.layout is torch.strided and x.dtype in TO_NUMPY and not x.is_nested and tracing() is None:
        return x
    return refused(x, name)


def refused(x: Tensor, name: str) -> Tensor:
    """A TypeError that says what to pass instead."""
    if tracing() is not None:
        raise BadType("torch.jit.trace cannot record what cenote computes: write torch.export.export(model, (x,))")
    if x.is_nested:
        raise BadType(f"{name} is a nested tensor: pool each of {name}.unbind(), or {name}.to_padded_tensor(0.0)")
    if x.layout is not torch.strided:
        kind = str(x.layout).removeprefix("torch.")
        raise BadType(f"{name} is a tensor of layout {kind}: pass {name}.to_dense()")
    if x.is_quantized:
        raise BadType(f"{name} is a quantized tensor: pass {name}.dequantize(), or {name}.int_repr() for its integers")
    if x.is_meta:
        raise BadType(f"{name} is a meta tensor, which has no data: cn.output_shape gives the shape of a result")
    if not x.is_cpu:
        raise BadType(f"{name} is on {x.device}: cenote computes on the CPU, pass {name}.cpu()")
    if numpy_dtype(x.dtype) is None:
        raise BadType(
            f"{name} has dtype {x.dtype}: bool, an integer type, float16, bfloat16, float32, float64, complex64 or "
            f"complex128 is needed, convert it with {name}.to"
        )
    return x


def spec_of(x: Tensor) -> Spec:
    return Spec(tuple(x.shape), TO_NUMPY[x.dtype])


def to_numpy(x: Tensor) -> Array:
    """The same memory, or a copy where a conjugate or a negative is pending."""
    if x.dtype is torch.bfloat16:  # which NumPy has no name for
        return x.detach().view(torch.int16).numpy().view(TO_NUMPY[x.dtype])
    try:
        return x.numpy(force=x.requires_grad)
    except RuntimeError:
        return x.numpy(force=True)


def from_numpy(x: Array) -> Tensor:
    """The same memory, or a copy where torch cannot have it: strides below 0, or an array that is read-only."""
    try:
        return from_fresh(x if x.flags.writeable else x.copy())
    except ValueError:  # a stride below 0, also of an axis of one element, where it has no meaning
        return from_fresh(x.copy())


def from_fresh(x: Array) -> Tensor:
    """The same of an array that the core has made."""
    if x.dtype.isbuiltin == 2:  # bfloat16
        return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
    try:
        return torch.from_numpy(x)
    except TypeError:  # long long: torch knows one of the two integers of 64 bits that are equal in NumPy
        return torch.from_numpy(x.view(x.dtype.name))
