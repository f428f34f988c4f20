"""What the five systems document: the signatures and the printed examples, transcribed in ``documents/``.

A line ``def module.name(…)`` is a documented signature; ``>>>`` begins an example, as in a doctest. Documents are
printed by other systems: spaces do not count, and JAX's ``Array`` is an array.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

DOCUMENTS = {path.stem: path for path in sorted((Path(__file__).parent / "documents").glob("*.txt"))}


class Checker(doctest.OutputChecker):
    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        want, got = ("".join(text.replace("Array(", "array(").split()) for text in (want, got))
        return super().check_output(want, got, optionflags)


def read(name: str) -> tuple[str, list[str]]:
    """The examples, and the signatures."""
    lines = DOCUMENTS[name].read_text(encoding="utf-8").splitlines()
    signatures = [line.removeprefix("def ") for line in lines if line.startswith("def ")]
    return "\n".join("" if line.startswith(("#", "def ")) else line for line in lines), signatures


def imported(name: str) -> dict[str, Any]:
    """The names that a document's import lines give."""
    names: dict[str, Any] = {}
    for line in DOCUMENTS[name].read_text(encoding="utf-8").splitlines():
        if line.startswith((">>> import ", ">>> from ")):
            exec(line.removeprefix(">>> "), names)
    return names


def test_all_five_are_there() -> None:
    assert list(DOCUMENTS) == ["d2l", "flax", "mygrad", "nabla", "torchlean"]


SIGNATURES = [(name, signature) for name in DOCUMENTS for signature in read(name)[1]]


@pytest.mark.parametrize(("name", "signature"), SIGNATURES, ids=[signature for _, signature in SIGNATURES])
def test_a_documented_signature(name: str, signature: str) -> None:
    path, _, parameters = signature.partition("(")
    documented: dict[str, Any] = {}
    exec(f"def documented({parameters}: ...", documented)
    found = eval(path, imported(name))
    ours, theirs = (inspect.signature(f).parameters.values() for f in (found, documented["documented"]))
    assert [(p.name, p.default, p.kind) for p in ours] == [(p.name, p.default, p.kind) for p in theirs]
    assert found.__name__ == path.rpartition(".")[2]
    assert found.__doc__


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_examples_print_what_is_documented(name: str) -> None:
    text, _ = read(name)
    parsed = doctest.DocTestParser().get_doctest(text, {}, name, str(DOCUMENTS[name]), 0)
    assert sum(bool(example.want) for example in parsed.examples) > 3
    report: list[str] = []
    runner = doctest.DocTestRunner(Checker(), optionflags=doctest.ELLIPSIS)
    runner.run(parsed, out=report.append)
    assert not runner.summarize(verbose=False).failed, "".join(report)


@pytest.mark.parametrize("name", [*DOCUMENTS, "torch"])
def test_the_page_about_dialects_has_every_name_and_parameter(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "dialects.md").read_text(encoding="utf-8")
    section = re.split(r"\n## (\w+)\n", page)
    told = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", section[section.index(name) + 1]))))
    module = importlib.import_module(f"cenote.dialects.{name}")
    for attribute in module.__all__:
        if name == "torch":
            assert re.sub(r"\d+d$", "", attribute) in {re.sub(r"\d+d$", "", word) for word in told}
        else:
            assert attribute in told
        found = getattr(module, attribute)
        if found.__module__.startswith("cenote.dialects"):
            assert told >= set(inspect.signature(found).parameters), attribute
