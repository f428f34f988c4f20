"""One server for all tests of the page; each test loads the page anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playground_page import Page, Running


@pytest.fixture(scope="session")
def running() -> Iterator[Running]:
    from playground_page import Running  # needs selenium

    server = Running()
    yield server
    server.stop()


@pytest.fixture
def page(driver: Any, running: Running) -> Page:
    from playground_page import Page

    found = Page(driver, running.url)
    found.screen(1280, 1000)
    found.log()
    return found
