"""Graphs of dask: the layer of an Op, for arrays that are graphs and for those that are expressions.

``array.query-planning`` decides which of the two dask's arrays are, once for a process. Tasks are made when a graph is
asked for, and of a part of a result those of that part only. They share one :class:`~.blocks.Work`.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import dask.array as da
import numpy as np
from dask._task_spec import Task, TaskRef
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph, Layer, MaterializedLayer

from ..ops.base import Op, Spec
from .blocks import Blocks, Chunks, Work, compute, output_chunks

WHOLE = 64 << 20  # bytes: a NumPy array up to this size is one block
Key: TypeAlias = tuple[Any, ...]  # the name of an array, and the index of a block


def bound(op: Op, operands: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of an Op on dask arrays and NumPy arrays."""
    arrays = [from_numpy(x) if isinstance(x, np.ndarray) else x for x in operands]
    specs = tuple(Spec(tuple(map(int, x.shape)), x.dtype) for x in arrays)
    outputs = op.infer(*specs)
    held = [x for x, given in zip(arrays, operands, strict=True) if x is given]  # dask arrays of the user's
    limit = max(2 * x.dtype.itemsize * math.prod(map(max, x.chunks)) for x in held)
    chunks = output_chunks(op, outputs, [x.chunks for x in arrays], limit)
    metas = [np.empty((0,) * len(spec.shape), spec.dtype) for spec in outputs]
    make = of_expression if da.array_expr_enabled() else of_graph
    whole = make(Work(op, specs), arrays, chunks, metas[0])
    if len(outputs) == 1:
        return (whole,)
    return tuple(da.map_blocks(operator.getitem, whole, i, meta=m) for i, m in enumerate(metas))


def from_numpy(x: Any) -> Any:
    return da.from_array(x, chunks=x.shape if x.nbytes <= WHOLE else "auto")


def task_of(blocks: Blocks, names: Sequence[str], key: Key) -> Task:
    ranges, layouts, needed = blocks.needed(key[1:])
    refs = (TaskRef((names[number], *index)) for number, index in needed)
    return Task(key, compute, blocks.work, ranges, layouts, *refs)


class OpLayer(Layer):  # type: ignore[misc]
    """The tasks of an Op, made one by one as they are asked for."""

    has_legacy_tasks = False

    def __init__(self, name: str, work: Work, names: Sequence[str], operands: Sequence[Chunks], output: Chunks) -> None:
        super().__init__()
        self.name, self.work, self.names, self.operands, self.output = name, work, tuple(names), operands, output

    @cached_property
    def blocks(self) -> Blocks:
        return Blocks(self.work, self.operands, self.output)

    @cached_property
    def tasks(self) -> dict[Key, Task]:
        return {key: task_of(self.blocks, self.names, key) for key in self}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("blocks", "tasks")}

    def is_materialized(self) -> bool:
        return "tasks" in self.__dict__

    def get_output_keys(self) -> set[Key]:
        return set(self)

    def __iter__(self) -> Iterator[Key]:
        return itertools.product([self.name], *(range(len(sizes)) for sizes in self.output))

    def __len__(self) -> int:
        return math.prod(map(len, self.output))

    def __contains__(self, key: object) -> bool:
        return (
            isinstance(key, tuple)
            and len(key) == len(self.output) + 1
            and key[0] == self.name
            and all(isinstance(i, int) and 0 <= i < len(n) for i, n in zip(key[1:], self.output, strict=True))
        )

    def __getitem__(self, key: Key) -> Task:
        return self.tasks[key]

    def cull(self, keys: set[Key], all_hlg_keys: Collection[Key]) -> tuple[Layer, Mapping[Key, set[Key]]]:
        tasks = {key: task_of(self.blocks, self.names, key) for key in keys if key in self}
        layer = MaterializedLayer(tasks, annotations=self.annotations)
        return layer, {key: set(task.dependencies) for key, task in tasks.items()}

    def get_dependencies(self, key: Key, all_hlg_keys: Collection[Key]) -> set[Key]:
        return set(self[key].dependencies)


def of_graph(work: Work, arrays: Sequence[Any], chunks: Chunks, meta: Any) -> Any:
    names = [x.name for x in arrays]
    name = f"{work.op.label}-{tokenize(work, names, chunks)}"
    layer = OpLayer(name, work, names, [x.chunks for x in arrays], chunks)
    return da.Array(HighLevelGraph.from_collections(name, layer, dependencies=arrays), name, chunks, meta=meta)


def of_expression(work: Work, arrays: Sequence[Any], chunks: Chunks, meta: Any) -> Any:
    from dask._collections import new_collection

    from .dask_expression import OpExpr

    return new_collection(OpExpr(work, chunks, meta, *arrays))
