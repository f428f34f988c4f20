"""What the five systems document: the signatures and the printed examples, transcribed in ``documents/``.

A line ``| …`` is a signature as the document prints it, to the letter, or a name that it uses. A line ``def
module.name(…)`` is a signature that follows from its text, or of a name that it imports. ``>>>`` begins an example, as
in a doctest. Documents are printed by other systems: spaces do not count, and JAX's ``Array`` is an array.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DOCUMENTS = {path.stem: path for path in sorted((Path(__file__).parent / "documents").glob("*.txt"))}


class Checker(doctest.OutputChecker):
    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        want, got = ("".join(text.replace("Array(", "array(").split()) for text in (want, got))
        return super().check_output(want, got, optionflags)


def lines_of(name: str, mark: str) -> list[str]:
    lines = DOCUMENTS[name].read_text(encoding="utf-8").splitlines()
    return [line.removeprefix(mark) for line in lines if line.startswith(mark)]


def examples_of(name: str) -> str:
    lines = DOCUMENTS[name].read_text(encoding="utf-8").splitlines()
    return "\n".join("" if line.startswith(("#", "def ", "| ")) else line for line in lines)


def imported(name: str) -> dict[str, Any]:
    """The names that a document's import lines give."""
    names: dict[str, Any] = {}
    for line in DOCUMENTS[name].read_text(encoding="utf-8").splitlines():
        if line.startswith((">>> import ", ">>> from ")):
            exec(line.removeprefix(">>> "), names)
    return names


def test_all_five_are_there() -> None:
    assert list(DOCUMENTS) == ["d2l", "flax", "mygrad", "nabla", "torchlean"]


# ------------------------------------------------------------------------------------------------- signatures


def documented(text: str) -> tuple[str, inspect.Signature]:
    """The path of a function, and its signature, of any of the ways in which documents print them."""
    text = text.removeprefix("- ").removeprefix("def ").removesuffix("[source]#").removesuffix(":")
    path, _, rest = text.partition("(")
    parameters, _, result = rest.rpartition(")")
    result = result.removeprefix(" ->").strip()
    names: dict[str, Any] = {}
    arrow = f" -> {result}" if result else ""
    exec(f"from __future__ import annotations\ndef documented({parameters}){arrow}: ...", names)
    return path, inspect.signature(names["documented"])


def check_signature(found: Callable[..., Any], path: str, theirs: inspect.Signature) -> None:
    ours = inspect.signature(found)
    shape = [[(p.name, p.default, p.kind) for p in of.parameters.values()] for of in (ours, theirs)]
    assert shape[0] == shape[1]
    assert found.__name__ == path.rpartition(".")[2]
    assert found.__doc__
    for name, parameter in theirs.parameters.items():
        if parameter.annotation is not inspect.Parameter.empty:
            accepted = accepted_types(ours.parameters[name].annotation, vars(sys.modules[found.__module__]))
            assert "Any" in accepted or printed_types(parameter.annotation) <= accepted, name
    if theirs.return_annotation is not inspect.Signature.empty:
        assert ours.return_annotation in ("Any", unquoted(theirs.return_annotation))


# Any array stands where there is a Tensor of theirs, and any sequence where there is a tuple of any length.
OURS = {"Tensor": "ArrayLike", "Tuple[int, ...]": "collections.abc.Sequence[int]"}


def unquoted(annotation: str) -> str:
    while annotation[0] in "\"'":  # printed with quotes, once or twice
        annotation = ast.literal_eval(annotation)
    return annotation


def printed_types(annotation: str) -> set[str]:
    """The types that an annotation of theirs joins, in our words."""
    return {OURS.get(word, word) for word in unquoted(annotation).split(" | ")}


def accepted_types(annotation: str, names: dict[str, Any]) -> set[str]:
    """The types that an annotation of ours joins, with our aliases resolved."""
    aliases = [str(names[word]) if word in ("Ints", "Pair", "Padding") else word for word in annotation.split(" | ")]
    return {word for alias in aliases for word in alias.split(" | ")}


PRINTED = [(name, line) for name in DOCUMENTS for line in lines_of(name, "| ") if "(" in line]
NAMED = [(name, line) for name in DOCUMENTS for line in lines_of(name, "| ") if "(" not in line]
IMPLIED = [(name, line) for name in DOCUMENTS for line in lines_of(name, "def ")]


def test_the_number_of_printed_signatures() -> None:
    counts = {name: sum(of == name for of, _ in PRINTED) for name in DOCUMENTS}
    assert counts == {"d2l": 1, "flax": 4, "mygrad": 1, "nabla": 4, "torchlean": 0}
    assert {name for name, _ in NAMED} == {"torchlean"}


@pytest.mark.parametrize(("name", "line"), PRINTED, ids=[line.partition("(")[0] for _, line in PRINTED])
def test_a_printed_signature(name: str, line: str) -> None:
    """At the path that is printed, with ``cenote.dialects.`` in front."""
    path, theirs = documented(line)
    module, _, last = (path if "." in path else f"{name}.{path}").rpartition(".")
    check_signature(getattr(importlib.import_module(f"cenote.dialects.{module}"), last), path, theirs)


@pytest.mark.parametrize(("name", "line"), IMPLIED, ids=[line for _, line in IMPLIED])
def test_an_implied_signature(name: str, line: str) -> None:
    path, theirs = documented(line)
    check_signature(eval(path, imported(name)), path, theirs)


@pytest.mark.parametrize(("name", "used"), NAMED)
def test_a_name_that_a_document_uses(name: str, used: str) -> None:
    found = getattr(importlib.import_module(f"cenote.dialects.{name}"), used)
    snake = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", used)
    assert found.__name__ == snake


# --------------------------------------------------------------------------------------------------- examples


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_examples_print_what_is_documented(name: str) -> None:
    parsed = doctest.DocTestParser().get_doctest(examples_of(name), {}, name, str(DOCUMENTS[name]), 0)
    assert sum(bool(example.want) for example in parsed.examples) > 3
    report: list[str] = []
    runner = doctest.DocTestRunner(Checker(), optionflags=doctest.ELLIPSIS)
    runner.run(parsed, out=report.append)
    assert not runner.summarize(verbose=False).failed, "".join(report)


@pytest.mark.parametrize("name", [*DOCUMENTS, "torch"])
def test_the_page_about_dialects_has_every_name_and_parameter(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "dialects.md").read_text(encoding="utf-8")
    section = re.split(r"\n## (\w+)\n", page)
    documented = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", section[section.index(name) + 1]))))
    module = importlib.import_module(f"cenote.dialects.{name}")
    for attribute in module.__all__:
        if name == "torch":
            assert re.sub(r"\d+d$", "", attribute) in {re.sub(r"\d+d$", "", word) for word in documented}
        else:
            assert attribute in documented
        found = getattr(module, attribute)
        if found.__module__.startswith("cenote.dialects"):
            assert documented >= set(inspect.signature(found).parameters), attribute
