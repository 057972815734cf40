"""The figures of an evaluation, made from small frames of scores. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import pandas as pd

from scuff.report.colours import mark
from scuff.report.figure import (
    ROW,
    SILENT,
    Figure,
    Traces,
    downwards,
    error_bars,
    hover,
    labels,
    layout_of,
    lines_of,
    pattern,
    percents,
    shown_names,
)
from scuff.words import entry_name, grouped, percent, signed_percent


def severity_curves(key: str, title: str, means: pd.DataFrame, models: Sequence[str], highest: float) -> Figure:
    """Mean error by severity: a line and the band of its interval per model.

    `means` has the columns model, severity, value, low, high, n; `highest` is the end of the axis, the same in all
    figures of a report so that they can be compared.
    """
    traces: Traces = []
    for place, model in enumerate(models):
        its = means[means["model"] == model].sort_values("severity")
        look = mark(place)
        x, low, high = (its[c].tolist() for c in ("severity", "low", "high"))
        band = {"x": x + x[::-1], "y": percents(high) + percents(low)[::-1], "fill": "toself"}
        traces.append(band | {"fillcolor": f"@{look['colour']}/0.16", "line": {"width": 0}, "mode": "lines"} | SILENT)
        traces.append(
            {
                "x": x,
                "y": percents(its["value"]),
                "mode": "lines+markers",
                "line": {"color": f"@{look['colour']}", "dash": look["dash"], "width": 2},
                "marker": {"symbol": look["symbol"], "size": 6},
                **hover(model, [f"severity {row.severity}" for row in its.itertuples()], its),
            }
        )
    severities = sorted(means["severity"].unique().tolist())
    x_axis = {
        "title": {"text": "severity"},
        "tickvals": severities,
        "range": [severities[0] - 0.2, severities[-1] + 0.2],
    }
    y_axis = {"title": {"text": "mean error %"}, "range": [0, 100 * highest], "rangemode": "tozero"}
    description = f"Mean error in per cent by severity: {title}. One line per model; the table below has the numbers."
    return Figure(key, title, description, 260, traces, layout_of(x_axis, y_axis))


def corruption_bars(key: str, title: str, errors: pd.DataFrame, models: Sequence[str]) -> Figure:
    """Errors by corruption as bars, one per model; for corruptions without levels. Columns as in `severity_curves`."""
    entries = list(dict.fromkeys(errors["corruption"]))
    traces: Traces = []
    for place, model in enumerate(models):
        its = errors[errors["model"] == model]
        look = mark(place)
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "textposition": "none",
                "y": shown_names(its["corruption"]),
                "x": percents(its["value"]),
                "error_x": error_bars(its, "@ink"),
                "marker": {"color": f"@{look['colour']}", "pattern": pattern(place)},
                **hover(model, [entry_name(e) for e in its["corruption"]], its),
            }
        )
    height = 70 + len(entries) * (len(models) * ROW + 12)
    x_axis = {"title": {"text": "error %"}, "rangemode": "tozero"}
    layout = layout_of(x_axis, downwards(entries)) | {"barmode": "group", "bargap": 0.25}
    description = "Error in per cent by corruption, one bar per model; the table below has the numbers."
    return Figure(key, title, description, height, traces, layout)


def difference_plot(key: str, title: str, differences: pd.DataFrame, models: Sequence[str], reference: str) -> Figure:
    """Differences of error to the reference by corruption, with intervals. `differences` has the columns model,
    corruption, value, low, high, n; left of zero, the model errs less than the reference.
    """
    entries = list(dict.fromkeys(differences["corruption"]))
    others = [model for model in models if model != reference]
    traces: Traces = []
    for order, model in enumerate(others):
        its = differences[differences["model"] == model]
        look = mark(list(models).index(model))
        places = {entry: place for place, entry in enumerate(entries)}
        shift = (order - (len(others) - 1) / 2) * 0.7 / len(others)
        traces.append(
            {
                "x": percents(its["value"]),
                "y": [places[entry] + shift for entry in its["corruption"]],
                "mode": "markers",
                "marker": {"color": f"@{look['colour']}", "symbol": look["symbol"], "size": 8},
                "error_x": error_bars(its, f"@{look['colour']}"),
                **hover(model, [entry_name(e) for e in its["corruption"]], its, signed_percent, "points"),
            }
        )
    y_axis = lines_of([entry_name(entry) for entry in entries])
    x_axis = {
        "title": {"text": "difference of error, points"},
        "rangemode": "tozero",
        "zeroline": True,
        "zerolinecolor": "@muted",
    }
    height = 70 + len(entries) * (len(others) * ROW + 8)
    description = f"{title} in percentage points by corruption, with intervals; the table below has the numbers."
    return Figure(key, title, description, height, traces, layout_of(x_axis, y_axis))


def reliability_diagram(key: str, title: str, bins: pd.DataFrame, models: Sequence[str]) -> Figure:
    """Accuracy by confidence, one line per model, against the line on which confidence is deserved.

    `bins` has the columns model, confidence, value (accuracy), n; empty bins are absent.
    """
    diagonal = {"x": [0, 100], "y": [0, 100], "mode": "lines", "line": {"color": "@muted", "width": 1, "dash": "dot"}}
    traces: Traces = [diagonal | SILENT]
    for place, model in enumerate(models):
        its = bins[bins["model"] == model].sort_values("confidence")
        look = mark(place)
        words = [
            f"<b>{escape(model)}</b><br>mean confidence {percent(row.confidence)} %<br>right {percent(row.value)} %"
            f"<br>{grouped(row.n)} predictions"
            for row in its.itertuples()
        ]
        traces.append(
            {
                "x": percents(its["confidence"]),
                "y": percents(its["value"]),
                "mode": "lines+markers",
                "line": {"color": f"@{look['colour']}", "dash": look["dash"], "width": 2},
                "marker": {"symbol": look["symbol"], "size": 6},
                **labels(words),
            }
        )
    x_axis = {"title": {"text": "confidence %"}, "range": [-3, 103], "dtick": 25}
    y_axis = {"title": {"text": "right %"}, "range": [-3, 103], "dtick": 25}
    description = "Share of right predictions by confidence, one line per model; the table below has the numbers."
    return Figure(key, title, description, 320, traces, layout_of(x_axis, y_axis))
