"""The page of a report: title, sentences and sections, to one HTML file with its style, script and Plotly inside."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

import scuff
from scuff.files import check_out
from scuff.packages import need
from scuff.report.colours import DASHES, colour_rules, mark, themes
from scuff.report.parts import Section, figures_of
from scuff.store import find_file

NAME = "report.html"

Verdicts = Sequence[tuple[str, str]]  # what or whom a sentence is about, and the sentence


@dataclass(frozen=True)
class Page:
    """All that a page says. Whoever reports on a question builds one; `scuff.report.write` reads and saves.

    title
        The heading.
    lead
        The sentence below it.
    verdicts
        What was found, in a sentence each.
    sections
        The last is that of the settings. Those that are None are left out.
    models
        Those that figures tell apart by colour, and of which panels show one at a time.
    choice
        What one of them is called, if it is no model.
    note
        What whoever asked for the page should know: that there are no results yet.
    """

    title: str
    lead: str
    verdicts: Verdicts
    sections: Sequence[Section | None] = field(repr=False)
    models: Sequence[str] = ()
    choice: str = "Model"
    note: str = ""

    def with_sections(self, more: Sequence[Section | None]) -> Page:
        """The page with sections about something else, before the last one."""
        return replace(self, sections=[*self.sections[:-1], *more, *self.sections[-1:]])


def save_page(text: str, directory: str, out: str | os.PathLike[str] | None) -> str:
    """Write a page atomically and return its path: the file or folder `out`, by default that of the results."""
    check_out(out)
    file = os.path.expanduser(os.path.join(directory, NAME) if out is None else os.fspath(out))
    if os.path.isdir(file) or file.endswith("/"):
        file = os.path.join(file, NAME)
    store, name = find_file(file)
    store.write(name, text.encode())
    return file


def render_page(page: Page) -> str:
    """The text of the file."""
    sections = [section for section in page.sections if section is not None]
    drawn = {f.key: {"data": f.traces, "layout": f.layout} for section in sections for f in figures_of(section)}
    template, same = _template()
    return template.render(
        title=page.title,
        lead=page.lead,
        verdicts=page.verdicts,
        sections=sections,
        models=page.models,
        choice=page.choice,
        marks=[{"model": m} | mark(p) | {"dashes": DASHES[mark(p)["dash"]]} for p, m in enumerate(page.models)],
        data={"figures": drawn, "colours": themes()},
        version=scuff.__version__,
        **same,
    )


def need_drawing_packages() -> None:
    """Refuse a page that could not be written in the end; to be asked before a long job."""
    need("a report", "jinja2", "plotly")


@cache  # compiling the template takes longer than filling it in
def _template() -> tuple[Any, dict[str, Any]]:
    """The template, which escapes everything, and what is the same on every page."""
    from jinja2 import Environment, StrictUndefined
    from plotly.offline import get_plotlyjs

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.from_string(_read("template.html")), {
        "style": _inside("style", f"{colour_rules()}\n{_read('style.css')}"),
        "script": _inside("script", _read("script.js")),
        "plotly": _inside("script", get_plotlyjs()),
    }


def _read(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def _inside(element: str, text: str) -> Any:
    """Text of our own, or of Plotly, that goes into a script or style element of the page as it is."""
    from markupsafe import Markup

    if f"</{element}" in text.lower():
        raise ValueError(f"a {element} that would end its own element cannot be put into the page")
    return Markup(text)
