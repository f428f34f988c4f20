"""Chromium for tests of the playground: where it is, and what happens where it is not.

Browser tests need ``chromium`` and ``chromedriver``, which ``make test`` installs where it can. Without them these
tests are left out, and the summary says so; with CENOTE_BROWSER=required, as in .ci/run, that is an error.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

TESTS = "test_browser"  # files whose names begin with it need one
PROGRAMS = ("chromium", "chromedriver")
HOW = "apt-get install chromium chromium-driver"
# Nothing that would ask for anything outside of this machine.
SWITCHES = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-default-apps", "--disable-extensions", "--disable-sync", "--no-first-run",
    "--no-default-browser-check", "--metrics-recording-only",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip


def missing() -> list[str]:
    return [name for name in PROGRAMS if shutil.which(name) is None]


def left_out(path: Path) -> bool:
    """Whether a file of tests is not collected, for want of a browser."""
    if not path.name.startswith(TESTS) or not missing():
        return False
    if os.environ.get("CENOTE_BROWSER") == "required":
        raise pytest.UsageError(f"CENOTE_BROWSER=required, and there is no {' and no '.join(missing())}: {HOW}")
    return True


def report(terminal: Any) -> None:
    if missing():
        terminal.section("browser tests were not run", yellow=True)
        terminal.line(f"There is no {' and no '.join(missing())}: {HOW}. CENOTE_BROWSER=required makes this an error.")


def start(profile: Path) -> Any:
    """Chromium with a profile of its own, driven through selenium."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for switch in (*SWITCHES, f"--user-data-dir={profile}", "--window-size=1280,1000"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
