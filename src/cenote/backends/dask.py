"""dask arrays: an Op on them is a layer of a graph, with one task for each block of the output.

A task gets the blocks of the operands that its part of the output sees, and no others. Nothing is computed here.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from ..arguments.arrays import as_array, check_dtype
from ..arguments.errors import BadType, BadValue, describe_type
from ..ops.base import Op, Spec
from .dispatch import register


class DaskBackend:
    name = "dask"

    def owns(self, kind: type) -> bool:
        array = sys.modules.get("dask.array")
        return array is not None and issubclass(kind, array.Array)

    def operand(self, x: Any, name: str) -> Any:
        if not self.owns(type(x)):
            return as_array(x, name)
        if type(x._meta) is not np.ndarray:
            raise BadType(
                f"{name} is a dask array with blocks of type {describe_type(x._meta)[2:]}: NumPy arrays are needed"
            )
        unknown = [i for i, n in enumerate(x.shape) if math.isnan(n)]
        if unknown:
            raise BadValue(
                f"{name} is a dask array whose chunks along axis {unknown[0]} have no known size: call "
                f"{name}.compute_chunk_sizes() first"
            )
        check_dtype(x.dtype, name)
        return x

    def spec(self, x: Any) -> Spec:
        return Spec(tuple(map(int, x.shape)), x.dtype)

    def bind(self, op: Op, *operands: Any) -> tuple[Any, ...]:
        from .dask_graph import bound  # which imports dask

        return bound(op, operands)


register(DaskBackend())
