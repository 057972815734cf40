"""The figures of a report, as Plotly reads them: plain dictionaries made from small frames of scores.

Nothing is computed here. Colours are names such as "@ink" and "@series2/0.15" (with an opacity), which the script of
the page replaces by those of the light or dark page. Names of models and corruptions come from outside and Plotly reads
a few HTML tags in texts, so they are escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import pandas as pd

from scuff.report.colours import mark
from scuff.report.words import entry_name, grouped, interval, percent, signed_percent

CLEAR = "rgba(0, 0, 0, 0)"
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif'
ROW = 15  # pixels of height per bar or interval

Traces = list[dict[str, Any]]


@dataclass(frozen=True)
class Figure:
    """A figure and the words around it; `description` is for those who do not see it."""

    key: str
    title: str
    description: str
    height: int
    traces: Traces = field(repr=False)
    layout: dict[str, Any] = field(repr=False)
    note: str = ""

    def to_plotly(self) -> dict[str, Any]:
        """What Plotly draws."""
        return {"data": self.traces, "layout": self.layout}


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
        band = {"x": x + x[::-1], "y": _percent(high) + _percent(low)[::-1], "fill": "toself"}
        traces.append(band | {"fillcolor": f"@{look['colour']}/0.16", "line": {"width": 0}, "mode": "lines"} | SILENT)
        labels = [f"severity {row.severity}" for row in its.itertuples()]
        traces.append(
            {
                "x": x,
                "y": _percent(its["value"]),
                "mode": "lines+markers",
                "line": {"color": f"@{look['colour']}", "dash": look["dash"], "width": 2},
                "marker": {"symbol": look["symbol"], "size": 6},
                **_hover(model, labels, its),
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
    return Figure(key, title, description, 260, traces, _layout(x_axis, y_axis))


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
                "y": _names(its["corruption"]),
                "x": _percent(its["value"]),
                "error_x": _error_bars(its, "@ink"),
                "marker": {"color": f"@{look['colour']}", "pattern": _pattern(place)},
                **_hover(model, [entry_name(e) for e in its["corruption"]], its),
            }
        )
    height = 70 + len(entries) * (len(models) * ROW + 12)
    x_axis = {"title": {"text": "error %"}, "rangemode": "tozero"}
    layout = _layout(x_axis, _downwards(entries)) | {"barmode": "group", "bargap": 0.25}
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
                "x": _percent(its["value"]),
                "y": [places[entry] + shift for entry in its["corruption"]],
                "mode": "markers",
                "marker": {"color": f"@{look['colour']}", "symbol": look["symbol"], "size": 8},
                "error_x": _error_bars(its, f"@{look['colour']}"),
                **_hover(model, [entry_name(e) for e in its["corruption"]], its, signed_percent, "points"),
            }
        )
    y_axis = {
        "tickvals": list(range(len(entries))),
        "ticktext": _names(entries),
        "range": [len(entries) - 0.4, -0.6],
        "showgrid": False,
    }
    x_axis = {
        "title": {"text": "difference of error, points"},
        "rangemode": "tozero",
        "zeroline": True,
        "zerolinecolor": "@muted",
    }
    height = 70 + len(entries) * (len(others) * ROW + 8)
    description = f"{title} in percentage points by corruption, with intervals; the table below has the numbers."
    return Figure(key, title, description, height, traces, _layout(x_axis, y_axis))


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
                "x": _percent(its["confidence"]),
                "y": _percent(its["value"]),
                "mode": "lines+markers",
                "line": {"color": f"@{look['colour']}", "dash": look["dash"], "width": 2},
                "marker": {"symbol": look["symbol"], "size": 6},
                "text": words,
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
    x_axis = {"title": {"text": "confidence %"}, "range": [-3, 103], "dtick": 25}
    y_axis = {"title": {"text": "right %"}, "range": [-3, 103], "dtick": 25}
    description = "Share of right predictions by confidence, one line per model; the table below has the numbers."
    return Figure(key, title, description, 320, traces, _layout(x_axis, y_axis))


# --- shared by the figures ------------------------------------------------------------------------------------------

SILENT = {"hoverinfo": "skip", "showlegend": False}
PATTERNS = ("", "/", ".", "x", "-", "\\", "+", "|")


def _layout(x_axis: dict[str, Any], y_axis: dict[str, Any]) -> dict[str, Any]:
    axis = {"gridcolor": "@line", "zeroline": False, "fixedrange": True, "automargin": True, "linecolor": "@line"}
    axis |= {"ticks": "outside", "ticklen": 4, "tickcolor": CLEAR}  # room between the axis and its labels
    return {
        "font": {"family": FONT, "size": 12, "color": "@ink"},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "margin": {"l": 48, "r": 10, "t": 10, "b": 42},
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": "@ink", "bordercolor": "@ink", "font": {"color": "@paper"}, "align": "left"},
        "dragmode": False,
        "xaxis": axis | x_axis,
        "yaxis": axis | y_axis,
    }


def _pattern(place: int) -> dict[str, Any]:
    """Thin lines over the colour of a bar, so that bars are told apart in grey."""
    shape = PATTERNS[place % len(PATTERNS)]
    return {"shape": shape, "fillmode": "overlay", "fgcolor": "@paper", "fgopacity": 0.5, "solidity": 0.2, "size": 7}


def _downwards(entries: Sequence[str]) -> dict[str, Any]:
    return {"categoryorder": "array", "categoryarray": _names(entries), "autorange": "reversed", "showgrid": False}


def _hover(model: str, labels: Sequence[str], scores: pd.DataFrame, write=percent, unit: str = "%") -> dict[str, Any]:
    """The label of each point: what it is, its value, its interval and how many images it rests on."""
    texts = []
    for label, row in zip(labels, scores.itertuples(), strict=True):
        between = interval(row.low, row.high, write)
        texts.append(
            f"<b>{escape(model)}</b><br>{escape(label)}: {write(row.value)} {unit}"
            + (f"<br>95 % interval {between}" if between else "")
            + f"<br>n = {grouped(row.n)}"
        )
    return {"text": texts, "hovertemplate": "%{text}<extra></extra>"}


def _error_bars(scores: pd.DataFrame, colour: str) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": _percent(scores["high"] - scores["value"]),
        "arrayminus": _percent(scores["value"] - scores["low"]),
        "color": colour,
        "thickness": 1.4,
        "width": 3,
    }


def _percent(shares: pd.Series | Sequence[float]) -> list[float | None]:
    """Shares in per cent, at the precision that a screen can show; None where there is no number."""
    return [None if pd.isna(share) else round(100 * share, 3) for share in shares]


def _names(entries: Sequence[str]) -> list[str]:
    return [escape(entry_name(entry)) for entry in entries]
