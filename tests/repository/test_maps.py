"""The maps of the code, in CONTRIBUTING.md and cpp/README.md, name what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_maps_name_every_file() -> None:
    contributing, core = read("CONTRIBUTING.md"), read("cpp/README.md")
    for path in (ROOT / "src" / "cenote").rglob("*.py*"):
        inside = path.relative_to(ROOT / "src" / "cenote").parts
        named = f"`{inside[0]}`" if len(inside) == 1 else f"`{inside[0]}/`"
        assert named in contributing or "__pycache__" in inside, path
    for path in (ROOT / "benchmarks").glob("*.*"):
        assert f"`{path.name}`" in contributing, path.name
    rooms = {path.relative_to(ROOT / "cpp").parts[0] for path in (ROOT / "cpp").rglob("*.[chi]*")}
    assert rooms == {"bindings", "core", "runtime", "simd", "pool", "conv", "targets"}
    for room in rooms:
        assert f"| `{room}/` |" in core, room
    for name in re.findall(r"`(\w+(?:/\w+)+\.\w+)`", core):
        assert (ROOT / "cpp" / name).exists() or (ROOT / name).exists(), name
    for name in re.findall(r"^\| (`\w+\.pyi?`[^|]*)\|", contributing, re.MULTILINE):
        for module in re.findall(r"`(\w+\.pyi?)`", name):
            assert any((ROOT / folder / module).exists() for folder in ("src/cenote", "benchmarks")), module


@pytest.mark.parametrize("folder", ["arguments", "geometry", "core", "ops", "backends", "autodiff", "files"])
def test_the_map_names_every_module(folder: str) -> None:
    contributing = read("CONTRIBUTING.md")
    for path in (ROOT / "src" / "cenote" / folder).rglob("*.py"):
        assert path.name == "__init__.py" or re.search(rf"`([\w/]+/)?{path.name}`", contributing), path


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "cpp/README.md"])
def test_what_the_maps_say_is_in_a_file_is_there(name: str) -> None:
    found = re.findall(r"((?:`\w+(?:::\w+)?`(?:, | and )?)+) in `((?:\w+/)*\w+\.\w+)`", read(name))
    assert found
    for words, file in found:
        paths = [ROOT / folder / file for folder in (".", "src/cenote", "cpp")]
        text = "".join(path.read_text(encoding="utf-8") for path in paths if path.exists())
        for word in re.findall(r"\w+`", words):
            assert re.search(rf"\b{word[:-1]}\b", text), f"{word} in {file}"
