"""``help`` of every function of a dialect has its arguments and its result, in numpydoc's sections."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import pytest

from cenote import dialects

PUBLIC = [
    (dialect, name)
    for dialect in dialects.__all__
    for name in importlib.import_module(f"cenote.dialects.{dialect}").__all__
    if getattr(importlib.import_module(f"cenote.dialects.{dialect}"), name).__module__.startswith("cenote.dialects")
]


def problems(function: Any) -> list[str]:
    text = inspect.cleandoc(function.__doc__ or "")
    parts = re.split(r"^(\w+)\n-+$", text, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    out = []
    documented: dict[str, bool] = {}
    for heads, description in re.findall(r"^(\S.*)((?:\n {4}.*)*)", sections.get("Parameters", ""), re.MULTILINE):
        names, _, kind = heads.partition(" : ")
        if not kind or not description.strip():
            out.append(f"nothing is said of {names}")
        documented |= dict.fromkeys(names.replace("*", "").split(", "), "optional" in kind)
    signature = inspect.signature(function)
    wanted = {name: p.default is not inspect.Parameter.empty for name, p in signature.parameters.items()}
    if list(documented.items()) != list(wanted.items()):
        out.append(f"parameters (and whether they are optional) are {wanted}, documented are {documented}")
    if ("Returns" in sections) == inspect.isclass(function):
        out.append("Returns")
    return out


def test_all_of_them_are_there() -> None:
    assert {dialect for dialect, _ in PUBLIC} == {"d2l", "flax", "mygrad", "nabla", "torch", "torchlean"}
    assert len(PUBLIC) > 80


@pytest.mark.parametrize(("dialect", "name"), PUBLIC)
def test_arguments_and_result_are_documented(dialect: str, name: str) -> None:
    assert problems(getattr(importlib.import_module(f"cenote.dialects.{dialect}"), name)) == []


def test_what_is_missing_is_found() -> None:
    def whole(x: int, y: int = 2) -> int:
        """Add.

        Parameters
        ----------
        x : int
            One.
        y : int, optional
            Other.

        Returns
        -------
        int
            Sum.
        """
        return x + y

    assert problems(whole) == []
    text = whole.__doc__ or ""
    for part, broken in [
        ("        x : int\n            One.\n", ""),
        ("x : int", "z : int"),
        ("int, optional", "int"),
        ("            Other.\n", ""),
        ("Parameters\n        ----------", ""),
        ("Returns\n        -------", ""),
    ]:
        assert part in text
        whole.__doc__ = text.replace(part, broken)
        assert problems(whole) != [], broken
