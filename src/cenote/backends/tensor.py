"""Tensors: Ops on them are recorded for derivatives and computed on the arrays inside, of whatever library."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autodiff.recording import apply
from ..autodiff.tensor import Tensor, data_of
from ..ops.base import Op, Spec
from .dispatch import dispatch, is_foreign, register


class TensorBackend:
    name = "tensor"

    def owns(self, kind: type) -> bool:
        return issubclass(kind, Tensor)

    def operand(self, x: Any, name: str) -> Any:
        if isinstance(x, Tensor):
            return x
        backend = dispatch(x)
        beside_tensor = getattr(backend, "beside_tensor", backend.operand)
        return beside_tensor(x, name)

    def spec(self, x: Any) -> Spec:
        data = data_of(x)
        return Spec(data.shape, data.dtype) if type(data) is np.ndarray else dispatch(data).spec(data)

    def bind(self, op: Op, *operands: Any) -> tuple[Any, ...]:
        held = list(map(data_of, operands)) if len(operands) > 1 else []
        for x in held:
            check = getattr(dispatch(x), "check_alike", None) if is_foreign(x) else None
            if check is not None:
                check(held)
        return apply(op, *operands)


register(TensorBackend(), first=True)
