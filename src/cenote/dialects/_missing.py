"""Names that a module does not have: what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arguments.errors import hints


def missing_names(module: str, public: list[str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module: what to write for a name that it does not have."""

    def missing_name(name: str) -> Any:
        if name.startswith("_"):  # which tools ask for
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise hints().no_such_name(name, public, module)

    return missing_name
