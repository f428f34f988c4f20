"""The pictures of docs/internals.md are what the code computes; its examples are run by test_docs.py."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "internals.md").read_text(encoding="utf-8")
TOOL = runpy.run_path(str(ROOT / "tools" / "internals_pictures.py"))


@pytest.mark.parametrize("name", TOOL["PICTURES"])
def test_the_pictures_are_what_the_tool_draws(name: str) -> None:
    text = (TOOL["FOLDER"] / f"{name}.svg").read_text(encoding="utf-8")
    assert text == TOOL["PICTURES"][name]().svg(), "run python tools/internals_pictures.py, and look at it"
    assert len(text) < 40_000
    assert f"](internals/{name}.svg)" in PAGE


def test_every_picture_is_one_of_the_tool() -> None:
    assert {path.stem for path in TOOL["FOLDER"].iterdir()} == set(TOOL["PICTURES"])
    assert re.findall(r"!\[[^\]]+\]\(internals/(\w+)\.svg\)", PAGE) == list(TOOL["PICTURES"])


@pytest.mark.parametrize("name", TOOL["PICTURES"])
def test_nothing_is_drawn_outside_of_a_picture(name: str) -> None:
    root = ElementTree.fromstring(TOOL["PICTURES"][name]().svg())
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for element in root.iter():
        at = element.attrib
        if element.tag.endswith(("rect", "text")):
            assert 0 <= float(at.get("x", 0)) <= width
            assert 0 <= float(at.get("y", 0)) <= height
        for x, y in re.findall(r"([\d.-]+) ([\d.-]+)", at.get("d", "")):
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= height
