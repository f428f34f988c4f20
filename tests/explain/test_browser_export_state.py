"""The state of the page of ``explain(…).html()``: its address, cotangents, programs, the picture that is saved."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl
from xml.etree import ElementTree

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys

import cenote as cn
from cenote.explanation.formula import short
from cenote.playground.answer import answer
from playground_page import Page

Opened = Callable[..., Page]


def pooled() -> Any:
    return cn.explain("max_pool", (5, 5), (3, 3), stride=2, padding=1)


def reloaded(page: Page) -> str:
    page.driver.refresh()
    return page.formula


def checked(page: Page) -> Any:
    return page.script("return document.querySelector('input[name=view]:checked').value")


def test_the_address_has_the_state(page: Page) -> None:
    assert page.hash == ""
    page.one("#next").click()
    assert page.hash == "#window=0.1"
    assert reloaded(page).startswith("y[0, 1] = ")
    page.one('input[value="gradient"]').click()
    page.one('.panels:not([hidden]) .y[data-index="2,1"]').click()
    page.one('#theme option[value="dark"]').click()
    page.one("#tab-torch").click()
    assert page.hash == "#view=gradient&pin=y.2.1&code=torch&theme=dark"
    assert reloaded(page).startswith("A cotangent of 1 on y[2, 1]: ")
    assert page.one("#pin").text == "pinned: y[2, 1]"
    assert page.one("#theme").get_attribute("value") == "dark"
    assert page.one("#tab-torch").get_attribute("aria-selected") == "true"
    assert checked(page) == "gradient"
    page.script("location.hash = 'pin=x.1.1'")
    page.wait(lambda: page.formula.startswith("x[1, 1] = "), "the state of the other address")
    assert (checked(page), page.one("#pin").text) == ("values", "pinned: x[1, 1]")
    assert page.log() == []


@pytest.mark.parametrize(
    "state",
    [
        "#", "#view=x&pin=z.1&window=9.9&code=cobol&theme=pink&g=7", "#pin=y.1", "#pin=constructor.1", "#pin=y.-1.0",
        "#pin=__proto__.0.0", "#g=0.0:abc;9.9:3;;:", "#view=constructor&code=__proto__", "#%E0%A4%A", "#pin=y.'].0",
    ],
)  # fmt: skip
def test_addresses_that_mean_nothing(opened: Opened, state: str) -> None:
    page = opened(pooled(), state)
    assert page.formula.startswith("y[0, 0] = max(")
    assert (checked(page), page.one("#pin").text) == ("values", "")
    assert page.log() == []


def test_the_command_opens_the_same_state(opened: Opened) -> None:
    page = opened(pooled(), "#view=gradient&pin=y.1.1&g=1.1:-2.5;0.2:nan&code=torch&theme=light")
    command = page.one("#playground").text
    state = dict(parse_qsl(re.fullmatch(r"cenote playground '#(.*)'", command)[1]))  # type: ignore[index]
    page_only = {name: state.pop(name) for name in ("pin", "code", "theme")}
    assert page_only == {"pin": "y.1.1", "code": "torch", "theme": "light"}
    found = answer(state)
    assert found["gradient"]["g"]["values"] == [1, 1, "NaN", 1, -2.5, 1, 1, 1, 1]


def numbers(page: Page, array: str) -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map((c) => c.querySelector('text').textContent)"
    found: list[str] = page.script(script, f'.panels[data-view="gradient"] .{array}[role="button"]')
    return found


def type_cotangent(page: Page, text: str) -> None:
    field = page.one("#g")
    field.clear()
    field.send_keys(text, Keys.ENTER)


CALLS: list[tuple[str, Any, Any, dict[str, Any]]] = [
    ("max_pool", (5, 5), (3, 3), {"stride": 1, "ties": "split"}),
    ("avg_pool", (7,), (3,), {"stride": 2, "padding": 1}),
    ("smooth_max_pool", np.array([[1.0, 2, -3], [0.5, 0, 4]]), (2, 2), {"stride": 1}),
    ("conv", (4, 4, 2), (3, 3, 1, 2), {"groups": 2, "padding": 1}),
    ("conv_transpose", (3, 1), (3, 1, 1), {"stride": 2}),
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: str(call[0]))
def test_a_cotangent_is_edited(opened: Opened, call: tuple[str, Any, Any, dict[str, Any]]) -> None:
    op, x, second, options = call
    e = cn.explain(op, x, second, **options)
    page = opened(e, view="gradient")
    assert e.y is not None
    positional = (second,) if e.w is None else (e.w,)
    _, pull = cn.vjp(lambda x: getattr(cn, op)(x, *positional, **options), e.x.astype(float))
    g = np.ones(e.y.shape)
    for number, text in ((0, "-2"), (e.y.size - 1, "0.25"), (1, "0")):
        index = np.unravel_index(number, e.y.shape)
        g[index] = float(text)
        page.one(f'.panels:not([hidden]) .y[data-index="{",".join(map(str, index))}"]').click()
        type_cotangent(page, text)
        assert page.formula.startswith(f"A cotangent of {text} on y[{', '.join(map(str, index))}]: ")
        dx = pull(g)[0]
        drawn = page.script(
            "return [...document.querySelectorAll('.panels:not([hidden]) .x[role=button]')].map((c) => c.dataset.index)"
        )
        wanted = [dx[tuple(map(int, key.split(",")))] for key in drawn]
        for shown, value in zip(numbers(page, "x"), wanted, strict=True):
            assert float(shown) == pytest.approx(float(short(float(value))), rel=6e-3, abs=1e-9)
    assert page.log() == []


def test_cotangents_are_kept_and_checked(opened: Opened) -> None:
    page = opened(pooled())
    assert not page.one("#cotangent").is_displayed()
    page.one('input[value="gradient"]').click()
    assert page.one("#cotangent label").text == "Cotangent of y[0, 0]"
    before = numbers(page, "x")
    type_cotangent(page, "three")
    assert page.one("#g-problem").text == "A number is needed: 3, 2.5, nan, inf or -inf."
    assert (numbers(page, "x"), "g=" in page.hash) == (before, False)
    type_cotangent(page, "-1.5")
    assert page.one("#g-problem").text == ""
    assert page.hash == "#view=gradient&g=0.0:-1.5"
    assert numbers(page, "y")[0] == "-1.5"
    changed = numbers(page, "x")
    assert changed != before
    notes = "return [...document.querySelectorAll('.panels:not([hidden]) .note')].map((n) => n.textContent)"
    assert page.script(notes) == ["-1.5"]
    heard = page.script("return document.getElementById('live').textContent")
    assert heard.startswith("A cotangent of -1.5 on y[0, 0]")
    page.driver.refresh()
    assert numbers(page, "x") == changed
    page.one("#next").click()
    assert (page.one("#g").get_attribute("value"), page.script(notes)) == ("1", ["+1"])
    type_cotangent(page, "inf")
    page.script("document.activeElement.blur()")
    assert page.one("#g").get_attribute("value") == "inf"
    page.one("#g-reset").click()
    assert (numbers(page, "x"), page.hash) == (before, "#view=gradient&window=0.1")


def test_a_part_of_the_outputs(opened: Opened) -> None:
    """Where not all windows are on the page, the other ones keep a cotangent of 1."""
    e = cn.explain("avg_pool", np.arange(3600.0).reshape(60, 60), (2, 2), stride=1)
    page = opened(e, "#view=gradient")
    assert e.gradient is not None
    assert numbers(page, "x")[0] == "0.25"
    type_cotangent(page, "5")
    assert numbers(page, "x")[:2] == ["1.25", "1.5"]


def save(page: Page, driver: Any, folder: Path, op: str) -> str:
    allow = {"behavior": "allow", "downloadPath": str(folder), "eventsEnabled": True}
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", allow)
    saved = folder / f"cenote-{op}.svg"
    saved.unlink(missing_ok=True)
    page.one("#svg").click()
    page.wait(saved.exists, "the file")
    text = saved.read_text(encoding="utf-8")
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    return text


def overlay(text: str) -> list[str]:
    """The marks and words of a picture."""
    root = ElementTree.fromstring(text)
    (group,) = (g for g in root.iter("{http://www.w3.org/2000/svg}g") if g.get("class") == "overlay")
    return [f"{part.get('class')} {part.get('x')} {part.get('y')} {part.text or ''}".strip() for part in group]


def test_what_is_shown_is_saved(page: Page, driver: Any, tmp_path: Path) -> None:
    page.one('.panels:not([hidden]) .y[data-index="1,1"]').click()
    found = save(page, driver, tmp_path, "max_pool")
    assert sorted(overlay(found)) == sorted(overlay(pooled().svg((1, 1))))
    page.one('.panels:not([hidden]) .x[data-index="1,1"]').click()
    found = save(page, driver, tmp_path, "max_pool")
    assert any("seen by 4 windows: y[0, 0], y[0, 1], y[1, 0], y[1, 1]" in part for part in overlay(found))
    assert sum(part.startswith("mark seen") for part in overlay(found)) == 4
    assert "x[1, 1] = " in (ElementTree.fromstring(found).get("aria-label") or "")
    page.one('input[value="gradient"]').click()
    page.one('.panels:not([hidden]) .y[data-index="0,0"]').click()
    type_cotangent(page, "3")
    found = save(page, driver, tmp_path, "max_pool")
    assert any(part.startswith("formula 20 ") and "A cotangent of 3 on y[0, 0]" in part for part in overlay(found))
    assert any(part.endswith(" +3") for part in overlay(found))


def test_programs_and_links_are_copied(page: Page, driver: Any) -> None:
    driver.execute_cdp_cmd(
        "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    )
    read = "navigator.clipboard.readText().then(arguments[0])"
    page.one("#tab-torch").click()
    page.one("#copy").click()
    page.wait(lambda: page.one("#copied").text == "Copied.")
    names: dict[str, Any] = {}
    exec(driver.execute_async_script(read), names)
    np.testing.assert_array_equal(names["y"], pooled().y)
    page.one("#copy-link").click()
    page.wait(lambda: page.one("#copied").text == "Link copied.")
    assert driver.execute_async_script(read) == driver.current_url
    page.one("#copy-playground").click()
    page.wait(lambda: page.one("#copied").text == "Command copied.")
    assert driver.execute_async_script(read) == page.one("#playground").text
    page.one("#tab-torch").send_keys(Keys.ARROW_RIGHT)
    assert page.focused == "tab-flax"


def test_where_copying_is_not_allowed(page: Page) -> None:
    page.script("navigator.clipboard.writeText = () => Promise.reject(new Error('no'))")
    page.one("#copy").click()
    page.wait(lambda: "copy it yourself" in page.one("#copied").text)
    assert page.script("return getSelection().toString()").strip() == page.one("#program").text.strip()


@pytest.mark.parametrize("dark", [False, True])
def test_themes(page: Page, dark: bool) -> None:
    page.screen(1280, 1000, dark)
    paper = "return getComputedStyle(document.body).backgroundColor"
    fill = "return getComputedStyle(document.querySelector('.cenote .cell rect')).fill"
    white = "rgb(255, 255, 255)"
    page.wait(lambda: (page.script(paper) == white) != dark)
    before = page.script(fill)
    page.one(f'#theme option[value="{"light" if dark else "dark"}"]').click()
    assert (page.script(paper) == white) == dark
    assert page.script(fill) != before
    page.one('#theme option[value=""]').click()
    assert page.script(fill) == before
