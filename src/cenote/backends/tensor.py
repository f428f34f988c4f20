"""Tensors: Ops on them are recorded for derivatives and computed on the arrays inside, of whatever library."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autodiff.recording import apply
from ..autodiff.tensor import Tensor, data_of
from ..ops.base import Op, Spec
from .dispatch import dispatch, register


class TensorBackend:
    name = "tensor"

    def owns(self, kind: type) -> bool:
        return issubclass(kind, Tensor)

    def operand(self, x: Any, name: str) -> Any:
        return x if isinstance(x, Tensor) else dispatch(x).operand(x, name)

    def spec(self, x: Any) -> Spec:
        data = data_of(x)
        return Spec(data.shape, data.dtype) if type(data) is np.ndarray else dispatch(data).spec(data)

    def bind(self, op: Op, *operands: Any) -> tuple[Any, ...]:
        return apply(op, *operands)


register(TensorBackend(), first=True)
