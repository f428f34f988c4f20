"""The page of the playground as tests see it: a server, a browser, and waiting on conditions, never on time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from cenote.playground.server import Server

POOL = "#op=max_pool&shape=5,5&window=3,3&stride=2"
PATIENCE = 30  # seconds: a condition that does not come true by then fails the test


class Running:
    """A server on a thread of its own."""

    def __init__(self) -> None:
        self.server = Server()
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    @property
    def url(self) -> str:
        return self.server.url

    def stop(self) -> None:
        """Connections that are open stay so: a browser is still answered on them."""
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Page:
    def __init__(self, driver: Any, url: str) -> None:
        self.driver, self.url = driver, url

    def go(self, state: str = "") -> None:
        """Load the page anew: a change of the hash alone would not."""
        self.driver.get("about:blank")
        self.driver.get(self.url + state)
        self.settle()

    def wait(self, condition: Callable[[], Any], what: str = "") -> Any:
        return WebDriverWait(self.driver, PATIENCE, poll_frequency=0.02).until(lambda _: condition(), what)

    def settle(self) -> None:
        """Until the answer to the last change is drawn."""
        self.wait(lambda: self.script("return document.body.getAttribute('aria-busy')") == "false", "an answer")

    def script(self, text: str, *arguments: Any) -> Any:
        return self.driver.execute_script(text, *arguments)

    def one(self, selector: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[Any]:
        found: list[Any] = self.driver.find_elements(By.CSS_SELECTOR, selector)
        return found

    def cell(self, array: str, element: int) -> Any:
        return self.one(f'td[data-array="{array}"][data-element="{element}"]')

    def texts(self, array: str) -> list[str]:
        """Elements as they stand on the page, in row-major order."""
        found: list[str] = self.script(
            "return [...document.querySelectorAll(`td[data-array='${arguments[0]}'].real`)]"
            ".sort((a, b) => a.dataset.element - b.dataset.element).map((c) => c.textContent)",
            array,
        )
        return found

    def marked(self, array: str, mark: str) -> list[int]:
        found: list[int] = self.script(
            "return [...document.querySelectorAll(`td[data-array='${arguments[0]}'].real.${arguments[1]}`)]"
            ".map((c) => Number(c.dataset.element)).sort((a, b) => a - b)",
            array,
            mark,
        )
        return found

    @property
    def hash(self) -> str:
        found: str = self.script("return location.hash")
        return found

    @property
    def formula(self) -> str:
        found: str = self.script("return document.getElementById('formula').textContent")
        return found

    @property
    def error(self) -> str:
        found: str = self.script("const e = document.getElementById('error'); return e.hidden ? '' : e.textContent")
        return found

    @property
    def focused(self) -> str:
        """What has the focus: its label, or its id."""
        found: str = self.script("const e = document.activeElement; return e.getAttribute('aria-label') || e.id")
        return found

    def field(self, name: str) -> Any:
        return self.one(f"#field-{name}")

    def fill(self, name: str, text: str) -> None:
        field = self.field(name)
        field.clear()
        field.send_keys(text)
        self.settle()

    def choose(self, selector: str, value: str) -> None:
        self.one(f'{selector} option[value="{value}"]').click()
        self.settle()

    def keys(self, *keys: str) -> None:
        """Keys for whatever has the focus."""
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()
        self.settle()

    def hover(self, element: Any) -> None:
        ActionChains(self.driver).move_to_element(element).perform()

    def double_click(self, element: Any) -> None:
        ActionChains(self.driver).double_click(element).perform()

    def screen(self, width: int, height: int, dark: bool = False) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})

    def log(self) -> list[str]:
        """What the console has said since the last time."""
        return [entry["message"] for entry in self.driver.get_log("browser")]
