"""The page of ``explain(…).html()`` in Chromium, opened as a file: mouse, keyboard, both views, a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

import cenote as cn
from playground_page import Page


@pytest.fixture
def page(driver: Any, tmp_path: Path) -> Page:
    path = tmp_path / "page.html"
    cn.explain("max_pool", (5, 5), (3, 3), stride=2, padding=1).save(path)
    found = Page(driver, path.as_uri())
    found.screen(1280, 1000)
    driver.get("about:blank")
    found.log()
    driver.get(found.url)
    return found


def test_pointing_and_pinning(page: Page) -> None:
    assert page.formula.startswith("y[0, 0] = max(")
    page.hover(page.one('.y[data-window="4"]'))
    page.wait(lambda: page.formula.startswith("y[1, 1] = max("))
    page.one('.y[data-window="5"]').click()
    page.wait(lambda: page.one("#pin").text == "pinned: y[1, 2]")
    page.hover(page.one("h1"))
    assert page.formula.startswith("y[1, 2] = max(")
    assert page.log() == []


def press(page: Page, *keys: str) -> None:
    """Keys for whatever has the focus, as a person presses them."""
    for key in keys:
        ActionChains(page.driver).send_keys(key).perform()


def test_the_keyboard_alone(page: Page) -> None:
    page.script("document.querySelector('.y[tabindex=\"0\"]').focus()")
    press(page, Keys.ARROW_RIGHT)
    page.wait(lambda: page.formula.startswith("y[0, 1] = "))
    press(page, Keys.ARROW_DOWN)
    page.wait(lambda: page.formula.startswith("y[1, 1] = "))
    press(page, Keys.END)
    page.wait(lambda: page.formula.startswith("y[2, 2] = "))
    before = page.formula
    press(page, "g")
    page.wait(lambda: page.formula != before)
    # The focus follows to the same output of the other picture: the one that it was on is hidden.
    view = "document.activeElement.closest('.panels')?.dataset.view"
    assert page.script(f"return {view} + document.activeElement.dataset.window") == "gradient8"
    press(page, Keys.HOME, Keys.ENTER)
    page.wait(lambda: page.one("#pin").text.endswith("[0, 0]"))
    press(page, Keys.ESCAPE)
    page.wait(lambda: page.one("#pin").text == "")
    assert page.log() == []


def test_the_slider_and_playing(page: Page) -> None:
    page.one("#next").click()
    assert page.formula.startswith("y[0, 1] = ")
    page.one("#play").click()
    page.wait(lambda: page.formula.startswith("y[0, 2] = "), "the next window")
    page.one("#play").click()
    assert page.one("#play").get_attribute("aria-pressed") == "false"


def test_it_fits_on_a_phone_and_needs_nothing_else(page: Page) -> None:
    page.screen(360, 740)
    page.driver.get(page.url)
    assert page.script("return document.documentElement.scrollWidth") <= 360
    assert page.script("return performance.getEntriesByType('resource').length") == 0
    assert page.log() == []
