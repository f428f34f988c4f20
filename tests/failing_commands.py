"""A command that has to fail, for the tests of the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from cenote import cli


def check_fails(capsys: pytest.CaptureFixture[str], expected: str, *arguments: str) -> None:
    """Exit code 1, one line that has the expected words, and all files as they were before."""
    before = contents()
    assert cli.main([*arguments]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    assert error.startswith(f"cenote {arguments[0]}: ")
    assert expected in error, error
    assert contents() == before


def contents() -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in Path().rglob("*")}
