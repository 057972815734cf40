"""What all figures of a report share: the class, the layout, labels, bars of error, and the usual kinds of traces.

Figures are plain dictionaries as Plotly reads them. Colours are names such as "@ink" and "@series2/0.15" (with an
opacity), which the script of the page replaces by those of the light or dark page. Names of models and corruptions come
from outside and Plotly reads a few HTML tags in texts, so they are escaped.

`line_trace` and `bar_trace` draw the n-th of several models, `point_trace` and `bars` any look; `dots_figure` is a
line per name with a dot and its interval; `label` is the text of a point; `with_scores` renames the columns of one
score of several to those that `error_bars` reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import pandas as pd

from scuff.report.colours import mark
from scuff.words import Form, grouped, interval, percent

CLEAR = "rgba(0, 0, 0, 0)"
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif'
ROW = 15  # pixels of height per bar or interval
DOT_ROW = 18  # pixels of height per name of `dots_figure`
LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 12}, "traceorder": "normal"}

SILENT = {"hoverinfo": "skip", "showlegend": False}
PATTERNS = ("", "/", ".", "x", "-", "\\", "+", "|")

Traces = list[dict[str, Any]]
Scale = Callable[[pd.Series], list[float | None]]
Look = Mapping[str, Any]


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


def percents(shares: pd.Series | Sequence[float]) -> list[float | None]:
    """Shares in per cent, as precise as a screen can show; None where there is no number."""
    return [None if pd.isna(share) else round(100 * share, 3) for share in shares]


def numbers(values: pd.Series | Sequence[float]) -> list[float | None]:
    """Numbers, as precise as a screen can show; None where there is none."""
    return [None if pd.isna(value) else round(value, 5) for value in values]


def layout_of(x_axis: dict[str, Any], y_axis: dict[str, Any], *, legend: bool = False) -> dict[str, Any]:
    """The layout of a figure in the colours of the page, with its axes; `legend`: with one of its own, above it."""
    axis = {"gridcolor": "@line", "zeroline": False, "fixedrange": True, "automargin": True, "linecolor": "@line"}
    axis |= {"ticks": "outside", "ticklen": 4, "tickcolor": CLEAR}  # room between the axis and its labels
    return {
        "font": {"family": FONT, "size": 12, "color": "@ink"},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "margin": {"l": 48, "r": 10, "t": 10, "b": 42},
        "showlegend": legend,
        "legend": LEGEND,
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": "@ink", "bordercolor": "@ink", "font": {"color": "@paper"}, "align": "left"},
        "dragmode": False,
        "xaxis": axis | x_axis,
        "yaxis": axis | y_axis,
    }


def pattern(place: int) -> dict[str, Any]:
    """Thin lines over the colour of a bar, so that bars are told apart in grey."""
    shape = PATTERNS[place % len(PATTERNS)]
    return {"shape": shape, "fillmode": "overlay", "fgcolor": "@paper", "fgopacity": 0.5, "solidity": 0.2, "size": 7}


def lines_of(names: Sequence[str]) -> dict[str, Any]:
    """An axis with a line for every name at 0, 1, 2, ..., the first on top; points may stand between them."""
    return {
        "tickvals": list(range(len(names))),
        "ticktext": [escape(name) for name in names],
        "range": [len(names) - 0.4, -0.6],
        "showgrid": False,
    }


def score_texts(
    model: str, points: Sequence[str], scores: pd.DataFrame, form: Form = percent, unit: str = "%"
) -> list[str]:
    """The text of each point: what it is, its value, its interval and how many images it rests on."""
    return [
        label(model, f"{point}: {form(row.value)} {unit}", known_interval(row, form), f"n = {grouped(row.n)}")
        for point, row in zip(points, scores.itertuples(), strict=True)
    ]


def known_interval(row: Any, form: Form) -> str:
    """The interval of a row as a line of a label; nothing where it is not known."""
    between = interval(row.low, row.high, form)
    return f"95 % interval {between}" if between else ""


def labels(texts: Sequence[str]) -> dict[str, Any]:
    """A label of its own for each point."""
    return {"text": list(texts), "hovertemplate": "%{text}<extra></extra>"}


def error_bars(scores: pd.DataFrame, colour: str, scale: Scale = percents) -> dict[str, Any]:
    """The interval of each point, in per cent or as `scale` has it."""
    return {
        "type": "data",
        "symmetric": False,
        "array": scale(scores["high"] - scores["value"]),
        "arrayminus": scale(scores["value"] - scores["low"]),
        "color": colour,
        "thickness": 1.4,
        "width": 3,
    }


def label(name: str, *lines: str) -> str:
    """The text of a point: what it is, and lines about it; empty ones are left out."""
    return "<br>".join([f"<b>{escape(name)}</b>", *map(escape, filter(None, lines))])


def with_scores(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """A frame whose columns value, low and high are those of one score of several: mce, mce_low, mce_high."""
    return frame.rename(columns={name: "value", f"{name}_low": "low", f"{name}_high": "high"})


def line_trace(place: int, x: Sequence[Any], y: Sequence[Any], texts: Sequence[str], **more: Any) -> dict[str, Any]:
    """A line with markers, in the looks of the n-th model."""
    look = mark(place)
    line = {"color": f"@{look['colour']}", "dash": look["dash"], "width": 2}
    trace = {"x": list(x), "y": list(y), "mode": "lines+markers", "line": line}
    return trace | {"marker": {"symbol": look["symbol"], "size": 6}} | labels(texts) | more


def point_trace(x: Sequence[Any], y: Sequence[Any], marker: Look, texts: Sequence[str], **more: Any) -> dict[str, Any]:
    """Points of one look."""
    return {"x": list(x), "y": list(y), "mode": "markers", "marker": dict(marker), **labels(texts), **more}


def bars(x: Sequence[Any], y: Sequence[Any], marker: Look, texts: Sequence[str], **more: Any) -> dict[str, Any]:
    """Bars of one look, upwards unless `more` says otherwise."""
    return {
        "type": "bar",
        "textposition": "none",
        "x": list(x),
        "y": list(y),
        "marker": marker,
        **labels(texts),
        **more,
    }


def bar_trace(
    place: int, x: Sequence[Any], y: Sequence[Any], scores: pd.DataFrame, texts: Sequence[str], scale: Scale = percents
) -> dict[str, Any]:
    """Bars to the right with intervals, in the looks of the n-th model; `scores` has the columns value, low, high."""
    marker = {"color": f"@{mark(place)['colour']}", "pattern": pattern(place)}
    return bars(x, y, marker, texts, orientation="h", error_x=error_bars(scores, "@ink", scale))


def dots_figure(
    key: str,
    title: str,
    names: Sequence[str],
    scores: pd.DataFrame,
    texts: Sequence[str],
    axis: str,
    *,
    note: str = "",
    upright: float | None = None,
    **x_axis: Any,
) -> Figure:
    """A line per name, with a dot and its interval; `scores` has the columns value, low, high in the same order.

    A dotted line stands at `upright`, to compare with.
    """
    ends = error_bars(scores, "@series0", numbers)
    x, look = numbers(scores["value"]), {"color": "@series0", "size": 7}
    dots = point_trace(x, range(len(names)), look, texts, error_x=ends)
    layout = layout_of({"title": {"text": axis}, "rangemode": "tozero"} | x_axis, lines_of(names))
    if upright is not None:
        layout["shapes"] = [upright_line(upright)]
    description = f"{title}: {axis}, with intervals; the table below has the numbers."
    return Figure(key, title, description, 65 + DOT_ROW * len(names), [dots], layout, note)


def upright_line(x: float) -> dict[str, Any]:
    """A dotted line from top to bottom."""
    line = {"color": "@muted", "width": 1, "dash": "dot"}
    return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def titled(words: str) -> dict[str, Any]:
    """The title of an upright axis, with some room between it and the labels."""
    return {"text": words, "standoff": 10}
