"""Ctrl-C, SIGTERM and SIGHUP: each ends a command by an exception, so that it removes what it has begun to write."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from ..files.interrupts import INTERRUPTS

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Stopped(KeyboardInterrupt):
    """A signal that asks the process to end. A KeyboardInterrupt, since libraries let that one pass."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextlib.contextmanager
def stoppable(until_exit: bool = False) -> Iterator[None]:
    """The first of these signals raises :class:`Stopped`. Those that follow are ignored until the command has cleaned
    up, with ``until_exit`` until the process has ended: people press Ctrl-C twice. One that the caller ignores, as
    under ``nohup``, stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    stopped = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        INTERRUPTS.deliver(Stopped(number))

    before = {each: signal.getsignal(each) for each in SIGNALS}
    before = {each: handler for each, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    for each in before:
        signal.signal(each, stop)
    try:
        yield
    finally:
        if not (stopped and until_exit):
            for each, handler in before.items():
                signal.signal(each, handler)
