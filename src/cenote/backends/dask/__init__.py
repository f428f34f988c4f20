"""dask arrays: an Op on them is a layer of a graph, with one task for each block of the output.

A task gets the blocks of the operands that its part of the output sees, and no others. Nothing is computed here, and
dask is imported when one of its arrays comes in. ``blocks.py`` says how an output is cut and what each block needs,
``tasks.py``, ``graph.py`` and ``expression.py`` put that into dask's words.
"""

from __future__ import annotations

import math
import operator
import sys
from typing import Any

import numpy as np

from ...arguments.arrays import as_array, check_dtype
from ...arguments.errors import BadType, BadValue, describe_type
from ...ops.base import Op, Spec
from ..dispatch import register
from .blocks import Chunks, Work, output_chunks

WHOLE = 64 << 20  # bytes: a NumPy array up to this size is one block


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

    def lift(self, x: Any, like: Any) -> Any:
        """A NumPy array as a dask array with the chunks of another one of its shape."""
        import dask.array as da

        return da.from_array(x, chunks=like.chunks)

    def broadcast(self, x: Any, shape: tuple[int, ...]) -> Any:
        import dask.array as da

        if da.array_expr_enabled():  # which has no broadcast_to; a sum with -0 keeps every bit, also of inf + 0j
            return x + da.full(shape, -np.zeros((), x.dtype), dtype=x.dtype)
        return np.broadcast_to(x, shape)

    def bind(self, op: Op, *operands: Any) -> tuple[Any, ...]:
        import dask.array as da

        arrays = [from_numpy(x) if isinstance(x, np.ndarray) else x for x in operands]
        specs = tuple(map(self.spec, arrays))
        outputs = op.infer(*specs)
        given = [x for x in operands if not isinstance(x, np.ndarray)]
        limit = max(2 * x.dtype.itemsize * math.prod(map(max, x.chunks)) for x in given)
        chunks = output_chunks(op, outputs, [x.chunks for x in arrays], limit)
        metas = [np.empty((0,) * len(spec.shape), spec.dtype) for spec in outputs]
        whole = new_array(Work(op, specs), arrays, chunks, metas[0])
        if len(outputs) == 1:
            return (whole,)
        return tuple(da.map_blocks(operator.getitem, whole, i, meta=meta) for i, meta in enumerate(metas))


def from_numpy(x: Any) -> Any:
    import dask.array as da

    return da.from_array(x, chunks=x.shape if x.nbytes <= WHOLE else "auto")


def new_array(work: Work, arrays: list[Any], chunks: Chunks, meta: Any) -> Any:
    """A dask array whose blocks are the outputs of an Op: an expression if dask's arrays are expressions, which
    ``array.query-planning`` decides once for a process, otherwise a graph."""
    import dask.array as da

    if da.array_expr_enabled():
        from .expression import of_expression

        return of_expression(work, arrays, chunks, meta)
    from .graph import of_graph

    return of_graph(work, arrays, chunks, meta)


register(DaskBackend())
