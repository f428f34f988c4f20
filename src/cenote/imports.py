"""Calls a function when another package is imported, without importing it here.

For packages that this one has to register with and that have no entry points. Neither class is derived from those of
importlib.abc, whose import takes as long as all of this package.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any


def when_imported(name: str, action: Callable[[Any], None]) -> None:
    """Call ``action`` with the module of this name: now, if it is imported already, else right after its import."""
    module = sys.modules.get(name)
    if module is not None:
        action(module)
    else:
        sys.meta_path.insert(0, Finder(name, action))


class Finder:
    """Stands before the other finders until its module is imported."""

    def __init__(self, name: str, action: Callable[[Any], None]) -> None:
        self.name, self.action = name, action

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        from importlib.util import find_spec

        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = Loader(spec.loader, self.action)  # type: ignore[assignment]
        return spec


class Loader:
    """Executes a module as its own loader does, then calls the action."""

    def __init__(self, loader: Any, action: Callable[[Any], None]) -> None:
        self.loader, self.action = loader, action

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def exec_module(self, module: Any) -> None:
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.action(module)
