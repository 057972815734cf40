"""The figures of validity: models in scatter plots, intervals of changes, and the matrix of corruptions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import pandas as pd

from scuff.metrics.validity.shifts import MEAN
from scuff.report import figure
from scuff.report.colours import mark, shade
from scuff.report.figure import Figure, Traces
from scuff.report.heatmap import HeatCell, Matrix, make_matrix, scale
from scuff.report.validity.scores import KINDS, ValidityScores, signed
from scuff.words import bracketed, fine, hundredths, interval, percent

WIDTH = 0.6  # of the distance between groups, that the natural benchmarks of one take up
LOOKS = {
    "standard": {"color": "@series1", "symbol": "diamond", "size": 8},
    "others": {"color": "@series0/0.65", "symbol": "circle", "size": 7},
}


def model_scatter(key: str, scores: ValidityScores, what: str, benchmark: str, natural: str) -> Figure:
    """What models lose to a natural shift over what they lose to a synthetic benchmark, one point per model."""
    synthetic, lost = scores.residual(what, benchmark), scores.shifts.natural_residuals()[natural]
    assert synthetic is not None
    name, is_score = escape(scores.name(benchmark)), what == "score"
    write, x_words = (figure.numbers, "%{x:.4~g}") if is_score else (figure.percents, "%{x:.1f} points")
    hover = f"%{{text}}<br>{name} {x_words}<br>{escape(natural)} %{{y:.1f}} points<extra></extra>"
    texts, standard = _model_labels(scores), set(scores.shifts.standard or ())
    traces: Traces = []
    for role, look in LOOKS.items():
        models = [model for model in scores.shifts.models if (model in standard) == (role == "standard")]
        if models:
            x, y, shown = write(synthetic[models]), figure.percents(lost[models]), [texts[model] for model in models]
            traces.append(figure.point_trace(x, y, look, shown, name=role, hovertemplate=hover))
    x_axis = {"title": {"text": name if is_score else f"lost to {name}, points"}}
    layout = figure.layout_of(
        x_axis, {"title": figure.titled(f"lost to {escape(natural)}, points")}, legend=len(traces) > 1
    )
    description = f"Accuracy lost to {natural} over {benchmark}, one point per model; hover over a point for its model."
    note = _score_words(scores.score(what, benchmark, natural))
    return Figure(key, natural, description, 320, traces, layout, note)


def gain_forests(scores: ValidityScores) -> list[Figure]:
    """What each corruption adds to the benchmark, the largest gain on top.

    On average over natural benchmarks; if one of them has no correlation, for each of the others.
    """
    gains = figure.with_scores(scores.contributions, "gain")
    gains = gains[gains["value"].notna()].sort_values("value", ascending=False, kind="stable")
    title, axis, figures = "Gain of r by corruption", "r with it minus r without it", []  # type: ignore[var-annotated]
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
    traces: Traces = []
    for place, natural in enumerate(scores.columns):
        points, look, is_mean = groups[groups["natural"] == natural], mark(place), natural == MEAN
        colour = "ink" if is_mean else look["colour"]
        aside = WIDTH * ((place + 0.5) / len(scores.columns) - 0.5)
        texts = [
            figure.label(
                row.group,
                f"{natural}: mean r {fine(row.value)}{bracketed(row.low, row.high, fine)}",
                f"{row.benchmarks} benchmarks",
            )
            for row in points.itertuples(index=False)
        ]
        x, y = figure.numbers(points["group"].map(names.index) + aside), figure.numbers(points["value"])
        marker = {"color": f"@{colour}", "symbol": look["symbol"], "size": 9 if is_mean else 7}
        line = {"line": {"color": "@ink", "width": 1.5}} | ({"mode": "lines+markers"} if is_mean and is_line else {})
        ends = figure.error_bars(points, f"@{colour}/0.6", figure.numbers)
        traces.append(figure.point_trace(x, y, marker, texts, name=escape(natural), error_y=ends, **line))
    x_axis = {"tickvals": list(range(len(names))), "ticktext": [escape(name) for name in names], "showgrid": False}
    layout = figure.layout_of(x_axis, {"title": figure.titled("mean r")}, legend=True)
    description = f"{title}: mean correlation by group with intervals; the table below has the numbers."
    return Figure(key, title, description, 380, traces, layout)


def forest(
    key: str, title: str, names: Sequence[str], points: pd.DataFrame, axis: str = "change of r", note: str = ""
) -> Figure:
    """Changes with their intervals, a line per name. `points` has the columns value, low, high, in the same order."""
    texts = [
        figure.label(name, signed(row.value), figure.known_interval(row, signed))
        for name, row in zip(names, points.itertuples(index=False), strict=True)
    ]
    return figure.dots_figure(key, title, names, points, texts, axis, note=note, zeroline=True, zerolinecolor="@ink")


def corruption_matrix(scores: ValidityScores) -> Matrix:
    """Pearson's correlation of every corruption alone with every natural benchmark; the best of a column is framed."""
    scored = {(name, to): scores.score("corruption", name, to) for name in scores.corruptions for to in scores.columns}
    values = {key: row.value for key, row in scored.items() if row is not None and not math.isnan(row.value)}
    best = {to: max((v for (_, other), v in values.items() if other == to), default=math.nan) for to in scores.columns}
    rows = [] if scores.contributions is None else scores.contributions.itertuples(index=False)
    gains = {(row.corruption, row.natural): row.gain for row in rows if not math.isnan(row.gain)}
    categories = scores.settings.get("categories") or {}
    category_of = {name: category for category, members in categories.items() for name in members}

    def cell(name: str, to: str) -> HeatCell | None:
        if (name, to) not in values:
            return None
        value, tip = values[name, to], [f"{scores.name(name)} and {'natural benchmarks, mean' if to == MEAN else to}"]
        for kind, words in KINDS.items():
            row = scores.score("corruption", name, to, kind)
            if row is not None:
                between = interval(row.low, row.high, hundredths)
                tip.append(f"{words}: {hundredths(row.value)}" + (f" ({between})" if between else ""))
        tip += [f"gain in {scores.contributing}: {signed(gains[name, to])}"] if (name, to) in gains else []
        tip += [f"category {category_of[name]}"] if name in category_of else []
        is_best = value == best[to] and len(scores.corruptions) > 1
        return HeatCell(hundredths(value), shade(max(value, 0.0), 1.0), "\n".join(tip), is_best)

    columns = [("", scores.natural), *([("", [MEAN])] if MEAN in scores.columns else [])]
    shown = {name: scores.name(name) for name in scores.corruptions} | {to: to for to in scores.columns}
    caption, ends = "Pearson's correlation of corruptions alone with natural benchmarks", scale("0 or less", "1")
    return make_matrix(caption, "", ends, [("", scores.corruptions)], columns, cell, shown, is_flat=True)


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


def _model_labels(scores: ValidityScores) -> dict[str, str]:
    """The label of every model: its name, its family if it is one of several, and its clean accuracy."""
    families, clean = scores.shifts.families, scores.shifts.clean
    shared = {} if families is None else families[families.duplicated(keep=False)].to_dict()
    words = {model: f"family {shared[model]}" if model in shared else "" for model in scores.shifts.models}
    return {
        model: figure.label(model, family, f"clean accuracy {percent(clean[model])} %")
        for model, family in words.items()
    }
