"""Lets threadpoolctl see and limit the thread pool.

threadpoolctl knows only libraries that have registered a controller, so one is registered when both packages are
imported, in either order. Importing threadpoolctl here instead would double the import time of cenote.
"""

from __future__ import annotations

import os
from typing import Any

from . import _core
from .imports import when_imported

MOST_THREADS = 1024


def register(threadpoolctl: Any) -> None:
    """Add a controller of the core's threads."""
    if not hasattr(threadpoolctl, "register"):  # before 3.2
        return
    path = os.path.realpath(_core.__file__)

    class CenoteController(threadpoolctl.LibController):  # type: ignore[misc]
        user_api = internal_api = "cenote"
        filename_prefixes = (os.path.basename(path).lower(),)

        def get_num_threads(self) -> int:
            return _core.num_threads()

        def set_num_threads(self, num_threads: int) -> None:
            _core.set_num_threads(min(max(1, int(num_threads)), MOST_THREADS))

        def get_version(self) -> str:
            from importlib import metadata

            if os.path.realpath(self.filepath) != path:  # an extension module of the same name in another package
                raise OSError(f"{self.filepath} is not cenote's")  # which tells threadpoolctl so
            return metadata.version("cenote")

    threadpoolctl.register(CenoteController)


def start() -> None:
    when_imported("threadpoolctl", register)
