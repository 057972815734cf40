"""The page of a report: sections to one text of HTML, with its style, its script and Plotly inside."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import resources
from typing import Any

import scuff
from scuff.report.colours import DASHES, colour_rules, mark, themes
from scuff.report.parts import Section, figures_of
from scuff.store import find_file

NAME = "report.html"


Verdicts = Sequence[tuple[str, str]]  # of what or whom, and the sentence


def save_page(text: str, directory: str, out: str | os.PathLike[str] | None) -> str:
    """Write a page by rename and return its path: the file or folder `out`, by default in the folder of the results."""
    file = os.path.join(directory, NAME) if out is None else os.fspath(out)
    if os.path.isdir(file) or file.endswith("/"):
        file = os.path.join(file, NAME)
    store, name = find_file(file)
    store.write(name, text.encode())
    return file


def render_page(
    title: str,
    lead: str,
    verdicts: Verdicts,
    sections: Sequence[Section],
    models: Sequence[str] = (),
    choice: str = "Model",
    more: Sequence[Section] = (),
) -> str:
    """The text of the file: the title, the sentence below it, what is found in a sentence each, and the sections.

    `more` are sections about something else, which go before the last one: that of the settings.
    `models` are those that figures tell apart by colour, and of which the page shows one at a time. `choice` is what
    one of them is called, if it is no model.
    """
    sections = [*sections[:-1], *more, *sections[-1:]]
    environment, plotly = _drawing_packages()
    style, script = (_read(name) for name in ("style.css", "script.js"))
    return environment.from_string(_read("template.html")).render(
        title=title,
        lead=lead,
        verdicts=verdicts,
        sections=sections,
        models=models,
        choice=choice,
        marks=[{"model": m} | mark(p) | {"dashes": DASHES[mark(p)["dash"]]} for p, m in enumerate(models)],
        data={"figures": {f.key: f.to_plotly() for s in sections for f in figures_of(s)}, "colours": themes()},
        version=scuff.__version__,
        style=_inside("style", f"{colour_rules()}\n{style}"),
        script=_inside("script", script),
        plotly=_inside("script", plotly),
    )


def _drawing_packages() -> tuple[Any, str]:
    """A template environment that escapes everything, and the text of plotly.js."""
    try:
        from jinja2 import Environment, StrictUndefined
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ValueError(f"a report needs {error.name}: pip install 'scuff[report]'") from error
    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True), get_plotlyjs()


def _read(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def _inside(element: str, text: str) -> Any:
    """Text of our own, or of Plotly, that goes into a script or style element of the page as it is."""
    from markupsafe import Markup

    if f"</{element}" in text.lower():
        raise ValueError(f"a {element} that would end its own element cannot be put into the page")
    return Markup(text)
