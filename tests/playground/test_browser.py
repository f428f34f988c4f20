"""The playground in Chromium: what is drawn, the mouse, the gradient, the keyboard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys

import cenote as cn
from cenote.playground.fields import OPERATIONS
from cenote.playground.state import parse_state
from playground_page import POOL, Page

# ------------------------------------------------------------------------------------------------------------ drawing


@pytest.mark.parametrize("op", OPERATIONS)
def test_every_operation_is_drawn(page: Page, op: str) -> None:
    page.go(f"#op={op}")
    y = parse_state({"op": op}).explain().y
    assert y is not None
    assert len(page.texts("y")) == y.size
    assert page.texts("x") == [f"{v:.0f}" for v in parse_state({"op": op}).x.ravel()]
    assert page.one("#call").text.startswith(f"y = cn.{op}(x")
    assert page.error == ""
    page.one('input[value="gradient"]').find_element("xpath", "..").click()
    page.settle()
    assert (page.error == "mode_pool has no derivative") == (op == "mode_pool")
    assert page.log() == []


def test_an_address_without_a_state(page: Page) -> None:
    page.go()
    assert page.hash == "#op=max_pool&shape=7,7&window=3,3&stride=2" or page.hash == "#op=max_pool&stride=2"
    assert len(page.texts("y")) == 9


def test_nothing_is_loaded_from_elsewhere(page: Page) -> None:
    page.go()
    loaded = page.script("return performance.getEntriesByType('resource').map((e) => e.name)")
    assert len(loaded) >= 10
    assert all(name.startswith(page.url) for name in loaded)


# ------------------------------------------------------------------------------------------------------------ the mouse


def test_pointing_at_an_output_shows_its_window(page: Page) -> None:
    page.go(POOL)
    page.hover(page.cell("y", 3))
    page.wait(lambda: page.formula.startswith("y[1, 1] = max("))
    assert page.marked("x", "seen") == [12, 13, 14, 17, 18, 19, 22, 23, 24]
    chosen = np.argmax(parse_state({"shape": "5,5"}).x[2:, 2:])
    assert page.marked("x", "chosen") == [[12, 13, 14, 17, 18, 19, 22, 23, 24][int(chosen)]]
    page.hover(page.one("h1"))
    page.wait(lambda: page.formula.startswith("Point at an element"))
    assert page.marked("x", "seen") == []


def test_pointing_at_an_input_shows_who_sees_it(page: Page) -> None:
    page.go(POOL)
    page.hover(page.cell("x", 12))
    page.wait(lambda: "Seen by 4 windows: y[0, 0], y[0, 1], y[1, 0], y[1, 1]" in page.formula)
    assert page.marked("y", "seen") == [0, 1, 2, 3]


def test_a_half_is_not_rounded_away(page: Page) -> None:
    page.go("#op=avg_pool&shape=1,4&window=1,2&x=0.0:250;0.1:255;0.2:5.9999;0.3:6")
    assert page.texts("y") == ["252.5", "6.00"]
    page.cell("y", 0).click()
    assert page.formula.startswith("y[0, 0] = (250 + 255) / 2 = 252.5")


def test_a_click_pins_an_output(page: Page) -> None:
    page.go(POOL)
    page.cell("y", 2).click()
    assert page.hash.endswith("&pin=y.1.0")
    page.hover(page.one("h1"))
    page.wait(lambda: page.formula.startswith("y[1, 0] = max("))
    assert page.one("#live").get_attribute("textContent").startswith("Pinned. y[1, 0] = max(")
    assert page.one("#slider").get_attribute("aria-valuetext") == "y[1, 0], 3 of 4"
    assert page.cell("y", 2).get_attribute("aria-selected") == "true"
    page.one("#unpin").click()
    assert "pin" not in page.hash
    assert page.cell("y", 2).get_attribute("aria-selected") == "false"


def test_editing_an_element(page: Page) -> None:
    page.go(POOL)
    page.double_click(page.cell("x", 0))
    page.wait(lambda: page.focused == "edit")
    assert page.one("#edit-label").text == "x[0, 0] ="
    page.keys("42", Keys.ENTER)
    assert page.texts("y")[0] == "42"
    assert "x=0.0:42" in page.hash
    assert page.focused == "x[0, 0] = 42"
    page.cell("x", 1).click()
    field = page.one("#edit")
    field.clear()
    field.send_keys("nan")
    page.one("#editor button").click()
    page.settle()
    assert (page.texts("x")[:2], page.texts("y")[0]) == (["42", "NaN"], "NaN")
    page.choose("#field-nan", "omit")
    assert page.texts("y")[0] == "42"
    page.hover(page.cell("y", 0))
    page.wait(lambda: page.marked("x", "omitted") == [1])
    page.one("#reset").click()
    page.settle()
    assert "x=" not in page.hash.replace("max", "")
    assert page.texts("x")[0] == "9"


PASTE = """
const data = new DataTransfer();
data.setData('text/plain', arguments[1]);
arguments[0].dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
"""


@pytest.mark.parametrize(
    "text",
    [
        "1\t2\t3\r\n4\tnan\t6\r\n",
        "1 2 3\n4 nan 6",
        "1, 2, 3; 4, nan, 6",
        "[[1, 2, 3], [4, nan, 6]]",
        "np.array([[1., 2, 3],\n          [4., np.nan, 6]], dtype=np.float32)",
        "[[1. 2. 3. 99]\n [4. nan 6. 99]]",
    ],
)
def test_pasting_rows_of_numbers(page: Page, text: str) -> None:
    page.go(POOL)
    page.script(PASTE, page.cell("x", 12), text)
    page.settle()
    shown = np.array(page.texts("x")).reshape(5, 5)
    assert shown[2:4, 2:].tolist() == [["1", "2", "3"], ["4", "NaN", "6"]]
    assert shown[0].tolist() == ["9", "6", "6", "8", "5"]
    page.script(PASTE, page.cell("y", 0), "7 7")
    assert page.texts("x")[12] == "1"
    page.script(PASTE, page.cell("x", 0), "abc")
    page.settle()
    assert page.error.startswith("x[0, 0]='abc': a number is needed")


def test_changed_elements_outlive_another_shape(page: Page) -> None:
    page.go(POOL + "&x=4.4:77;0.0:66")
    page.fill("shape", "3,3")
    assert page.texts("y") == ["66"]
    page.fill("shape", "5,5")
    assert page.texts("x")[-1] == "77"


def test_the_slider_and_the_buttons_go_through_the_windows(page: Page) -> None:
    page.go(POOL)
    page.script("const s = document.getElementById('slider'); s.value = 2; s.dispatchEvent(new Event('input'))")
    assert page.hash.endswith("pin=y.1.0")
    page.one("#next").click()
    assert page.hash.endswith("pin=y.1.1")
    page.one("#next").click()
    assert page.hash.endswith("pin=y.0.0")
    page.one("#previous").click()
    assert page.hash.endswith("pin=y.1.1")


def test_playing(page: Page) -> None:
    page.go(POOL)
    page.one("#play").click()
    first = page.hash
    page.wait(lambda: "pin=y." in first and page.hash not in ("", first), "the next window")
    assert page.one("#play").text == "Pause"
    page.one("#play").click()
    assert (page.one("#play").text, page.one("#play").get_attribute("aria-pressed")) == ("Play", "false")


# ------------------------------------------------------------------------------------------------------- the gradient


def test_the_gradient_view(page: Page) -> None:
    page.go("#op=avg_pool&shape=4,4&window=3,3&stride=1&padding=1")
    page.one('input[value="gradient"]').find_element("xpath", "..").click()
    page.settle()
    assert page.texts("y") == ["1"] * 16
    page.double_click(page.cell("y", 5))
    page.wait(lambda: page.focused == "edit")
    assert page.one("#edit-label").text == "g[1, 1] ="
    page.keys("-8", Keys.ENTER)
    assert "g=1.1:-8" in page.hash
    g = np.ones((4, 4))
    g[1, 1] = -8
    dx = cn.vjp(lambda x: cn.avg_pool(x, (3, 3), stride=1, padding=1), np.zeros((4, 4)))[1](g)[0]
    shown = [float(text) for text in page.texts("x")]
    np.testing.assert_allclose(shown, dx.ravel(), atol=0.005)
    page.hover(page.cell("x", 0))
    page.wait(lambda: page.formula.startswith("dx[0, 0] = 0.111·1 + 0.111·1 + 0.111·1 + 0.111·(-8) = "))
    assert page.marked("y", "flow") == [0, 1, 4, 5]
    page.hover(page.cell("y", 15))
    page.wait(lambda: page.formula.startswith("g[3, 3] = 1: dx[2, 2] gets 0.111·1 = 0.111"))
    assert page.marked("x", "flow") == [10, 11, 14, 15]


# -------------------------------------------------------------------------------------------------------- the keyboard


def test_the_keyboard_alone(page: Page) -> None:
    page.go(POOL)
    page.keys(Keys.TAB)
    assert page.focused == "skip"
    page.keys(Keys.ENTER)
    assert page.focused == "x[0, 0] = 9"
    page.keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert page.focused.startswith("x[1, 2] = ")
    assert "Seen by 2 windows" in page.formula
    page.keys(Keys.HOME)
    assert page.focused.startswith("x[1, 0] = ")
    page.keys(Keys.END)
    assert page.focused.startswith("x[1, 4] = ")
    page.keys("1", "2", Keys.ENTER)
    assert page.focused == "x[1, 4] = 12"
    assert page.texts("y")[1] == "12"
    page.keys(Keys.F2)
    assert page.focused == "edit"
    page.keys("9", Keys.ESCAPE)
    assert page.focused == "x[1, 4] = 12"
    page.keys(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_UP)
    assert page.focused.startswith("x[0, 4] = ")
    page.keys(Keys.TAB)
    assert page.focused.startswith("y[0, 0] = ")
    page.keys(Keys.ARROW_RIGHT, Keys.ENTER)
    assert "pin=y.0.1" in page.hash
    assert page.one("#live").get_attribute("textContent").startswith("Pinned. y[0, 1] = max(")
    page.keys(Keys.ARROW_LEFT)
    assert page.formula.startswith("y[0, 0] = ")
    page.keys(Keys.ESCAPE)
    assert "pin" not in page.hash
    assert page.focused.startswith("y[0, 0] = ")


def test_every_control_can_be_reached_and_has_a_name(page: Page, driver: Any) -> None:
    page.go("#op=conv&shape=5,5,2&filter=3,3,2,2&bias=1&pin=x.0.0.0")
    reached: list[str] = []
    while True:
        page.keys(Keys.TAB)
        here = page.script(
            "const e = document.activeElement;"
            "return e === document.body ? '' : e.id || e.dataset.array || e.name || e.textContent"
        )
        if not here or here in reached[:1]:
            break
        reached.append(here)
    expected = """skip theme op field-shape field-filter field-groups field-layout field-bias view next play slider
        unpin edit x w b y tab-cenote code copy copy-link svg"""
    assert set(expected.split()) <= set(reached)
    assert reached.index("op") < reached.index("x") < reached.index("y") < reached.index("tab-cenote")
    nodes = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    asks = {
        "button",
        "textbox",
        "combobox",
        "slider",
        "grid",
        "gridcell",
        "tab",
        "radio",
        "checkbox",
        "tabpanel",
        "link",
    }
    nameless = [n for n in nodes if n.get("role", {}).get("value") in asks and not n.get("name", {}).get("value")]
    assert nameless == []
    roles = {n.get("role", {}).get("value") for n in nodes}
    assert {"grid", "row", "gridcell", "columnheader", "rowheader", "tablist", "status", "main", "form"} <= roles
