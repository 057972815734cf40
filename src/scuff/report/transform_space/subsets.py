"""The page about the study of subsets: how few augmentations are enough if they are the right ones (appendix B)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from scuff.report import parts
from scuff.report.figure import Figure, Traces, error_bars, layout_of, line_trace, percents, score_texts, titled
from scuff.report.page import Page, Verdicts
from scuff.report.parts import Section
from scuff.report.settings import meanings, read_study
from scuff.report.transform_space.scores import last_section, over_seeds, side_by_side
from scuff.studies import SubsetsStudy
from scuff.tables import Cell, Column, Table
from scuff.words import bracketed, count, grouped, listed, percent, percent_sign, plain

ALL = "all"
KINDS = ("closest", "random", "farthest")
ERRORS = {"error": "Error on corrupted images", "clean_error": "Error on clean images"}


def page(directory: str) -> Page:
    """The page about the study in a folder."""
    return subsets_page(*read_study(SubsetsStudy, directory), directory=directory)


def subsets_page(
    table: pd.DataFrame, settings: Mapping[str, Any] | None = None, *, directory: str | None = None
) -> Page:
    """The page, from a table with the columns kind, size, seed, clean_error, error.

    `kind` is closest, random, farthest, or all: trained with every transform there is.
    """
    settings = settings or {}
    sizes, seeds = table.loc[table["kind"] != ALL, "size"].nunique(), count(table["seed"].nunique(), "seed")
    on = f" on {settings['data']}" if "data" in settings else ""
    kinds = f"{listed(_kinds(table))} subsets of {count(sizes, 'size')}"
    return Page(
        "How few augmentations are enough",
        f"Networks trained{on} with {kinds}, {seeds}.",
        subset_verdicts(table),
        [subsets_section(table), last_section(SubsetsStudy, settings, directory, meanings("subsets"))],
    )


def subset_verdicts(table: pd.DataFrame) -> Verdicts:
    """What all transforms reach, and what subsets of each kind do."""
    whole, verdicts = _whole(table, "error"), []
    if whole is not None:
        verdicts.append(("All transforms", f"{percent_sign(whole.value)} error{bracketed(whole.low, whole.high)}."))
    for kind in _kinds(table):
        errors = _of_kind(table, kind, "error")
        best = errors.loc[errors["value"].idxmin()]
        text = f"lowest error with {count(int(best['size']), 'transform')}, {percent_sign(best['value'])}"
        text += bracketed(best["low"], best["high"])
        if whole is not None:
            text += f", {_compared(best['value'] - whole.value)}. {_enough(errors, whole.value)}"
        verdicts.append((kind.capitalize(), f"{text}."))
    return verdicts


def subsets_section(table: pd.DataFrame) -> Section:
    """Errors by the size of subsets."""
    figures = [size_curves(f"subsets-{column}", table, column, title) for column, title in ERRORS.items()]
    return parts.section(
        "subsets",
        "Error by number of transforms",
        "Networks were trained with a fixed set of augmentations only, and every training image drew from it. If "
        "few transforms that are near to the corruptions do as well as all, it is nearness that counts, and not "
        "variety. The dotted line is training with all transforms.",
        parts.figures(figures),
        parts.folded(subsets_table(table)),
    )


def size_curves(key: str, table: pd.DataFrame, column: str, title: str) -> Figure:
    """Error by the number of transforms, a line per kind of subset, and a dotted line for all transforms."""
    traces: Traces = []
    for kind in _kinds(table):
        errors, place = _of_kind(table, kind, column), KINDS.index(kind)
        texts = score_texts(kind, [count(int(size), "transform") for size in errors["size"]], errors)
        bars = error_bars(errors, f"@series{place}/0.6")
        traces.append(line_trace(place, errors["size"], percents(errors["value"]), texts, name=kind, error_y=bars))
    x_axis = {"title": {"text": "transforms to draw from"}, "type": "log", "dtick": 1}
    layout = layout_of(x_axis, {"title": titled("error %")}, legend=True)
    whole = _whole(table, column)
    if whole is not None:
        layout |= _line_of_all(round(100 * whole.value, 3))
    description = f"{title} in per cent by the number of transforms; the table below has the numbers."
    return Figure(key, title, description, 360, traces, layout)


def subsets_table(table: pd.DataFrame) -> Table:
    """All means, with intervals."""
    lines = []
    for kind in [*_kinds(table), *([ALL] if (table["kind"] == ALL).any() else [])]:
        means = side_by_side({column: _of_kind(table, kind, column) for column in ERRORS}, "size")
        lines.append(means.assign(kind=kind))
    columns = [
        Column("transforms", "kind"),
        Column("number", _number, grouped),
        Column("error %", "error", percent, interval=True, best="lowest"),
        Column("clean error %", "clean_error", percent, interval=True, best="lowest"),
    ]
    return Table.of("Errors by subset, with 95 % intervals", pd.concat(lines), columns)


def _number(line: Mapping[str, Any]) -> Cell:
    return Cell(ALL, float("inf")) if line["kind"] == ALL else Cell(grouped(int(line["size"])), line["size"])


def _kinds(table: pd.DataFrame) -> list[str]:
    return [kind for kind in KINDS if (table["kind"] == kind).any()]


def _of_kind(table: pd.DataFrame, kind: str, column: str) -> pd.DataFrame:
    return over_seeds(table[table["kind"] == kind].fillna({"size": 0}), "size", column)


def _whole(table: pd.DataFrame, column: str) -> pd.Series | None:
    """What training with all transforms reaches, if it was measured."""
    means = _of_kind(table, ALL, column)
    return None if means.empty else means.iloc[0]


def _compared(difference: float) -> str:
    points = f"{plain(100 * abs(difference))} points"
    return "as all have" if points.startswith("0.0") else f"{points} {'more' if difference > 0 else 'less'} than all"


def _enough(errors: pd.DataFrame, whole: float) -> str:
    """How many transforms do as well as all of them."""
    good = errors.loc[errors["value"] <= whole, "size"]
    return "No number does as well as all" if good.empty else f"As good as all from {grouped(int(good.min()))} on"


def _line_of_all(y: float) -> dict[str, Any]:
    """A dotted line across, and its label."""
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y}
    label = {"xref": "paper", "x": 1, "y": y, "text": ALL, "showarrow": False, "xanchor": "right", "yanchor": "bottom"}
    return {
        "shapes": [line | {"line": {"color": "@ink", "width": 1.2, "dash": "dot"}}],
        "annotations": [label | {"font": {"color": "@ink", "size": 12}}],
    }
