"""threadpoolctl sees the threads of the core and limits them, whichever of the two is imported first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import {first}
import {second}
import cenote as cn, threadpoolctl

cn.set_num_threads(3)
(found,) = [info for info in threadpoolctl.threadpool_info() if info["user_api"] == "cenote"]
assert found["num_threads"] == 3, found
assert found["version"] == cn.__version__, found
assert found["filepath"].endswith(".so") or found["filepath"].endswith(".pyd"), found
with threadpoolctl.threadpool_limits(limits=1):
    assert cn.get_num_threads() == 1
assert cn.get_num_threads() == 3
with threadpoolctl.threadpool_limits(limits=2, user_api="blas"):
    assert cn.get_num_threads() == 3
with threadpoolctl.threadpool_limits(limits=2, user_api="cenote"):
    assert cn.get_num_threads() == 2
assert cn.get_num_threads() == 3
import sys
assert not any(getattr(finder, "name", "") == "threadpoolctl" for finder in sys.meta_path)
assert type(threadpoolctl.__spec__.loader).__module__ != "cenote.imports"
"""


@pytest.mark.parametrize(("first", "second"), [("cenote", "threadpoolctl"), ("threadpoolctl", "cenote")])
def test_threads_are_seen_and_limited(first: str, second: str) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM.format(first=first, second=second)], check=True)


def test_cenote_does_not_import_threadpoolctl() -> None:
    program = "import sys, cenote; assert 'threadpoolctl' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_another_module_of_the_same_name_is_not_taken_for_the_core(tmp_path: Path) -> None:
    program = f"""
import ctypes, shutil, cenote, cenote._core, threadpoolctl
copy = shutil.copy(cenote._core.__file__, {str(tmp_path)!r})
ctypes.CDLL(copy)
assert len([info for info in threadpoolctl.threadpool_info() if info["user_api"] == "cenote"]) == 1
"""
    subprocess.run([sys.executable, "-c", program], check=True)
