"""A backend for arrays in files: a public function checks its arguments and gives the Op that is to be computed."""

from __future__ import annotations

from typing import Any

from ..arguments.arrays import as_array, check_dtype
from ..backends.dispatch import register
from ..dtypes import DType
from ..ops.base import Op, Spec
from .base import Source


class FileArray:
    """An array in a file, with its shape and dtype."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.shape: tuple[int, ...] = source.shape
        self.dtype: DType = source.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)


class Pending:
    """The result of an Op that was not computed yet, and its operands: files and arrays."""

    def __init__(self, op: Op, operands: tuple[Any, ...], spec: Spec) -> None:
        self.op, self.operands = op, operands
        self.shape, self.dtype = spec


class FileBackend:
    name = "files"

    def owns(self, kind: type) -> bool:
        return kind is FileArray

    def operand(self, x: Any, name: str) -> Any:
        if not isinstance(x, FileArray):
            return as_array(x, name)
        check_dtype(x.dtype, name)
        return x

    def spec(self, x: Any) -> Spec:
        return Spec(x.shape, x.dtype)

    def bind(self, op: Op, *operands: Any) -> tuple[Any, ...]:
        return tuple(Pending(op, operands, spec) for spec in op.infer(*map(self.spec, operands)))


register(FileBackend())
