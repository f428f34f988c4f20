"""The page of ``explain(…).html()`` in Chromium: mouse, keyboard, both views, a phone, a screen reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

import cenote as cn
from cenote.explanation.formula import short
from playground_page import Page


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


def test_small_filters_stand_side_by_side_on_a_phone(opened: Callable[..., Page]) -> None:
    page = opened(cn.explain("conv", (6, 6, 3), (3, 3, 3, 4), padding=1))
    page.screen(360, 740)
    tops = page.script(
        "return [...document.querySelectorAll('.panels[data-view=values] figure:nth-of-type(2) svg')]"
        ".map((picture) => picture.getBoundingClientRect().top)"
    )
    assert len(tops) == 12
    assert len(set(tops)) == 6
    assert page.script("return document.documentElement.scrollWidth") <= 360


def test_a_row_that_is_wider_than_a_phone_scrolls_to_the_window(opened: Callable[..., Page]) -> None:
    page = opened(cn.explain("max", (28,), (3,), stride=1))
    page.screen(360, 740)
    sizes = page.script(
        "return [...document.querySelectorAll('.panels:not([hidden]) .cell rect')]"
        ".map((square) => square.getBoundingClientRect().width)"
    )
    assert len(sizes) == 28 + 26
    assert min(sizes) >= 23
    for button, window in (("#back", "25"), ("#next", "0")):
        page.one(button).click()
        assert page.formula.startswith(f"y[{window}] = ")
        for left, right in page.script(
            "return [...document.querySelectorAll('.panels:not([hidden]) .overlay .mark')]"
            ".map((mark) => mark.getBoundingClientRect()).map((box) => [box.left, box.right])"
        ):
            assert 0 <= left < right <= 360
    assert page.script("return document.documentElement.scrollWidth") <= 360


def live(page: Page) -> Any:
    return page.script("return document.getElementById('live').textContent")


def label(page: Page, view: str, array: str, index: str) -> Any:
    found = page.one(f'.panels[data-view="{view}"] .{array}[role=button][data-index="{index}"]')
    return found.get_attribute("aria-label")


def test_an_element_of_the_input(page: Page) -> None:
    page.one('.panels:not([hidden]) .x[data-index="1,1"]').click()
    page.wait(lambda: page.one("#pin").text == "pinned: x[1, 1]")
    assert "seen by 4 windows: y[0, 0], y[0, 1], y[1, 0], y[1, 1]" in page.formula
    marked = "return [...document.querySelectorAll('.panels:not([hidden]) [data-marks=y0] .mark.seen')].length"
    assert page.script(marked) == 4
    page.one("#unpin").click()
    page.wait(lambda: page.one("#pin").text == "")
    assert page.formula.startswith("y[0, 0] = max(")


def test_keys_of_the_page_itself_scroll_it(page: Page) -> None:
    page.script("document.activeElement.blur()")
    stopped = """const event = new KeyboardEvent('keydown', {key: arguments[0], bubbles: true, cancelable: true});
        document.body.dispatchEvent(event); return event.defaultPrevented"""
    before = page.formula
    for key in (Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.HOME, Keys.END, " ", Keys.ENTER):
        name = {Keys.ARROW_DOWN: "ArrowDown", Keys.ARROW_RIGHT: "ArrowRight", Keys.HOME: "Home", Keys.END: "End"}
        assert not page.script(stopped, name.get(key, "Enter" if key == Keys.ENTER else key))
    assert page.formula == before
    assert page.script(stopped, "g")
    assert not page.one('.panels[data-view="gradient"]').get_attribute("hidden")


def test_what_a_screen_reader_hears(page: Page) -> None:
    region = page.one("#live")
    assert region.get_attribute("aria-live") == "polite"
    assert live(page) == ""
    page.one("#next").click()
    assert live(page).startswith("y[0, 1] = max(")
    page.one('.panels:not([hidden]) .y[data-index="1,1"]').click()
    assert live(page).startswith("Pinned. y[1, 1] = max(")
    press(page, "g")
    assert live(page).startswith("gradient. A cotangent of 1 on y[1, 1]: ")
    press(page, Keys.ESCAPE)
    assert live(page) == "Unpinned."
    assert label(page, "values", "x", "1,1").startswith("x[1, 1] = ")
    assert label(page, "values", "x", "1,1").endswith("seen by 4 windows: y[0, 0], y[0, 1], y[1, 0], y[1, 1]")
    assert label(page, "gradient", "x", "0,0").startswith("gradient of x[0, 0] = ")
    # What is named stands for all windows, not for the first one.
    for panel in page.all(".panels"):
        assert panel.get_attribute("aria-label") == "Input of shape (5, 5), output of shape (3, 3)"


def test_playing_is_silent(page: Page) -> None:
    page.one("#play").click()
    page.wait(lambda: page.formula.startswith("y[0, 1] = "), "the next window")
    assert live(page) == ""
    page.one("#play").click()


def test_the_focus_is_never_on_a_hidden_picture(page: Page) -> None:
    page.script("document.querySelector('.x[data-index=\"2,2\"]').focus()")
    where = "const e = document.activeElement; return [e.closest('.panels')?.dataset.view, e.dataset.index]"
    for view in ("gradient", "values"):
        press(page, "g")
        assert page.script(where) == [view, "2,2"]
    page.script("location.hash = 'view=gradient'")  # as a link to the same page does
    page.wait(lambda: page.script(where) == ["gradient", "2,2"])
    press(page, Keys.ARROW_RIGHT)
    page.wait(lambda: page.script(where) == ["gradient", "2,3"])
    assert page.log() == []


def test_pages_without_windows(opened: Callable[..., Page]) -> None:
    empty = opened(cn.explain("adaptive_max", (4,), (0,)))
    assert empty.one("#playground").text.startswith("cenote playground '#op=adaptive_max_pool&")
    assert empty.log() == []
    misfit = opened(cn.explain("max", (3, 4), (5, 3)), "#pin=y.0.0&view=gradient&g=0.0:3")
    assert "window=5,3" in misfit.one("#playground").text
    assert not misfit.all("#slider")
    press(misfit, "g", "p", Keys.ESCAPE)
    assert misfit.log() == []
    assert misfit.one("#formula").text.startswith("max_pool: window=(5, 3) on shape (3, 4) does not fit on axis 0")
    assert misfit.one("#sizes-title").text == "What the sizes are"


def test_a_batch_and_slices(opened: Callable[..., Page]) -> None:
    page = opened(cn.explain("conv", np.ones((2, 3, 4, 4)), (2, 3, 2, 2), layout="channels_first"))
    page.one("#next").click()
    assert page.formula.startswith("y[0, 0, 0, 1] = ")
    page.one('.panels:not([hidden]) .x[data-index="0,2,1,1"]').click()
    assert "seen by 8 windows" in page.formula
    assert page.log() == []


def test_numbers_are_written_as_in_pictures(page: Page) -> None:
    """What the script writes itself, products of cotangents, looks as what it was given."""
    values = [0.0, 3.0, -0.25, 252.5, 252.333, 99.96, -1234.5, 0.0625, 123456.7, 1234567.0, 1 / 3, 1.5e-9, 2e-5, 0.0001]
    values += [6.00017, -10.001, 99.9712, 0.99999, 1e21, -0.00012345]
    assert page.script("return arguments[0].map(Numbers.short)", values) == [short(value) for value in values]
