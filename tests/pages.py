"""Pages of reports, read again by tests."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser

from scuff.report.page import render_page

EMPTY = {"meta", "link", "img", "line", "br"}  # elements without an end


class Page(HTMLParser):
    """The elements of a page: (tag, attributes, text inside), in the order in which they begin."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self.open: list[tuple[str, dict[str, str], list[str]]] = []
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {[tag for tag, _, _ in self.open]}"

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), []))
        if tag not in EMPTY:
            self.open.append(self.elements[-1])

    def handle_endtag(self, tag):
        if tag not in EMPTY:
            assert self.open[-1][0] == tag, f"</{tag}> inside <{self.open[-1][0]}>"
            self.open.pop()

    def handle_data(self, data):
        for _, _, inside in self.open:
            inside.append(data)

    def texts(self, tag: str, **attributes: str) -> list[str]:
        """The texts of all elements of a tag that have these attributes."""
        return ["".join(inside).strip() for _, _, inside in self.find(tag, **attributes)]

    def find(self, tag: str, **attributes: str):
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [e for e in self.elements if e[0] == tag and wanted.items() <= e[1].items()]

    def sections(self) -> list[str]:
        return [attributes["id"] for _, attributes, _ in self.find("section")]

    def section(self, key: str) -> str:
        return " ".join(self.texts("section", id=key)[0].split())

    def data(self) -> dict:
        return json.loads(self.texts("script", id="data")[0])


def table_of(page: Page, caption: str) -> dict[str, dict[str, float]]:
    """The numbers of a table by row and column, from what it is sorted by."""
    start = next(k for k, e in enumerate(page.elements) if e[0] == "caption" and "".join(e[2]).startswith(caption))
    columns, rows = [], {}
    for tag, attributes, inside in page.elements[start:]:
        text = " ".join("".join(inside).split())  # which spaces they are, does not matter here
        if tag == "table":
            break
        if tag == "th" and attributes["scope"] == "col":
            columns.append(text)
        elif tag == "th":
            rows[text] = row = {}
        elif tag == "td":
            row[columns[1 + len(row)]] = float(attributes.get("data-value", "nan"))
    return rows


def rendered(build, *arguments, title: str | None = None, **options) -> str:
    """The text of the page that a function builds, under another title if one is given."""
    page = build(*arguments, **options)
    return render_page(replace(page, title=title or page.title))


def tips_of(page: Page, caption: str) -> list[tuple[dict[str, str], str]]:
    """The cells of a heat map: their attributes and texts."""
    start = next(k for k, e in enumerate(page.elements) if e[0] == "caption" and "".join(e[2]) == caption)
    after = page.elements[start + 1 :]
    inside = after[: next((k for k, e in enumerate(after) if e[0] == "table"), len(after))]
    return [(e[1], "".join(e[2])) for e in inside if e[0] == "td" and "data-tip" in e[1]]
