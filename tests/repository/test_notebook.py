"""The notebook for teachers runs from top to bottom in Jupyter, and draws its pictures."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "pooling_lesson.ipynb"


@pytest.mark.filterwarnings("ignore")  # of Jupyter's own
def test_the_lesson_runs() -> None:
    lesson = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    code = [cell for cell in lesson.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in code), "the notebook is stored without outputs"
    NotebookClient(lesson, timeout=120, kernel_name="python3").execute()  # an error in a cell is one here
    outputs = [output.get("data", {}) for cell in code for output in cell.outputs]
    pictures = [data["text/html"] for data in outputs if "text/html" in data]
    assert len(pictures) >= 12
    assert all(picture.lstrip().startswith("<svg") for picture in pictures)
