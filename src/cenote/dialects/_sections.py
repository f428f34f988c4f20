"""The Parameters and Returns of what is made of a template, and has no text of its own."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

Texts = Mapping[str, tuple[str, str]]  # name → type and description; "optional" is added where there is a default


def with_sections(function: Callable[..., Any], texts: Texts, returns: Texts) -> None:
    """Append both sections to the docstring of a function, or of a class, which returns nothing."""
    lines = ["", "", "Parameters", "----------"]
    for name, parameter in inspect.signature(function).parameters.items():
        kind, text = texts[name]
        optional = "" if parameter.default is inspect.Parameter.empty else ", optional"
        lines += [f"{name} : {kind}{optional}", indented(text)]
    lines += ["", "Returns", "-------"] if returns else []
    for name, (kind, text) in returns.items():
        lines += [f"{name} : {kind}" if len(returns) > 1 else kind, indented(text)]
    function.__doc__ = inspect.cleandoc(function.__doc__ or "") + "\n".join(lines)


def indented(text: str) -> str:
    return textwrap.fill(text, 112, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
