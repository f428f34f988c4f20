"""Moments at which Ctrl-C has to wait: a library is writing, and what it writes could not be removed yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Interrupts:
    """Used in the main thread only, which is where Python runs handlers of signals."""

    def __init__(self) -> None:
        self.depth = 0
        self.pending: BaseException | None = None

    def deliver(self, error: BaseException) -> None:
        """Raise the exception of a signal, now or at the end of :meth:`deferred`."""
        if not self.depth:
            raise error
        self.pending = error

    @contextmanager
    def deferred(self) -> Iterator[None]:
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            if not self.depth and self.pending is not None:
                pending, self.pending = self.pending, None
                raise pending


INTERRUPTS = Interrupts()
deferred = INTERRUPTS.deferred
