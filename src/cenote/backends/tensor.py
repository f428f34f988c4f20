"""Tensors: Ops on them are recorded for derivatives and computed on the arrays inside, of whatever library."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments.errors import BadType, format_value
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
        if len(operands) > 1:
            check_alike(operands)
        if op.differentiable:
            return apply(op, *operands)
        # No derivative passes through an integer dtype: a Tensor that has one is refused.
        if any(isinstance(x, Tensor) and not x.constant for x in operands):
            after: Any = getattr(op, "after", None)
            raise BadType(
                f"dtype={format_value(str(after))}: an integer result has no derivative, give a float dtype or x.data"
            )
        return apply(op, *operands)


def check_alike(operands: tuple[Any, ...]) -> None:
    """Arrays of other libraries inside of Tensors may be of one that cannot take part."""
    held = list(map(data_of, operands))
    for x in held:
        check = getattr(dispatch(x), "check_alike", None) if is_foreign(x) else None
        if check is not None:
            check(held)


register(TensorBackend(), first=True)
