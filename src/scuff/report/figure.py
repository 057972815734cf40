"""What all figures of a report have in common: the class, the layout, labels and bars of error.

Figures are plain dictionaries as Plotly reads them. Colours are names such as "@ink" and "@series2/0.15" (with an
opacity), which the script of the page replaces by those of the light or dark page. Names of models and corruptions come
from outside and Plotly reads a few HTML tags in texts, so they are escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import pandas as pd

from scuff.words import entry_name, grouped, interval, percent

CLEAR = "rgba(0, 0, 0, 0)"
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif'
ROW = 15  # pixels of height per bar or interval

SILENT = {"hoverinfo": "skip", "showlegend": False}
PATTERNS = ("", "/", ".", "x", "-", "\\", "+", "|")

Traces = list[dict[str, Any]]
Scale = Callable[[pd.Series], list[float | None]]


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


def percents(shares: pd.Series | Sequence[float]) -> list[float | None]:
    """Shares in per cent, at the precision that a screen can show; None where there is no number."""
    return [None if pd.isna(share) else round(100 * share, 3) for share in shares]


def numbers(values: pd.Series | Sequence[float]) -> list[float | None]:
    """Numbers as they are, at the precision that a screen can show; None where there is none."""
    return [None if pd.isna(value) else round(value, 5) for value in values]


def layout_of(x_axis: dict[str, Any], y_axis: dict[str, Any]) -> dict[str, Any]:
    """The layout of a figure in the colours of the page, with what is said of its axes."""
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


def pattern(place: int) -> dict[str, Any]:
    """Thin lines over the colour of a bar, so that bars are told apart in grey."""
    shape = PATTERNS[place % len(PATTERNS)]
    return {"shape": shape, "fillmode": "overlay", "fgcolor": "@paper", "fgopacity": 0.5, "solidity": 0.2, "size": 7}


def downwards(entries: Sequence[str]) -> dict[str, Any]:
    """An axis of corruptions, the first on top."""
    return {"categoryorder": "array", "categoryarray": shown_names(entries), "autorange": "reversed", "showgrid": False}


def lines_of(names: Sequence[str]) -> dict[str, Any]:
    """An axis with a line for every name at 0, 1, 2, ..., the first on top; points may stand between them."""
    return {
        "tickvals": list(range(len(names))),
        "ticktext": [escape(name) for name in names],
        "range": [len(names) - 0.4, -0.6],
        "showgrid": False,
    }


def hover(model: str, points: Sequence[str], scores: pd.DataFrame, write=percent, unit: str = "%") -> dict[str, Any]:
    """The label of each point: what it is, its value, its interval and how many images it rests on."""
    texts = []
    for point, row in zip(points, scores.itertuples(), strict=True):
        between = interval(row.low, row.high, write)
        texts.append(
            f"<b>{escape(model)}</b><br>{escape(point)}: {write(row.value)} {unit}"
            + (f"<br>95 % interval {between}" if between else "")
            + f"<br>n = {grouped(row.n)}"
        )
    return labels(texts)


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


def shown_names(entries: Sequence[str]) -> list[str]:
    """Entries of a suite as an axis shows them."""
    return [escape(entry_name(entry)) for entry in entries]
