"""What type checkers say about code that uses cenote: mypy in strict mode, and pyright."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "typing"
MYPY = ["-m", "mypy", "--strict", "--config-file=", "--no-incremental", "--output=json"]
PYRIGHT = ["-m", "pyright", "--outputjson", "--pythonpath", sys.executable]


def errors(checker: str, file: str) -> dict[int, str]:
    """The lines with an error, and what it is."""
    command = [sys.executable, *(MYPY if checker == "mypy" else PYRIGHT), str(FOLDER / file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=FOLDER, check=False)
    assert done.returncode in (0, 1), done.stderr
    if checker == "mypy":
        found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return {entry["line"]: entry["message"] for entry in found if entry["severity"] == "error"}
    entries = json.loads(done.stdout)["generalDiagnostics"]
    return {e["range"]["start"]["line"] + 1: e["message"] for e in entries if e["severity"] == "error"}


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_what_users_write_has_the_types_that_it_says(checker: str) -> None:
    assert errors(checker, "user_code.py") == {}


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_mistakes_are_found(checker: str) -> None:
    lines = (FOLDER / "wrong_code.py").read_text().splitlines()
    wrong = {i for i, line in enumerate(lines, 1) if "# error" in line}
    assert len(wrong) == 8
    found = errors(checker, "wrong_code.py")
    assert set(found) == wrong, found


def test_what_the_checkers_are_shown_runs() -> None:
    done = subprocess.run([sys.executable, FOLDER / "user_code.py"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
