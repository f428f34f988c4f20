"""Programs that use JAX, in processes of their own: with the JAX of these tests, or with the oldest one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import cenote
from cenote import _core

ROOT = Path(__file__).parents[1]
OLDEST = ROOT / ".venv" / "jax-oldest" / "bin" / "python"  # made by the Makefile
# The package is not installed there: its sources and its compiled core may lie in different folders.
START = """
import importlib.util, runpy, sys
spec = importlib.util.spec_from_file_location("cenote._core", sys.argv[1])
sys.modules["cenote._core"] = core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
del sys.argv[:2]  # now that of the program
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run(program: str, *arguments: str, oldest: bool = False) -> str:
    """What a program of tests/ prints; its error is the test's."""
    paths = os.pathsep.join(map(str, (Path(cenote.__file__).parents[1], ROOT / "tests")))
    environment = {**os.environ, "PYTHONPATH": paths, "JAX_PLATFORMS": "cpu"}
    path = str(ROOT / "tests" / program)
    command = [sys.executable, path, *arguments]
    if oldest:
        if not OLDEST.exists():
            pytest.fail(f"{OLDEST.relative_to(ROOT)} is missing: make {OLDEST.parents[1].relative_to(ROOT)}/.installed")
        command = [str(OLDEST), "-c", START, str(_core.__file__), path, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout
