"""The layer of an Op in a graph of dask.

Tasks are made when the graph is asked for them, and of a part of a result those of that part only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import dask.array as da
from dask._task_spec import Task
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph, Layer, MaterializedLayer

from .blocks import Blocks, Chunks, Work
from .tasks import Key, task_of


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
