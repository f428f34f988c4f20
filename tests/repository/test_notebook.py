"""The notebook for teachers runs from top to bottom in Jupyter, and has a picture at each step."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "pooling_lesson.ipynb"
CALL = re.compile(r"\bcn\.(\w*pool|conv)\(|\bd2l\.pool2d\(")
PICTURE = re.compile(r"\bcn\.explain\(")


def pictures_of(cell: Any) -> list[str]:
    data = [output.get("data", {}) for output in cell.outputs]
    return [found["text/html"] for found in data if "text/html" in found]


@pytest.mark.filterwarnings("ignore")  # of Jupyter's own
def test_the_lesson_runs_and_draws_each_step() -> None:
    lesson = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    code = [cell for cell in lesson.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in code), "the notebook is stored without outputs"
    NotebookClient(lesson, timeout=120, kernel_name="python3").execute()  # an error in a cell is one here
    drawn = 0
    for cell in code:
        pictures = pictures_of(cell)
        assert all(picture.lstrip().startswith("<svg") for picture in pictures)
        assert bool(pictures) == bool(PICTURE.search(cell.source)), cell.source  # an expression that is not the last
        assert pictures or not CALL.search(cell.source), f"a step without a picture:\n{cell.source}"
        drawn += len(pictures)
    assert drawn > 40


def test_the_lesson_has_the_parts_of_the_chapter() -> None:
    """A maximum and why, the convolution with a stride instead of it, the arguments, channels, and what networks do."""
    text = "\n".join(cell.source for cell in nbformat.read(NOTEBOOK, as_version=4).cells)  # type: ignore[no-untyped-call]
    titles = re.findall(r"^## (\d+)\. (.*)$", text, re.MULTILINE)
    assert [int(number) for number, _ in titles] == list(range(1, len(titles) + 1))
    parts = ["Maximum", "Why a maximum", "a convolution with a stride", "Stride", "Padding", "Channels", "In a network"]
    places = [next(i for i, (_, title) in enumerate(titles) if part in title) for part in parts]
    assert places == sorted(places)
    assert re.search(r'cn\.explain\("conv", [^)]*stride=2', text)
