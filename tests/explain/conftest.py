"""Pages of ``explain(…).html()`` in Chromium, opened as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cenote as cn

if TYPE_CHECKING:
    from playground_page import Page


@pytest.fixture
def opened(driver: Any, tmp_path: Path) -> Callable[..., Page]:
    """Opens the page of an explanation. The mouse is where no element is."""
    from selenium.webdriver.common.actions.action_builder import ActionBuilder

    from playground_page import Page  # needs selenium

    path = tmp_path / "page.html"

    def open_page(explanation: Any, state: str = "", view: str = "values") -> Page:
        path.write_text(explanation.html(view=view), encoding="utf-8")
        found = Page(driver, path.as_uri())
        found.screen(1280, 1000)
        driver.get("about:blank")
        move: Any = ActionBuilder(driver)
        move.pointer_action.move_to_location(0, 0)
        move.perform()
        found.log()
        driver.get(found.url + state)
        return found

    return open_page


@pytest.fixture
def page(opened: Callable[..., Page]) -> Page:
    return opened(cn.explain("max_pool", (5, 5), (3, 3), stride=2, padding=1))
