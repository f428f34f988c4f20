"""The tasks of an Op on dask arrays. All of one graph share one :class:`~.blocks.Work`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from dask._task_spec import Task, TaskRef

from .blocks import Blocks, compute

Key: TypeAlias = tuple[Any, ...]  # the name of an array, and the index of a block


def task_of(blocks: Blocks, names: Sequence[str], key: Key) -> Task:
    """The task of a block of the output, from blocks of the arrays of these names."""
    ranges, layouts, needed = blocks.needed(key[1:])
    refs = (TaskRef((names[number], *index)) for number, index in needed)
    return Task(key, compute, blocks.work, ranges, layouts, *refs)
