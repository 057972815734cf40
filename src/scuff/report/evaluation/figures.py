"""The figures of an evaluation, made from small frames of scores. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from scuff.report import figure
from scuff.report.colours import mark
from scuff.report.figure import Figure, Traces
from scuff.words import entry_name, grouped, percent, signed_percent


def severity_curves(key: str, title: str, means: pd.DataFrame, models: Sequence[str], highest: float) -> Figure:
    """Mean error by severity: a line and the band of its interval per model.

    `means` has the columns model, severity, value, low, high, n; `highest` is the end of the axis, the same in all
    figures of a report so that they can be compared.
    """
    traces: Traces = []
    for place, model in enumerate(models):
        line = means[means["model"] == model].sort_values("severity")
        x, low, high = (line[column].tolist() for column in ("severity", "low", "high"))
        band = {"x": x + x[::-1], "y": figure.percents(high) + figure.percents(low)[::-1], "fill": "toself"}
        colour = f"@{mark(place)['colour']}/0.16"
        traces.append(band | {"fillcolor": colour, "line": {"width": 0}, "mode": "lines"} | figure.SILENT)
        texts = figure.score_texts(model, [f"severity {severity}" for severity in x], line)
        traces.append(figure.line_trace(place, x, figure.percents(line["value"]), texts))
    severities = sorted(means["severity"].unique().tolist())
    x_axis = {"title": {"text": "severity"}, "tickvals": severities}
    x_axis["range"] = [severities[0] - 0.2, severities[-1] + 0.2]
    y_axis = {"title": {"text": "mean error %"}, "range": [0, 100 * highest], "rangemode": "tozero"}
    description = f"Mean error in per cent by severity: {title}. One line per model; the table below has the numbers."
    return Figure(key, title, description, 260, traces, figure.layout_of(x_axis, y_axis))


def corruption_bars(key: str, title: str, errors: pd.DataFrame, models: Sequence[str]) -> Figure:
    """Errors by corruption as bars, one per model; for corruptions without levels. Columns as in `severity_curves`."""
    entries = list(dict.fromkeys(errors["corruption"]))
    traces: Traces = []
    for place, model in enumerate(models):
        bars = errors[errors["model"] == model]
        texts = figure.score_texts(model, [entry_name(entry) for entry in bars["corruption"]], bars)
        rows = [entries.index(entry) for entry in bars["corruption"]]
        traces.append(figure.bar_trace(place, figure.percents(bars["value"]), rows, bars, texts))
    height = 70 + len(entries) * (len(models) * figure.ROW + 12)
    x_axis = {"title": {"text": "error %"}, "rangemode": "tozero"}
    layout = figure.layout_of(x_axis, figure.lines_of([entry_name(entry) for entry in entries]))
    layout |= {"barmode": "group", "bargap": 0.25}
    description = "Error in per cent by corruption, one bar per model; the table below has the numbers."
    return Figure(key, title, description, height, traces, layout)


def difference_plot(key: str, title: str, differences: pd.DataFrame, models: Sequence[str], reference: str) -> Figure:
    """Differences of error to the reference by corruption, with intervals. `differences` has the columns model,
    corruption, value, low, high, n; left of zero, the model errs less than the reference.
    """
    entries = list(dict.fromkeys(differences["corruption"]))
    row_of = {entry: place for place, entry in enumerate(entries)}
    others = [model for model in models if model != reference]
    traces: Traces = []
    for order, model in enumerate(others):
        dots = differences[differences["model"] == model]
        look = mark(list(models).index(model))
        shift = (order - (len(others) - 1) / 2) * 0.7 / len(others)
        names = [entry_name(entry) for entry in dots["corruption"]]
        texts = figure.score_texts(model, names, dots, signed_percent, "points")
        marker = {"color": f"@{look['colour']}", "symbol": look["symbol"], "size": 8}
        y, ends = [row_of[entry] + shift for entry in dots["corruption"]], figure.error_bars(dots, f"@{look['colour']}")
        traces.append(figure.point_trace(figure.percents(dots["value"]), y, marker, texts, error_x=ends))
    x_axis = {"title": {"text": "difference of error, points"}, "rangemode": "tozero"}
    x_axis |= {"zeroline": True, "zerolinecolor": "@muted"}  # type: ignore[dict-item]
    layout = figure.layout_of(x_axis, figure.lines_of([entry_name(entry) for entry in entries]))
    height = 70 + len(entries) * (len(others) * figure.ROW + 8)
    description = f"{title} in percentage points by corruption, with intervals; the table below has the numbers."
    return Figure(key, title, description, height, traces, layout)


def reliability_diagram(key: str, title: str, bins: pd.DataFrame, models: Sequence[str]) -> Figure:
    """Accuracy by confidence, one line per model, against the line on which confidence is justified.

    `bins` has the columns model, confidence, value (accuracy), n; empty bins are absent.
    """
    diagonal = {"x": [0, 100], "y": [0, 100], "mode": "lines", "line": {"color": "@muted", "width": 1, "dash": "dot"}}
    traces: Traces = [diagonal | figure.SILENT]
    for place, model in enumerate(models):
        line = bins[bins["model"] == model].sort_values("confidence")
        texts = [
            figure.label(
                model,
                f"mean confidence {percent(row.confidence)} %",
                f"right {percent(row.value)} %",
                f"{grouped(row.n)} predictions",
            )
            for row in line.itertuples()
        ]
        traces.append(
            figure.line_trace(place, figure.percents(line["confidence"]), figure.percents(line["value"]), texts)
        )
    x_axis = {"title": {"text": "confidence %"}, "range": [-3, 103], "dtick": 25}
    y_axis = {"title": {"text": "right %"}, "range": [-3, 103], "dtick": 25}
    description = "Share of right predictions by confidence, one line per model; the table below has the numbers."
    return Figure(key, title, description, 320, traces, figure.layout_of(x_axis, y_axis))
