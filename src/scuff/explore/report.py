"""The view of any results: the page that `scuff report` makes of them, inside the explorer.

It is made anew whenever it is asked for, so that one of a study that is still running is never old. It is served apart
from the explorer's own page: its script may draw, but neither ask the server nor load anything.
"""

from __future__ import annotations

import threading
from importlib.util import find_spec
from typing import Any

from scuff.explore.view import View
from scuff.report.page import Page, render_page
from scuff.report.write import read_page

NEEDED = ("jinja2", "plotly")


class ReportView(View):
    """The report of a folder; `data` is where the images of an evaluation are now, if they have moved."""

    def __init__(self, directory: str, data: str | None = None) -> None:
        self.directory = directory
        self.options = {} if data is None else {"data": data}
        self._lock = threading.Lock()

    @staticmethod
    def can_draw() -> bool:
        """Whether there is what draws reports."""
        return all(map(find_spec, NEEDED))

    def pages(self) -> dict[str, Any]:
        return {"report": self.page}

    def page(self) -> str:
        """The page as HTML; where it cannot be made, one that says why."""
        with self._lock:
            try:
                page = read_page(self.directory, **self.options)
            except (ValueError, OSError) as error:
                page = Page("There is no report", f"{error}.", [], [])
            return render_page(page)
