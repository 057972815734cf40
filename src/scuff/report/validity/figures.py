"""The figures of validity: models in scatter plots, and intervals of changes. Nothing is computed here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import pandas as pd

from scuff.metrics.validity.shifts import MEAN
from scuff.report.colours import mark
from scuff.report.figure import Figure, Traces, error_bars, labels, layout_of, lines_of, numbers, percents
from scuff.report.separation.figures import LEGEND, titled
from scuff.report.validity.scores import ValidityScores, signed
from scuff.words import bracketed, fine, hundredths, interval, percent

LINE = 20  # pixels of height per interval
WIDTH = 0.6  # of the distance between groups, that the natural benchmarks of one take up
LOOKS = {
    "standard": {"color": "@series1", "symbol": "diamond", "size": 8},
    "others": {"color": "@series0/0.65", "symbol": "circle", "size": 7},
}


def model_scatter(key: str, scores: ValidityScores, what: str, benchmark: str, natural: str) -> Figure:
    """What models lose to a natural shift over what they lose to a synthetic benchmark, one point per model."""
    synthetic, lost = scores.residual(what, benchmark), scores.shifts.natural_residuals()[natural]
    is_score = what == "score"
    write, x_words = (numbers, "%{x:.4~g}") if is_score else (percents, "%{x:.1f} points")
    names = _model_names(scores)
    shown = escape(scores.name(benchmark))
    hover = f"%{{text}}<br>{shown} {x_words}<br>{escape(natural)} %{{y:.1f}} points<extra></extra>"
    standard = set(scores.shifts.standard or ())
    traces: Traces = []
    for place, (name, look) in enumerate(LOOKS.items()):
        its = [model for model in scores.shifts.models if (model in standard) == (place == 0)]
        if its:
            traces.append(
                {
                    "x": write(synthetic[its]),
                    "y": percents(lost[its]),
                    "name": name,
                    "mode": "markers",
                    "marker": dict(look),
                    "text": [names[model] for model in its],
                    "hovertemplate": hover,
                }
            )
    x_title = shown if is_score else f"lost to {shown}, points"
    layout = layout_of({"title": {"text": x_title}}, {"title": titled(f"lost to {escape(natural)}, points")})
    layout |= {"showlegend": len(traces) > 1, "legend": LEGEND | {"traceorder": "normal"}}
    note = _score_words(scores.score(what, benchmark, natural))
    description = f"Accuracy lost to {natural} over {benchmark}, one point per model; hover over a point for its model."
    return Figure(key, natural, description, 320, traces, layout, note)


def gain_forests(scores: ValidityScores) -> list[Figure]:
    """What each corruption adds to the benchmark, the largest gain on top.

    On average over natural benchmarks; if one of them has no correlation, for each of the others.
    """
    gains = scores.contributions.rename(columns={"gain": "value", "gain_low": "low", "gain_high": "high"})
    gains = gains[gains["value"].notna()].sort_values("value", ascending=False, kind="stable")
    title, axis, figures = "Gain of r by corruption", "r with it minus r without it", []
    for natural in scores.telling:
        points = gains[gains["natural"] == natural]
        if len(points):
            names = list(map(scores.name, points["corruption"]))
            figures.append(forest(f"gains{len(figures) or ''}", title, names, points, axis, over(natural)))
    return figures


def group_figure(key: str, scores: ValidityScores, groups: pd.DataFrame, title: str) -> Figure:
    """The mean correlation of groups of benchmarks with each natural benchmark, and on average.

    Groups that differ in one thing only, their std, are joined by a line.
    """
    is_line = (groups["kind"] == "std").all()
    names = groups["group"].drop_duplicates().tolist()
    places = {group: place for place, group in enumerate(names)}
    traces: Traces = []
    for place, natural in enumerate(scores.columns):
        its, look = groups[groups["natural"] == natural], mark(place)
        is_mean = natural == MEAN
        colour = "ink" if is_mean else look["colour"]
        aside = WIDTH * ((place + 0.5) / len(scores.columns) - 0.5)
        traces.append(
            {
                "x": numbers(its["group"].map(places) + aside),
                "y": numbers(its["value"]),
                "name": escape(natural),
                "mode": "lines+markers" if is_mean and is_line else "markers",
                "line": {"color": "@ink", "width": 1.5},
                "marker": {"color": f"@{colour}", "symbol": look["symbol"], "size": 9 if is_mean else 7},
                "error_y": error_bars(its, f"@{colour}/0.6", numbers),
                **labels([_group_label(natural, row) for row in its.itertuples(index=False)]),
            }
        )
    x_axis = {"tickvals": list(range(len(names))), "ticktext": [escape(name) for name in names], "showgrid": False}
    layout = layout_of(x_axis, {"title": titled("mean r")})
    layout |= {"showlegend": True, "legend": LEGEND | {"traceorder": "normal"}}
    description = f"{title}: mean correlation by group with intervals; the table below has the numbers."
    return Figure(key, title, description, 380, traces, layout)


def forest(
    key: str, title: str, names: Sequence[str], points: pd.DataFrame, axis: str = "change of r", note: str = ""
) -> Figure:
    """Changes with their intervals, a line per name. `points` has the columns value, low, high, in the same order."""
    texts = [
        f"<b>{escape(name)}</b><br>{signed(row.value)}"
        + (f"<br>95 % interval {between}" if (between := interval(row.low, row.high, signed)) else "")
        for name, row in zip(names, points.itertuples(index=False), strict=True)
    ]
    dots = {
        "x": numbers(points["value"]),
        "y": list(range(len(names))),
        "mode": "markers",
        "marker": {"color": "@series0", "size": 7},
        "error_x": error_bars(points, "@series0", numbers),
        **labels(texts),
    }
    x_axis = {"title": {"text": axis}, "zeroline": True, "zerolinecolor": "@ink", "rangemode": "tozero"}
    description = f"{title}, with intervals; the table below has the numbers."
    return Figure(key, title, description, 75 + LINE * len(names), [dots], layout_of(x_axis, lines_of(names)), note)


def over(natural: str) -> str:
    """Which natural benchmarks one number is about."""
    return "Mean over natural benchmarks." if natural == MEAN else f"With {natural}."


def _score_words(score: Any) -> str:
    """A correlation above its figure, or why there is none."""
    if score is None:
        return ""
    if math.isnan(score.value):
        return f"No r: {score.note}." if score.note else "No r."
    between = interval(score.low, score.high, hundredths)
    return f"r = {hundredths(score.value)}" + (f" ({between})" if between else "")


def _model_names(scores: ValidityScores) -> dict[str, str]:
    """The label of every model: its name, its family if it is one of several, and its clean accuracy."""
    families, clean = scores.shifts.families, scores.shifts.clean
    shared = {} if families is None else families[families.duplicated(keep=False)].to_dict()
    return {
        model: "<br>".join(
            [
                f"<b>{escape(model)}</b>",
                *([escape(f"family {shared[model]}")] if model in shared else []),
                f"clean accuracy {percent(clean[model])} %",
            ]
        )
        for model in scores.shifts.models
    }


def _group_label(natural: str, row: Any) -> str:
    return (
        f"<b>{escape(row.group)}</b><br>{escape(natural)}: mean r {fine(row.value)}"
        f"{bracketed(row.low, row.high, fine)}<br>{int(row.benchmarks)} benchmarks"
    )
