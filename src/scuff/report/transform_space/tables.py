"""The tables and figures of the page about distances, and the matrix of all of them. Nothing is computed here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from textwrap import wrap
from typing import Any

import pandas as pd

from scuff.report import figure
from scuff.report.colours import mark, shade
from scuff.report.figure import Figure, Traces
from scuff.report.heatmap import HeatCell, Matrix, make_matrix, scale
from scuff.report.transform_space.scores import KINDS, RHO, DistanceScores, full_name, is_subset, near, short_name
from scuff.tables import Column, Table
from scuff.words import count, decimals, hundredths, p_value, percent, percent_sign

MOST_NEAREST = 3  # schemes that are named for every corruption
MOST_ROWS = 64  # of the matrix: of more schemes, the nearest are shown


def correlation_table(scores: DistanceScores) -> Table:
    """The correlations of every corruption, with intervals; those that are not defined say why."""
    lines = pd.DataFrame({"name": scores.shown, "schemes": math.nan})
    notes = pd.DataFrame({kind: table["note"] for kind, table in scores.correlations.items()})
    lines["note"] = notes.apply(lambda row: "; ".join(dict.fromkeys(filter(None, row))), axis=1)
    columns = [Column("corruption", "name")]
    for kind, table in scores.correlations.items():
        lines[[kind, f"{kind}_low", f"{kind}_high", f"{kind}_p"]] = table[["rho", "low", "high", "p_value"]]
        lines["schemes"] = lines["schemes"].fillna(table["schemes"])
        columns.append(Column(f"{RHO} of {KINDS[kind]}", kind, hundredths, interval=True))
        columns.append(Column(f"p of {KINDS[kind]}", f"{kind}_p", p_value))
    columns.append(Column("schemes", "schemes", decimals(0)))
    if lines["note"].any():
        columns.append(Column("note", "note"))
    return Table.of("Rank correlations of distance and error over schemes, with 95 % intervals", lines, columns)


def scheme_table(scores: DistanceScores) -> Table:
    """Every scheme on average over corruptions, from near to far; the best of each column is marked."""
    lines = pd.DataFrame({"msd": scores.msd.mean(axis=1), "mmd": scores.mmd.mean(axis=1)})
    lines["spread"], lines["clean"] = scores.spread.mean(axis=1), scores.clean
    lines["name"] = lines.index.map(full_name)
    lines["nearest"] = scores.msd.idxmin(axis=1).map(scores.shown)
    lines[["error", "error_low", "error_high"]] = scores.mean_errors.reindex(lines.index)[["value", "low", "high"]]
    columns = [
        Column("scheme", "name"),
        Column("MSD", "msd", near, best="lowest"),
        Column("deviation of MSD", "spread", near) if scores.distances.resamplings > 1 else None,
        Column("MMD", "mmd", near, best="lowest"),
        Column("comes nearest to", "nearest"),
        Column("error %", "error", percent, interval=True, best="lowest") if scores.errors is not None else None,
        Column("clean error %", "clean", percent, best="lowest") if lines["clean"].notna().any() else None,
    ]
    return Table.of("Schemes, mean over all corruptions", lines, columns, sort="MSD")


def nearest_table(scores: DistanceScores) -> Table:
    """The nearest schemes of every corruption, and the one with the lowest error."""
    lines = []
    for corruption in scores.msd.columns:
        nearest = scores.msd[corruption].nsmallest(MOST_NEAREST)
        line = {"name": scores.shown[corruption], "msd": nearest.iloc[0], "best": None, "error": math.nan}
        line["nearest"] = "; ".join(map(short_name, nearest.index))
        errors = [] if scores.errors is None else scores.errors[corruption].dropna()
        if len(errors):
            line |= {"best": short_name(errors.idxmin()), "error": errors.min()}  # type: ignore[union-attr]
        lines.append(line)
    has_errors = any(line["best"] is not None for line in lines)
    columns = [
        Column("corruption", "name"),
        Column("smallest MSD", "msd", near),
        Column("nearest schemes", "nearest"),
        Column("lowest error, trained with", "best") if has_errors else None,
        Column("that error %", "error", percent) if has_errors else None,
    ]
    return Table.of("The nearest schemes of every corruption", lines, columns)


# --- the matrix -------------------------------------------------------------------------------------------------------


def distance_matrix(scores: DistanceScores) -> Matrix:
    """The MSD of every scheme to every corruption. Colours compare the schemes of a column; the nearest is framed."""
    lowest, highest = scores.msd.min(), scores.msd.max()

    def cell(scheme: str, corruption: str) -> HeatCell:
        value, least, most = scores.msd.at[scheme, corruption], lowest[corruption], highest[corruption]
        is_nearest = value == least and len(scores.msd) > 1
        colour = shade(most - value, (most - least) or 1.0)
        return HeatCell(near(value), colour, _tip(scores, scheme, corruption), is_nearest)

    rows = shown_schemes(scores)
    groups = [[s for s in rows if not is_subset(s)], [s for s in rows if is_subset(s)]]
    shown = scores.shown | {scheme: short_name(scheme) for scheme in rows}
    return make_matrix(
        "MSD of schemes to corruptions, mean over severities",
        "",
        scale("farthest", "nearest scheme"),
        [("", group) for group in groups if group],
        [("", list(scores.msd.columns))],
        cell,
        shown,
        is_flat=True,
    )


def shown_schemes(scores: DistanceScores) -> list[str]:
    """The schemes that have a row, from near to far: all with a name of their own, and the nearest of the others."""
    if len(scores.by_distance) <= MOST_ROWS:
        return scores.by_distance
    room = max(0, MOST_ROWS - len(scores.named))
    kept = {*scores.named, *[scheme for scheme in scores.by_distance if is_subset(scheme)][:room]}
    return [scheme for scheme in scores.by_distance if scheme in kept]


def _tip(scores: DistanceScores, scheme: str, corruption: str) -> str:
    deviation = scores.spread.at[scheme, corruption]
    lines = [
        full_name(scheme),
        f"to {scores.shown[corruption]}: MSD {near(scores.msd.at[scheme, corruption])}",
        f"deviation {near(deviation)} over {count(scores.distances.resamplings, 'resampling')}"
        if deviation >= 0
        else "",
        f"MMD {near(scores.mmd.at[scheme, corruption])}",
    ]
    if scores.errors is not None and scores.errors.at[scheme, corruption] >= 0:
        lines.append(f"trained with it: {percent_sign(scores.errors.at[scheme, corruption])} error")
    return "\n".join(filter(None, lines))


WIDEST = 40  # characters of a line in a label, so that it is not wider than its figure
ZERO_LINE = {"zeroline": True, "zerolinecolor": "@ink"}


def correlation_bars(key: str, scores: DistanceScores) -> Figure:
    """The rank correlation of distance and error by corruption: a bar of the MSD, and one of the MMD below it."""
    names, traces = list(scores.shown.values()), []
    for place, (kind, table) in enumerate(scores.correlations.items()):
        lines = table.rename(columns={"rho": "value"})
        texts = [_correlation_label(scores, kind, row) for row in lines.itertuples()]
        bars = figure.bar_trace(place, figure.numbers(lines["value"]), range(len(lines)), lines, texts, figure.numbers)
        traces.append(bars | {"name": KINDS[kind]})
    lows = [table["low"].min() for table in scores.correlations.values() if table["low"].notna().any()]
    x_axis = {"title": {"text": f"{RHO} over schemes"}, "range": [min([0.0, *lows]) - 0.05, 1.05], **ZERO_LINE}
    layout = figure.layout_of(x_axis, figure.lines_of(names), legend=len(traces) > 1) | {
        "barmode": "group",
        "bargap": 0.3,
    }
    height = 90 + len(names) * (len(traces) * figure.ROW + 10)
    description = "Rank correlation of distance and error over schemes, by corruption; the table below has the numbers."
    return Figure(key, f"Spearman's {RHO} by corruption", description, height, traces, layout)


def error_scatter(key: str, scores: DistanceScores, corruption: str) -> Figure:
    """Error against MSD on one corruption, a point per scheme."""
    assert scores.errors is not None
    title, correlations = scores.shown[corruption], scores.correlations.get("msd")
    rho = "" if correlations is None else f"{RHO} = {hundredths(correlations.at[corruption, 'rho'])}"
    traces = _points(scores, scores.msd[corruption], scores.errors[corruption])
    description = f"Error on {title} against MSD, one point per scheme; hover over a point for its scheme."
    return Figure(key, title, description, 250, traces, _scatter_layout(), rho)


def mean_scatter(key: str, scores: DistanceScores) -> Figure:
    """The same for the means over all corruptions, with the legend of the schemes that have names."""
    assert scores.errors is not None
    traces = _points(scores, scores.msd.mean(axis=1), scores.errors.mean(axis=1, skipna=False))
    description = "Mean error over corruptions against mean MSD, one point per scheme; the table below has the numbers."
    return Figure(key, "Mean over all corruptions", description, 380, traces, _scatter_layout(bool(scores.named)))


def _points(scores: DistanceScores, distances: pd.Series, errors: pd.Series) -> Traces:
    """Subsets in grey in the background; every other scheme with a colour and a symbol of its own."""
    subsets = [scheme for scheme in distances.index if is_subset(scheme)]
    looks: list[tuple[str, list[str], Mapping[str, Any]]] = [
        ("subsets of AugMix's operations", subsets, {"color": "@muted/0.45", "size": 6})
    ]
    for place, scheme in enumerate(scores.named):
        look = {"color": f"@{mark(place)['colour']}", "symbol": mark(place)["symbol"], "size": 10}
        looks.append((scheme, [scheme], look | {"line": {"color": "@paper", "width": 1}}))
    traces: Traces = []
    for name, schemes, marker in looks:
        texts = [_point_label(scheme, distances[scheme], errors[scheme]) for scheme in schemes]
        x, y = figure.numbers(distances[schemes]), figure.percents(errors[schemes])
        traces += [figure.point_trace(x, y, marker, texts, name=escape(name))] if schemes else []
    return traces


def _scatter_layout(legend: bool = False) -> dict[str, Any]:
    return figure.layout_of({"title": {"text": "MSD"}}, {"title": figure.titled("error %")}, legend=legend)


def _point_label(scheme: str, distance: float, error: float) -> str:
    name = "<br>".join(map(escape, wrap(full_name(scheme), WIDEST)))
    return f"<b>{name}</b><br>MSD {near(distance)}<br>error {percent(error)} %"


def _correlation_label(scores: DistanceScores, kind: str, row: Any) -> str:
    value = f"{KINDS[kind]}: {RHO} = {hundredths(row.value)}"
    return figure.label(scores.shown[row.Index], value, figure.known_interval(row, hundredths), row.note)
