"""How far points are from the nearest point of another class: the figures of the distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from scuff.report.figure import LEGEND, Figure, Traces, labels, layout_of, numbers, pattern, titled, upright_line
from scuff.report.separation.scores import distance, number
from scuff.words import count, percent

if TYPE_CHECKING:
    from scuff.metrics.separation.classes import Neighbours

BINS = 60
STEPS = 200  # of a cumulative curve
MARKED = (0.01, 0.1, 0.5)  # quantiles on it


Groups = dict[str, np.ndarray]  # distances, by which splits the two points are of


def group_distances(neighbours: Neighbours, is_test: np.ndarray | None) -> Groups:
    """The distances of `metrics.nearest_other_class`; `is_test` says of every row of the data which split it is of."""
    if is_test is None:
        return {"all points": neighbours.distances}
    tested = is_test[neighbours.points].astype(int) + is_test[neighbours.rows]
    names = ("both for training", "one for training, one for the test", "both for the test")
    groups = {name: neighbours.distances[tested == place] for place, name in enumerate(names)}
    return {name: distances for name, distances in groups.items() if len(distances)}


def histogram(key: str, groups: Groups) -> Figure:
    """How many points have their nearest of another class at which distance, one colour per group."""
    edges = bin_edges(np.concatenate([*groups.values()]))
    traces: Traces = []
    for place, (name, distances) in enumerate(groups.items()):
        counts, _ = np.histogram(distances, edges)
        texts = [
            f"{number(low)} to {number(high)}<br>{count(int(points), 'point')}, {name}"
            for low, high, points in zip(edges[:-1], edges[1:], counts, strict=True)
        ]
        traces.append(
            {
                "type": "bar",
                "name": name,
                "textposition": "none",
                "x": significant((edges[1:] + edges[:-1]) / 2),
                "y": counts.tolist(),
                "width": float(edges[1] - edges[0]),
                "marker": {"color": f"@series{place}", "pattern": pattern(place)},
                **labels(texts),
            }
        )
    layout = _layout("points", groups) | {"barmode": "stack", "bargap": 0}
    description = "Histogram of the distances to the nearest point of another class; the table below has quantiles."
    return Figure(key, "How many points at which distance", description, _height(groups), traces, layout)


def bin_edges(values: np.ndarray) -> np.ndarray:
    """The edges of evenly wide bins. Each holds the same number of the values that distances of pixels can have.

    >>> bin_edges(np.array([3.0, 4, 5, 7])).tolist()
    [2.5, 3.5, 4.5, 5.5, 6.5, 7.5]
    """
    different = np.unique(values)
    width = np.ptp(values) / BINS or 1.0
    gap = float(np.diff(different).min()) if len(different) > 1 else width
    width = gap * max(1, round(width / gap)) if len(different) < 10 * BINS else width
    start = different[0] - min(gap, width) / 2
    return start + width * np.arange(1 + math.ceil((different[-1] - start) / width * (1 + 1e-9)))


def significant(values: np.ndarray) -> list[float]:
    """Numbers with the digits that a screen can show, however small they are."""
    return [float(f"{value:.6g}") for value in values]


def cumulative(key: str, groups: Groups) -> Figure:
    """The share of points that have one of another class within a distance, a line per group."""
    shares = np.linspace(0, 1, STEPS + 1)
    traces: Traces = []
    for place, (name, distances) in enumerate(groups.items()):
        at = np.quantile(distances, shares)
        texts = [
            f"{percent(share)} % have another class within {number(d)}<br>{name}"
            for share, d in zip(shares, at, strict=True)
        ]
        look = {"color": f"@series{place}", "dash": ("solid", "dash", "dot")[place], "width": 2}
        trace = {"x": significant(at), "y": numbers(100 * shares), "name": name, "mode": "lines", "line": look}
        traces.append(trace | labels(texts))
    marked = np.quantile(np.concatenate([*groups.values()]), MARKED)
    traces.append(
        {
            "x": significant(marked),
            "y": [100 * share for share in MARKED],
            "name": "quantiles of all points",
            "mode": "markers",
            "marker": {"color": "@ink", "symbol": "diamond", "size": 8},
            **labels([f"{100 * share:g} % quantile: {number(d)}" for share, d in zip(MARKED, marked, strict=True)]),
        }
    )
    description = "Cumulative distribution of the distances to the nearest point of another class."
    title = "Share of points that are that near"
    return Figure(key, title, description, _height(groups), traces, _layout("points, %", groups))


def _height(groups: Groups) -> int:
    """Of a figure, whose legend has a line for each of several groups."""
    return 320 if len(groups) == 1 else 320 + 20 * len(groups)


def _layout(what: str, groups: Groups) -> dict[str, Any]:
    """Distances across, what is counted up, and a line at the smallest distance."""
    smallest = min(float(distances.min()) for distances in groups.values())
    label = {"x": smallest, "yref": "paper", "y": 1, "text": f"2r = {distance(smallest)}", "showarrow": False}
    label |= {"xanchor": "left", "yanchor": "bottom", "xshift": -6, "font": {"color": "@ink", "size": 12}}
    x_axis, y_axis = {"title": {"text": "distance to the nearest other class"}}, {"title": titled(what)}
    layout = layout_of(x_axis, y_axis | {"rangemode": "tozero"}, legend=len(groups) > 1)
    return layout | {
        "shapes": [upright_line(smallest)],
        "annotations": [label],
        "legend": LEGEND | {"y": 1.12},
        "margin": layout["margin"] | {"t": 24},  # where the label stands
    }
