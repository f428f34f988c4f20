"""Expressions of dask: what its arrays are under ``array.query-planning``. An Op is one node."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from dask._collections import new_collection
from dask._task_spec import Task
from dask.array._array_expr._expr import ArrayExpr

from .blocks import Blocks, Chunks, Work
from .tasks import task_of


class OpExpr(ArrayExpr):  # type: ignore[misc]
    """A :class:`~.blocks.Work` on the arrays that follow its parameters."""

    _parameters = ["work", "chunks", "_meta"]  # noqa: RUF012  as dask has it

    @cached_property
    def arrays(self) -> list[Any]:
        return self.operands[len(self._parameters) :]  # type: ignore[no-any-return]

    @cached_property
    def _meta(self) -> Any:
        return self.operand("_meta")

    @cached_property
    def chunks(self) -> Chunks:
        return self.operand("chunks")  # type: ignore[no-any-return]

    @cached_property
    def _name(self) -> str:
        return f"{self.operand('work').op.label}-{self.deterministic_token}"

    def _layer(self) -> dict[Any, Task]:
        names = [x._name for x in self.arrays]
        blocks = Blocks(self.operand("work"), [x.chunks for x in self.arrays], self.chunks)
        keys = itertools.product([self._name], *(range(len(sizes)) for sizes in self.chunks))
        return {key: task_of(blocks, names, key) for key in keys}


def of_expression(work: Work, arrays: Sequence[Any], chunks: Chunks, meta: Any) -> Any:
    return new_collection(OpExpr(work, chunks, meta, *arrays))
