"""The report of the study of subsets: how few augmentations are enough if they are the right ones (appendix B)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from scuff.metrics import Score
from scuff.report import parts
from scuff.report.colours import mark
from scuff.report.figure import Figure, Traces, error_bars, hover, layout_of, percents
from scuff.report.page import Page, Verdicts
from scuff.report.parts import Section
from scuff.report.separation.figures import LEGEND, titled
from scuff.report.tables import Cell, Column, Table, mark_best, score_cell, words
from scuff.report.transform_space.command import subsets_again
from scuff.report.transform_space.read import needed_table
from scuff.report.transform_space.seeds import INTERVALS, over_seeds
from scuff.report.transform_space.settings import FEATURE, settings_section
from scuff.report.words import bracketed, count, grouped, listed, percent_sign, plain
from scuff.store import Store, read_settings

ALL = "all"
KINDS = ("closest", "random", "farthest")
ERRORS = {"error": "Error on corrupted images", "clean_error": "Error on clean images"}
DEFINITIONS = [
    (
        "closest",
        "Transforms in order of how near they come to a corruption: first the nearest of every corruption, then the "
        "second nearest, and so on. A subset is the first of this order.",
    ),
    ("farthest", "The last of the same order."),
    ("random", "As many transforms, drawn without regard to distances."),
    ("all", "Every training image draws a transform of its own, as usual."),
    ("error", "Share of wrong predictions, mean over all corruptions and severities."),
    ("feature", FEATURE),
    ("intervals", INTERVALS),
]


def page(directory: str) -> Page:
    """The page about the study in a folder."""
    store = Store(directory)
    settings = read_settings(store, "subsets.json")
    return subsets_page(needed_table(store, "subsets.csv"), settings, directory=directory)


def subsets_page(
    table: pd.DataFrame,
    settings: Mapping[str, Any] | None = None,
    *,
    directory: str | None = None,
) -> Page:
    """The page, from a table with the columns kind, size, seed, clean_error, error.

    `kind` is closest, random, farthest, or all: trained with every transform there is.
    """
    settings = settings or {}
    again = None if directory is None or not settings else subsets_again(settings, directory)
    return Page(
        "How few augmentations are enough",
        _lead(table, settings),
        subset_verdicts(table),
        [subsets_section(table), settings_section(settings, again, DEFINITIONS)],
    )


def subset_verdicts(table: pd.DataFrame) -> Verdicts:
    """What all transforms reach, and what subsets of each kind do."""
    whole = _whole(table, "error")
    verdicts = []
    if whole is not None:
        verdicts.append(("All transforms", f"{percent_sign(whole.value)} error{bracketed(whole.low, whole.high)}."))
    for kind in _kinds(table):
        its = over_seeds(table[table["kind"] == kind], "size", "error")
        best = its.loc[its["value"].idxmin()]
        text = f"lowest error with {count(int(best['size']), 'transform')}, {percent_sign(best['value'])}"
        text += bracketed(best["low"], best["high"])
        if whole is not None:
            text += f", {_compared(best['value'] - whole.value)}. {_enough(its, whole.value)}"
        verdicts.append((kind.capitalize(), f"{text}."))
    return verdicts


def subsets_section(table: pd.DataFrame) -> Section:
    """Errors by the size of subsets."""
    figures = [size_curves(f"subsets-{column}", table, column, title) for column, title in ERRORS.items()]
    return parts.section(
        "subsets",
        "Error by number of transforms",
        parts.text(
            "Networks were trained with a fixed set of augmentations only, and every training image drew from it. If "
            "few transforms that are near to the corruptions do as well as all, it is nearness that counts, and not "
            "variety. The dotted line is training with all transforms."
        ),
        parts.figures(figures),
        parts.folded(subsets_table(table)),
    )


def size_curves(key: str, table: pd.DataFrame, column: str, title: str) -> Figure:
    """Error by the number of transforms, a line per kind of subset, and a dotted line for all transforms."""
    traces: Traces = []
    for kind in _kinds(table):
        its, look = over_seeds(table[table["kind"] == kind], "size", column), mark(KINDS.index(kind))
        traces.append(
            {
                "x": its["size"].tolist(),
                "y": percents(its["value"]),
                "name": kind,
                "mode": "lines+markers",
                "line": {"color": f"@{look['colour']}", "dash": look["dash"], "width": 2},
                "marker": {"symbol": look["symbol"], "size": 7},
                "error_y": error_bars(its, f"@{look['colour']}/0.6"),
                **hover(kind, [count(int(size), "transform") for size in its["size"]], its),
            }
        )
    x_axis = {"title": {"text": "transforms to draw from"}, "type": "log", "dtick": 1}
    layout = layout_of(x_axis, {"title": titled("error %")})
    layout |= {"showlegend": True, "legend": LEGEND, **_line_of_all(_whole(table, column))}
    description = f"{title} in per cent by the number of transforms; the table below has the numbers."
    return Figure(key, title, description, 360, traces, layout)


def subsets_table(table: pd.DataFrame) -> Table:
    """All means, with intervals."""
    rows = []
    for kind in [*_kinds(table), *([ALL] if (table["kind"] == ALL).any() else [])]:
        its = table[table["kind"] == kind].fillna({"size": 0})
        errors, clean = (over_seeds(its, "size", column).set_index("size") for column in ERRORS)
        for size in errors.index:
            name = [Cell(kind), Cell(ALL, float("inf")) if kind == ALL else Cell(grouped(int(size)), size)]
            rows.append([*name, *(score_cell(_score(frame.loc[size])) for frame in (errors, clean))])
    columns = [words("transforms"), Column("number"), Column("error %"), Column("clean error %")]
    return Table("Errors by subset, with 95 % intervals", columns, mark_best(rows, (2, 3)))


def _kinds(table: pd.DataFrame) -> list[str]:
    return [kind for kind in KINDS if (table["kind"] == kind).any()]


def _whole(table: pd.DataFrame, column: str) -> Score | None:
    """What training with all transforms reaches, if it was measured."""
    its = over_seeds(table[table["kind"] == ALL], "kind", column)
    return None if its.empty else _score(its.iloc[0])


def _score(line: pd.Series) -> Score:
    return Score(line["value"], line["low"], line["high"], int(line["n"]), "")


def _compared(difference: float) -> str:
    points = f"{plain(100 * abs(difference))} points"
    return "as all have" if points.startswith("0.0") else f"{points} {'more' if difference > 0 else 'less'} than all"


def _enough(its: pd.DataFrame, whole: float) -> str:
    """How many transforms do as well as all of them."""
    good = its.loc[its["value"] <= whole, "size"]
    return "No number does as well as all" if good.empty else f"As good as all from {grouped(int(good.min()))} on"


def _line_of_all(whole: Score | None) -> dict[str, Any]:
    """A dotted line across, and its label."""
    if whole is None:
        return {}
    y = round(100 * whole.value, 3)
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y}
    label = {"xref": "paper", "x": 1, "y": y, "text": ALL, "showarrow": False, "xanchor": "right", "yanchor": "bottom"}
    return {
        "shapes": [line | {"line": {"color": "@ink", "width": 1.2, "dash": "dot"}}],
        "annotations": [label | {"font": {"color": "@ink", "size": 12}}],
    }


def _lead(table: pd.DataFrame, settings: Mapping[str, Any]) -> str:
    sizes = table.loc[table["kind"] != ALL, "size"].nunique()
    on = f" on {settings['data']}" if "data" in settings else ""
    seeds = count(table["seed"].nunique(), "seed")
    kinds = f"{listed(_kinds(table))} subsets of {count(sizes, 'size')}"
    return f"Networks trained{on} with {kinds}, {seeds}."
