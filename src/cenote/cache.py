"""The one cache of the package: what was made for arguments, shapes and dtypes, found again by value.

Geometries, Ops and the core's plans are kept here. An equal key finds its entry, whichever objects it is made of. The
entries are bounded in bytes (:data:`LIMIT`), as estimated by those who insert them: the oldest leave first, and what is
larger than all of it is not kept.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable
from typing import Any, TypeVar

from . import _core

T = TypeVar("T")

LIMIT = 32 << 20  # bytes
ENTRY = 1024  # bytes of an entry besides what it holds: key, tuples, the objects themselves

entries: dict[Any, tuple[Any, Any, int]] = {}  # key → arguments, value, bytes; in the order of insertion
lock = threading.RLock()  # a destructor that runs inside may call back
# In front of it, each public function may keep its last few calls in the core: those of a NumPy array only.
last_calls: list[_core.CallCache | _core.ConvCallCache] = []
used = 0  # bytes


def lookup(key: Hashable, arguments: object = None) -> Any:
    """What was inserted for an equal key and the same arguments, or None.

    Arguments are compared type by type: 2 is neither 2.0 nor True, although the three are equal.
    """
    found = entries.get(key)
    if found is None or not (found[0] is arguments or _core.same(found[0], arguments)):
        return None
    return found[1]


def insert(key: Hashable, value: T, size: int = 0, arguments: object = None) -> T:
    """Keep ``value``, of which ``size`` bytes are estimated."""
    global used
    size += ENTRY
    gone = []  # let go after the lock: what is freed may run other code
    with lock:
        if key in entries:
            gone.append(entries.pop(key))
        if size <= LIMIT:
            entries[key] = arguments, value, size
            used += size
        used -= sum(entry[2] for entry in gone)
        while used > LIMIT:
            gone.append(entries.pop(next(iter(entries))))
            used -= gone[-1][2]
    return value


def renew_lock() -> None:
    """In a forked child: the thread that held it may not be there."""
    global lock
    lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=renew_lock)


def clear_cache() -> None:
    """Drop the cached geometries, plans and calls, which make repeated calls faster.

    See Also
    --------
    show_config : Print the limit of the buffer cache.

    Notes
    -----
    The cache holds at most 32 MiB. The memory of large results is in a separate buffer cache, limited by
    ``CENOTE_KEPT_MIB``, which this does not touch.

    Examples
    --------
    >>> import cenote as cn
    >>> cn.clear_cache()
    """
    global used
    with lock:
        gone = dict(entries)
        entries.clear()
        used = 0
    gone.clear()
    for calls in last_calls:
        calls.clear()
    _core.xla_clear()
