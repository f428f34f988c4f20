"""Classes of the dialects: how wrong arguments of theirs are reported, as ``public`` does it for functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..arguments.errors import hints


def answered(init: Callable[..., None]) -> Callable[..., None]:
    """``__init__`` of a class of the dialect's, which answers arguments that do not fit by the name of the class."""

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **options: Any) -> None:
        try:
            init(self, *args, **options)
        except TypeError:
            try:
                inspect.signature(init).bind(self, *args, **options)
            except TypeError:
                kind = type(self)
                raise TypeError(f"{kind.__name__}: {hints().explain(kind, args, options)}") from None
            raise

    return checked
