"""The playground in Chromium: mistakes, links, tabs, small screens, themes, and what is taken away."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from playground_page import POOL, Page

# ----------------------------------------------------------------------------------------------------------- mistakes


def test_bad_input_is_explained_beside_the_field(page: Page) -> None:
    page.go(POOL)
    page.fill("stride", "2x")
    assert page.error == "stride='2x': ints with commas between them are needed, such as 2,3"
    assert page.field("stride").get_attribute("aria-invalid") == "true"
    assert page.field("window").get_attribute("aria-invalid") is None
    assert "stale" in page.one("#arrays").get_attribute("class")
    page.fill("stride", "1")
    assert page.error == ""
    assert page.field("stride").get_attribute("aria-invalid") is None
    assert len(page.texts("y")) == 9
    page.fill("window", "6,3")
    assert (
        "window=(6, 3) on shape (5, 5) does not fit on axis 0: it needs 6 elements, there are 5: 1 short" in page.error
    )
    assert len(page.marked("x", "seen")) == 15
    assert page.one("#play").get_attribute("disabled")
    page.fill("window", "2,2")
    page.fill("shape", "99,99")
    assert "has 9801 elements, at most 1024 are drawn" in page.error
    assert page.field("shape").get_attribute("aria-invalid") == "true"


def test_a_channel_that_is_missing_is_drawn(page: Page) -> None:
    page.go("#op=conv&shape=3,3,1&filter=2,2,2,1")
    assert "x has 1 channel" in page.error
    assert len(page.all('td[data-array="x"].overhang')) == 9
    assert page.marked("w", "seen") == [0, 2, 4, 6]
    assert page.marked("w", "omitted") == [1, 3, 5, 7]
    assert "without a partner" in page.one("#legend").text
    page.fill("filter", "2,2,1,1")
    assert page.error == ""
    assert len(page.texts("y")) == 4
    assert page.log() == []


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("#op=max_pool&shape=4,4&window=2,2&fill=ones", "equal to the result"),
        ("#op=max_pool&shape=4,4&window=2,2&fill=ones&ties=split", "ties, shares the gradient equally"),
        ("#op=median_pool&shape=4,4&window=2,2", "decides the result"),
        ("#op=mode_pool&shape=4,4&window=2,2", "equal to the result"),
    ],
)
def test_what_the_legend_says_of_several_elements(page: Page, state: str, words: str) -> None:
    page.go(state)
    assert words in page.one("#legend").text.splitlines()


def test_the_choices_can_be_read(page: Page) -> None:
    """In full, beside the arrow of their field."""
    page.screen(1280, 1000)
    page.go("#op=conv")
    widths = page.script(
        "const select = document.querySelector('#field-layout');"
        "const pen = document.createElement('canvas').getContext('2d');"
        "pen.font = getComputedStyle(select).font;"
        "return [pen.measureText('channels_first').width, select.clientWidth]"
    )
    assert widths[0] + 30 <= widths[1]


def test_a_bad_element_is_explained(page: Page) -> None:
    page.go(POOL)
    page.double_click(page.cell("x", 7))
    page.wait(lambda: page.focused == "edit")
    page.keys("a<b>c", Keys.ENTER)
    assert page.error == "x[1, 2]='a<b>c': a number is needed: 3, 2.5, nan, inf or -inf"
    assert page.all("#error b") == []
    page.driver.back()
    page.settle()
    page.wait(lambda: page.error == "")
    assert len(page.texts("y")) == 4


@pytest.mark.parametrize("text", ["9007199254740993", "-9223372036854775808"])
def test_integers_that_no_double_holds(page: Page, text: str) -> None:
    page.go(f"#op=max_pool&shape=2,2&window=2,2&dtype=int64&x=0.0:{text}&pin=x.0.0")
    assert page.formula.startswith(f"x[0, 0] = {text}")
    assert page.one("#edit").get_attribute("value") == text
    page.one("#edit").send_keys(Keys.ENTER)
    page.settle()
    assert f"x=0.0:{text}" in page.hash
    assert page.one("#edit").get_attribute("value") == text


def test_minus_zero(page: Page) -> None:
    page.go("#op=max_pool&shape=2,2&window=2,2&x=0.0:-0.0&pin=x.0.0")
    assert page.texts("x")[0] == "-0"
    assert page.one("#edit").get_attribute("value") == "-0.0"
    page.one("#edit").send_keys(Keys.ENTER)
    page.settle()
    assert "x=0.0:-0.0" in page.hash


LINKS = {
    "#op=nonsense": "op='nonsense'",
    "#op=max_pool&colour=red": "'colour': max_pool has no such parameter",
    "#op=max_pool&x=%3Cscript%3E": "x='<script>': changed elements are written as",
    "#%%%": "",
    "#op=max_pool&pin=y.9.9": "",
    "#op=max_pool&pin=constructor.1": "",
    "#op=max_pool&pin=__proto__.1": "",
    "#op=max_pool&colour=": "",
    "#pin=z.1": "",
    "#theme=purple&code=basic": "",
}


@pytest.mark.parametrize("state", LINKS)
def test_broken_links(page: Page, state: str) -> None:
    page.go(state)
    assert page.error.startswith(LINKS[state])
    assert bool(page.error) == bool(LINKS[state])
    assert page.one("#play").is_enabled() != bool(LINKS[state])
    if "script" in state:
        assert page.script("return document.scripts.length") == 1
        page.one("#reset").click()
        page.settle()
    page.choose("#op", "min_pool")
    assert (page.error, bool(page.texts("y"))) == ("", True)


def test_a_server_that_is_gone(driver: Any) -> None:
    command = [sys.executable, "-m", "cenote", "playground", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        page = Page(driver, process.stdout.readline().strip())
        page.go(POOL)
        process.kill()
    page.fill("stride", "1")
    assert page.error == "The server is gone. Start `cenote playground` again."
    page.log()


# --------------------------------------------------------------------------------------------------- links and tabs


def snapshot(page: Page) -> Any:
    return page.script(
        """return [document.getElementById('arrays').innerText, document.getElementById('formula').textContent,
        document.getElementById('program').textContent, document.documentElement.dataset.theme,
        [...document.querySelectorAll('#form input, #form select')].map((e) => `${e.checked} ${e.value}`),
        [...document.querySelectorAll('td')].map((e) => e.className), location.hash]"""
    )


def test_a_link_has_the_whole_state(page: Page) -> None:
    page.go()
    page.choose("#op", "avg_pool")
    page.fill("shape", "2,6,5")
    page.fill("padding", "0:1,1:0")
    page.field("ceil_mode").click()
    page.settle()
    page.field("count_include_pad").click()
    page.settle()
    page.double_click(page.cell("x", 3))
    page.keys("-inf", Keys.ENTER)
    page.one("#tab-flax").click()
    page.choose("#theme", "dark")
    page.one('input[value="gradient"]').find_element("xpath", "..").click()
    page.settle()
    page.double_click(page.cell("y", 1))
    page.keys("3", Keys.ENTER)
    page.cell("y", 4).click()
    page.hover(page.one("h1"))
    page.script("document.activeElement.blur()")
    page.wait(lambda: page.formula.startswith("g["))
    before = snapshot(page)
    for part in ("op=avg_pool", "padding=0:1,1:0", "ceil_mode=1", "count_include_pad=0", "x=0.0.3:-inf", "g=0.0.1:3",
                 "view=gradient", "theme=dark", "code=flax", "pin=y."):  # fmt: skip
        assert part in page.hash
    page.go(page.hash)
    page.hover(page.one("h1"))
    assert snapshot(page) == before


def test_an_address_without_an_operation(page: Page) -> None:
    """Also when it is typed while the page is open."""
    page.go("#op=conv")
    page.script("location.hash = '#window=2,2&shape=4,4'")
    page.wait(lambda: len(page.texts("y")) == 4)
    assert page.one("#op").get_attribute("value") == "max_pool"
    assert page.field("window").get_attribute("value") == "2,2"
    page.go("#window=2,2&shape=4,4")
    assert page.hash == "#op=max_pool&window=2,2&shape=4,4"


def test_back_restores_the_field_that_has_the_focus(page: Page) -> None:
    page.go("#op=max_pool&shape=4,4&window=2,2&pin=x.0.0")
    page.fill("padding", "1")
    assert page.focused == "field-padding"
    page.driver.back()
    page.wait(lambda: page.field("padding").get_attribute("value") == "0")
    page.settle()
    page.field("padding").send_keys("2")  # typing goes on as before
    page.settle()
    assert page.field("padding").get_attribute("value") == "02"
    page.one("#edit").clear()
    page.one("#edit").send_keys("7", Keys.ENTER)
    page.settle()
    page.one("#edit").click()
    page.driver.back()
    page.wait(lambda: page.one("#edit").get_attribute("value") == "9")
    assert page.focused == "edit"


def test_back_and_forward(page: Page) -> None:
    page.go(POOL)
    page.fill("stride", "1")
    page.choose("#field-ties", "split")
    page.driver.back()
    page.wait(lambda: page.field("ties").get_attribute("value") == "first")
    page.driver.back()
    page.wait(lambda: len(page.texts("y")) == 4)
    assert page.field("stride").get_attribute("value") == "2"
    page.driver.forward()
    page.wait(lambda: len(page.texts("y")) == 9)


def test_an_operation_of_another_family_has_its_own_shape(page: Page) -> None:
    page.go("#op=max_pool&shape=8,8&window=2,2&nan=omit")
    page.choose("#op", "min_pool")
    assert page.hash == "#op=min_pool&shape=8,8&window=2,2&nan=omit"
    page.choose("#op", "conv")
    assert page.error == ""
    assert page.hash == "#op=conv"
    page.choose("#op", "lp_pool")
    assert (page.error, page.field("shape").get_attribute("value")) == ("", "7,7")


def test_two_tabs_do_not_disturb_each_other(page: Page, driver: Any) -> None:
    page.go(POOL)
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    page.go("#op=sum_pool&shape=4&window=2")
    second = driver.current_window_handle
    driver.switch_to.window(first)
    page.fill("stride", "1")
    driver.switch_to.window(second)
    page.double_click(page.cell("x", 0))
    page.wait(lambda: page.focused == "edit")
    page.keys("50", Keys.ENTER)
    assert (page.texts("y")[0], page.error) == ("56", "")
    driver.close()
    driver.switch_to.window(first)
    assert (len(page.texts("y")), page.texts("x")[0]) == (9, "9")


# ------------------------------------------------------------------------------------------------ screens and colours


@pytest.mark.parametrize("state", [POOL + "&padding=1&pin=y.1.1", "#op=conv&shape=5,5,4&filter=3,3,2,4&groups=2&bias=1",
                                   "#op=max_pool&shape=20,20&window=3,3&stride=2", "#op=lp_pool&window=9,9",
                                   "#op=avg_pool&view=gradient&pin=y.1.1&stride=2"])  # fmt: skip
def test_a_phone_shows_it_without_scrolling_sideways(page: Page, state: str) -> None:
    page.screen(360, 740)
    page.go(state)
    assert page.script("return document.documentElement.scrollWidth") <= 360
    assert page.one("#arguments").get_attribute("open") is None
    smallest = page.script("return Math.min(...[...document.querySelectorAll('td.real')].map((c) => c.offsetWidth))")
    assert smallest >= 24
    page.one("#arguments summary").click()
    assert page.field("shape").is_displayed()
    assert page.script("return document.documentElement.scrollWidth") <= 360


def test_a_row_that_is_wider_than_a_phone_scrolls_to_the_window(page: Page) -> None:
    page.screen(360, 740)
    page.go("#op=max_pool&shape=28&window=3&stride=1")
    for button, window in (("#previous", "25"), ("#next", "0")):
        page.one(button).click()
        assert page.formula.startswith(f"y[{window}] = ")
        for left, right in page.script(
            "return [...document.querySelectorAll('td.seen, td.chosen, td.target')]"
            ".map((cell) => cell.getBoundingClientRect()).map((box) => [box.left, box.right])"
        ):
            assert 0 <= left < right <= 360


def test_tapping_on_a_phone(page: Page, driver: Any) -> None:
    page.screen(360, 740)
    page.go(POOL)
    page.cell("x", 0).click()
    field = page.one("#edit")
    field.clear()
    field.send_keys("31")
    page.one("#editor button").click()
    page.settle()
    assert page.texts("y")[0] == "31"


CONTRAST = """
const channel = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const rgba = (text) => {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const paper = (e) => { for (; e; e = e.parentElement) {
  const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; } return [255, 255, 255]; };
return [...document.querySelectorAll(arguments[0])].map((e) => {
  const [a, b] = [light(rgba(getComputedStyle(e).color)), light(paper(e))].sort((x, y) => y - x);
  return [e.className || e.id || e.tagName, (a + 0.05) / (b + 0.05)];
});
"""
READ = """h1, label, small, button:not(:disabled), td.real, th, figcaption, #formula span, #formula p, #error, .hint,
#sizes li, code, #call"""


@pytest.mark.parametrize("dark", [False, True])
def test_both_themes_can_be_read(page: Page, dark: bool) -> None:
    for state in ("&pin=y.0.0&x=0.0:9;1.1:9", "&view=gradient&g=0.0:-3&pin=y.0.1", "&stride=x"):
        page.screen(1280, 1000, dark)
        page.go(POOL + state)
        for name, ratio in page.script(CONTRAST, READ):
            assert ratio >= 4.5, (name, ratio, state)
    page.go(POOL)
    paper = page.script("return getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") != dark
    page.choose("#theme", "light" if dark else "dark")
    assert (page.script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)") == dark
    assert "theme=" in page.hash


# -------------------------------------------------------------------------------------------------- what is taken away


def test_programs_are_copied(page: Page, driver: Any) -> None:
    grant = {"origin": page.url.rsplit("/", 2)[0], "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    driver.execute_cdp_cmd("Browser.grantPermissions", grant)
    page.go("#op=max_pool&shape=5,5&window=3,3&stride=2")
    page.one("#tab-torch").click()
    assert "code=torch" in page.hash
    page.one("#copy").click()
    page.wait(lambda: page.one("#copied").text == "Copied.")
    names: dict[str, Any] = {}
    exec(driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])"), names)
    assert names["y"].shape == (2, 2)
    page.one("#copy-link").click()
    page.wait(lambda: page.one("#copied").text == "Link copied.")
    assert driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])") == driver.current_url
    page.one("#tab-torch").send_keys(Keys.ARROW_RIGHT)
    assert page.focused == "tab-flax"
    page.choose("#field-nan", "omit")
    assert page.one("#note").text == 'No equivalent: flax has nothing like nan="omit".'
    assert page.one("#copy").get_attribute("disabled")


def test_the_picture_is_saved(page: Page, driver: Any, tmp_path: Path) -> None:
    allow = {"behavior": "allow", "downloadPath": str(tmp_path), "eventsEnabled": True}
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", allow)
    page.go(POOL + "&pin=y.1.1")
    page.one("#svg").click()
    saved = tmp_path / "cenote-max_pool.svg"
    page.wait(saved.exists, "the file")
    assert ElementTree.parse(saved).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert "y[1, 1]" in saved.read_text()
