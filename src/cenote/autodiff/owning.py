"""Whether an array is somebody else's too, and copies of those that are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..arguments.arrays import Array
from ..core import empty
from ..dtypes import DType


def references(values: list[Any], i: int) -> tuple[int, int]:
    """How many there are to an array in a list, and to the array that it is a view of."""
    base = values[i].base
    return count(values[i]), 0 if base is None else count(base)


count: Callable[[object], int] = getattr(sys, "getrefcount", lambda _: 1 << 30)  # where nobody counts, all is shared
# Of an array that is held by the list alone.
ALONE, BASE_ALONE = references([np.empty(1)[:]], 0) if hasattr(sys, "getrefcount") else (0, 0)


def is_shared(values: list[Any], i: int, holders: int = 1) -> bool:
    """Whether more than ``holders`` hold the array, or another one its memory."""
    to_it, to_base = references(values, i)
    return to_it >= ALONE + holders or to_base > BASE_ALONE


def copied(x: Array) -> Array:
    """A copy, in pages of the buffer cache if it is large."""
    if not x.flags.c_contiguous:
        return x.copy(order="K")
    out = empty(x.shape, x.dtype)
    out[...] = x
    return out


FEW = 1024  # elements, of which a copy takes less time than to ask whose they are


def own(values: list[Any], i: int, dtype: DType) -> Array:
    """An array of the list in a dtype, as one that nobody else has: a copy, unless the list alone holds it, and no more
    memory than it needs."""
    if type(values[i]) is not np.ndarray or values[i].size <= FEW:
        return np.array(values[i], dtype)
    if is_shared(values, i) or getattr(values[i].base, "nbytes", 0) > values[i].nbytes:
        return np.array(values[i], dtype)
    if values[i].dtype != dtype or not values[i].flags.writeable:
        return np.array(values[i], dtype)
    alone: Array = values[i]
    return alone


class Borrowed:
    """The arrays that a caller gave to a trace and may write into before its derivative is used: ``pull`` or ``push``.

    Where a derivative keeps such an array as a residual, it keeps a copy, made once.
    """

    __slots__ = ("copies", "owners")

    def __init__(self, arrays: Iterable[Any]) -> None:
        self.owners = {id(owner): owner for owner in map(owner_of, arrays)}
        self.copies: dict[int, tuple[Array, Array]] = {}

    def own(self, x: Any) -> Any:
        """``x``, or a copy if its memory is the caller's."""
        if type(x) is not np.ndarray or id(owner_of(x)) not in self.owners:
            return x
        found = self.copies.get(id(x))
        if found is None:
            found = self.copies[id(x)] = (x, copied(x))  # with x, so that its id stays its own
        return found[1]


def owner_of(x: Any) -> Any:
    """The array whose memory a view shows; NumPy keeps no views of views."""
    return x.base if isinstance(x, np.ndarray) and type(x.base) is np.ndarray else x


# By trace level, of the traces that run now and whose derivative outlives the call.
borrowed: dict[int, Borrowed] = {}
