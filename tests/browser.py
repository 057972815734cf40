"""A real browser for tests: the Chromium of this machine, driven by Playwright, which brings none of its own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import time
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--hide-scrollbars")
PATIENCE = 120.0  # seconds, for a machine that has other things to do
INSIDE = ("file:", "data:", "about:", "blob:")  # addresses that need no network


def find_chromium() -> str | None:
    """The path of a Chromium or Chrome on this machine: $CHROMIUM, or the first that is found by name."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


def has_browser() -> bool:
    """Whether there is a Chromium, and what drives it."""
    return find_chromium() is not None and importlib.util.find_spec("playwright") is not None


class Browser:
    """One browser with one page. `with Browser() as page: page.open(address)`; `page.page` is Playwright's own."""

    def __init__(self, *own: str) -> None:
        """`own` are beginnings of addresses that a page may ask, beside those that need no network."""
        self.allowed = (*INSIDE, *own)
        self._complaints: list[str] = []

    def __enter__(self) -> Browser:
        from playwright.sync_api import sync_playwright

        path = find_chromium()
        assert path is not None, "no chromium found; install one (Debian: apt install chromium) or set CHROMIUM to it"
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        self.page = self._browser.new_page()
        self.page.set_default_timeout(1000 * PATIENCE)
        self.page.on("pageerror", lambda error: self._complain(f"exception: {error}"))
        self.page.on("console", self._listen)
        self.page.on("requestfailed", lambda request: self._complain(f"failed request: {request.url}"))
        self.page.on("request", self._watch)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._browser.close()
        finally:
            self._playwright.stop()

    def _complain(self, text: str) -> None:
        self._complaints.append(text)

    def _listen(self, message: Any) -> None:
        if message.type in ("error", "warning", "assert"):
            self._complain(f"console: {message.text}")

    def _watch(self, request: Any) -> None:
        if not request.url.startswith(self.allowed):
            self._complain(f"request to {request.url}")

    def complaints(self) -> list[str]:
        """What went wrong since the page was opened: errors, warnings, failed requests, requests to the network."""
        self.run("0")  # what has happened until now is heard
        return list(self._complaints)

    def window(self, width: int, height: int = 900, dark: bool = False) -> None:
        """Set the size of the window, and whether its user prefers dark colours."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.paper(False, dark)

    def paper(self, on: bool, dark: bool = False) -> None:
        """Show the page as it is printed, or as it is on a screen."""
        self.page.emulate_media(media="print" if on else "screen", color_scheme="dark" if dark else "light")

    def open(self, address: str) -> None:
        """Open an address and wait until the page is complete."""
        self._complaints.clear()
        self.page.goto(address)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression in the page; of a promise, what it resolves to."""
        return self.page.evaluate(script)

    def wait_for(self, condition: str) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < end, f"still not true after {PATIENCE} s: {condition}"
            self.page.wait_for_timeout(20)

    def middle(self, selector: str) -> tuple[float, float]:
        """Scroll the first element of a selector into view, and return where its middle is."""
        script = """async selector => {
            const element = document.querySelector(selector);
            element.scrollIntoView({block: "center", behavior: "instant"});
            await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
            const box = element.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }"""
        x, y = self.page.evaluate(script, selector)
        return x, y

    def hover(self, selector: str) -> None:
        """Move the pointer to the middle of an element."""
        x, y = self.middle(selector)
        self.page.mouse.move(x - 2, y - 2)
        self.page.mouse.move(x, y)

    def click(self, selector: str) -> None:
        """Click on the middle of an element with the pointer."""
        self.page.mouse.click(*self.middle(selector))

    def press(self, key: str) -> None:
        """Press a key on the element that has the focus."""
        self.page.keyboard.press(key)

    def screenshot(self, whole: bool = True) -> bytes:
        """A PNG of the page, or of its visible part."""
        return self.page.screenshot(full_page=whole)

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return self.page.pdf(print_background=True)
