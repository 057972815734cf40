"""The figures of distances: how they correlate with errors, and both against each other. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from textwrap import wrap
from typing import Any

import pandas as pd

from scuff.report.colours import mark
from scuff.report.figure import (
    ROW,
    Figure,
    Traces,
    bar_trace,
    label,
    labels,
    layout_of,
    lines_of,
    numbers,
    percents,
    titled,
)
from scuff.report.transform_space.names import full_name, is_subset
from scuff.report.transform_space.scores import KINDS, RHO, DistanceScores
from scuff.report.transform_space.shared import near
from scuff.words import hundredths, interval, percent

WIDEST = 40  # characters of a line in a label, so that it is not wider than its figure
ZERO_LINE = {"zeroline": True, "zerolinecolor": "@ink"}


def correlation_bars(key: str, scores: DistanceScores) -> Figure:
    """The rank correlation of distance and error by corruption: a bar of the MSD, and one of the MMD below it."""
    names, traces = list(scores.shown.values()), []
    for place, (kind, table) in enumerate(scores.correlations.items()):
        lines = table.rename(columns={"rho": "value"})
        texts = [_correlation_label(scores, kind, row) for row in lines.itertuples()]
        bars = bar_trace(place, numbers(lines["value"]), range(len(lines)), lines, texts, numbers)
        traces.append(bars | {"name": KINDS[kind]})
    lows = [table["low"].min() for table in scores.correlations.values() if table["low"].notna().any()]
    x_axis = {"title": {"text": f"{RHO} over schemes"}, "range": [min([0.0, *lows]) - 0.05, 1.05], **ZERO_LINE}
    layout = layout_of(x_axis, lines_of(names), legend=len(traces) > 1) | {"barmode": "group", "bargap": 0.3}
    height = 90 + len(names) * (len(traces) * ROW + 10)
    description = "Rank correlation of distance and error over schemes, by corruption; the table below has the numbers."
    return Figure(key, f"Spearman's {RHO} by corruption", description, height, traces, layout)


def error_scatter(key: str, scores: DistanceScores, corruption: str) -> Figure:
    """Error against MSD on one corruption, a point per scheme."""
    title, correlations = scores.shown[corruption], scores.correlations.get("msd")
    rho = "" if correlations is None else f"{RHO} = {hundredths(correlations.at[corruption, 'rho'])}"
    traces = _points(scores, scores.msd[corruption], scores.errors[corruption])
    description = f"Error on {title} against MSD, one point per scheme; hover over a point for its scheme."
    return Figure(key, title, description, 250, traces, _scatter_layout(), rho)


def mean_scatter(key: str, scores: DistanceScores) -> Figure:
    """The same for the means over all corruptions, with the legend of the schemes that have names."""
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
    return [
        {
            "x": numbers(distances[schemes]),
            "y": percents(errors[schemes]),
            "name": escape(name),
            "mode": "markers",
            "marker": dict(look),
            **labels([_point_label(scheme, distances[scheme], errors[scheme]) for scheme in schemes]),
        }
        for name, schemes, look in looks
        if schemes
    ]


def _scatter_layout(legend: bool = False) -> dict[str, Any]:
    return layout_of({"title": {"text": "MSD"}}, {"title": titled("error %")}, legend=legend)


def _point_label(scheme: str, distance: float, error: float) -> str:
    name = "<br>".join(map(escape, wrap(full_name(scheme), WIDEST)))
    return f"<b>{name}</b><br>MSD {near(distance)}<br>error {percent(error)} %"


def _correlation_label(scores: DistanceScores, kind: str, row: Any) -> str:
    between = interval(row.low, row.high, hundredths)
    value = f"{KINDS[kind]}: {RHO} = {hundredths(row.value)}"
    return label(scores.shown[row.Index], value, between and f"95 % interval {between}", row.note)
