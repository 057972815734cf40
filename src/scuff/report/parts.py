"""The parts of sections: plain mappings, each of a kind that the template shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scuff.report.figure import Figure
from scuff.report.heatmap import Matrix
from scuff.tables import Table

Part = dict[str, Any] | str  # a text is a paragraph
Section = dict[str, Any]
Facts = list[tuple[str, str]]


def section(key: str, title: str, *parts: Part | None) -> Section:
    """A section: its name in links, its heading, and its parts: a text is a paragraph, None is left out."""
    shown = [{"kind": "text", "words": part} if isinstance(part, str) else part for part in parts if part is not None]
    return {"key": key, "title": title, "parts": shown}


def note(words: str) -> Part:
    """A paragraph in smaller letters."""
    return {"kind": "note", "words": words}


def heading(words: str) -> Part:
    """A heading inside a section."""
    return {"kind": "heading", "words": words}


def table(table: Table, sortable: bool = True) -> Part:
    """A table, which a click on a heading sorts."""
    return {"kind": "table", "table": table, "sortable": sortable}


def folded(table: Table, title: str = "The numbers as a table") -> Part:
    """A table that a click opens; for the numbers of figures."""
    return {"kind": "folded", "table": table, "title": title}


def figures(figures: Sequence[Figure], side_by_side: bool = True, legend: bool = False) -> Part:
    """Figures, two or three in a line or each in a line of its own, below the legend of the models if asked for."""
    return {"kind": "figures", "figures": figures, "side_by_side": side_by_side, "legend": legend}


def facts(pairs: Facts) -> Part:
    """Names, and a text about each."""
    return {"kind": "facts", "pairs": pairs}


def command(words: str) -> Part:
    """A command line."""
    return {"kind": "command", "words": words}


def matrix(matrix: Matrix) -> Part:
    """A matrix of coloured cells below its scale."""
    return {"kind": "matrix", "matrix": matrix}


def heat_maps(
    scale: Mapping[str, Any],
    columns: Sequence[str],
    panels: Sequence[Mapping[str, Any]],
    corner: str = "Corruption",
    wide: bool = False,
) -> Part:
    """The heat map of every model beside what is known of it, or above it if it is wide; one model at a time.

    `corner` is the head of the names of its rows.
    """
    part = {"kind": "heat_maps", "scale": scale, "columns": columns, "panels": panels}
    return part | {"corner": corner, "wide": wide}


def pictures(panels: Sequence[Mapping[str, Any]]) -> Part:
    """Cards with pictures of every model, one model at a time."""
    return {"kind": "pictures", "panels": panels}


def panels(models: Mapping[str, Sequence[Part]]) -> Part:
    """Parts of every model, one model at a time."""
    return {"kind": "panels", "panels": [{"model": model, "parts": its} for model, its in models.items()]}


def figures_of(section: Mapping[str, Any]) -> list[Figure]:
    """All figures of a section, or of a panel in it."""
    figures = []  # type: ignore[var-annotated]
    for part in section["parts"]:
        figures += part["figures"] if part["kind"] == "figures" else []
        for panel in part["panels"] if part["kind"] == "panels" else []:
            figures += figures_of(panel)
    return figures


def tables_of(section: Mapping[str, Any]) -> list[Table]:
    """All tables of a section, or of a panel in it."""
    tables = []  # type: ignore[var-annotated]
    for part in section["parts"]:
        tables += [part["table"]] if part["kind"] in ("table", "folded") else []
        for panel in part["panels"] if part["kind"] == "panels" else []:
            tables += tables_of(panel)
    return tables
