"""The page about a class separation, and the section about it on the page of a study of MSCR."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from scuff.metrics.norms import parse_norm
from scuff.report import figure, parts
from scuff.report.colours import mark, shade
from scuff.report.figure import Figure, Traces
from scuff.report.heatmap import HeatCell, Matrix, make_matrix, scale
from scuff.report.page import Page
from scuff.report.parts import Part, Section
from scuff.report.separation.scores import EPSILON, distance, norm_words, number
from scuff.report.settings import meanings, study_section
from scuff.store import Store
from scuff.studies.separation.distances import (
    SEPARATION,
    read_is_test,
    read_neighbours,
    read_pairs,
    read_plane,
    read_separation,
)
from scuff.studies.separation.study import SeparationStudy
from scuff.tables import Column, Table
from scuff.words import class_name, count, grouped, percent

if TYPE_CHECKING:
    from scuff.metrics.separation.classes import Neighbours

MOST_LISTED = 20  # values of a setting that are listed
MOST_PAIRS = 30  # of classes, in a table
MATRIX_CLASSES = range(3, 41)  # with fewer, a table says it all; with more, nothing can be read
QUANTILES = (0.0, 0.001, 0.01, 0.05, 0.1, 0.5)
BINS = 60
STEPS = 200  # of a cumulative curve
MARKED = (0.01, 0.1, 0.5)  # quantiles on it

Groups = dict[str, np.ndarray]  # distances, by which splits the two points are of


@dataclass(frozen=True, eq=False)
class Distances:
    """What a folder says of distances between classes: its separation.json, and what else was computed.

    `neighbours` are the nearest points of other classes, `is_test` says which rows of the data are test points,
    `pairs` are the distances of all pairs of classes, and `plane` are points and labels if there are two coordinates.
    """

    separation: Mapping[str, Any]
    neighbours: Neighbours | None = field(default=None, repr=False)
    is_test: np.ndarray | None = field(default=None, repr=False)
    pairs: pd.DataFrame | None = field(default=None, repr=False)
    plane: tuple[np.ndarray, np.ndarray] | None = field(default=None, repr=False)


def read_distances(directory: str) -> Distances | None:
    """What a folder says of distances between classes; None if it holds none."""
    if not Store(directory).exists(SEPARATION):
        return None
    readers = (read_separation, read_neighbours, read_is_test, read_pairs, read_plane)
    return Distances(*(read(directory) for read in readers))  # type: ignore[arg-type]


def page(directory: str) -> Page:
    """The page about what `scuff separation` left in a folder."""
    distances = read_distances(directory)
    assert distances is not None  # or this were no folder of the study
    return separation_page(distances, directory=directory)


def separation_page(distances: Distances, *, directory: str | None = None) -> Page:
    """The page, from what is known of the distances."""
    separation = distances.separation
    joined = {"per_class": distances.pairs is not None, "per_point": distances.neighbours is not None}
    settings = {**separation, "options": separation["options"] | joined} if "options" in separation else separation
    points, classes = count(separation["points"], "point"), count(len(separation["class_names"]), "class", "classes")
    return Page(
        f"Class separation of {data_name(separation.get('data', 'the data'))}",
        f"{points} of {classes}.",
        [separation_verdict(separation)],
        [
            separation_section(distances),
            study_section(
                SeparationStudy,
                settings,
                directory,
                meanings("separation", epsilon=EPSILON),
                most_listed=MOST_LISTED,
            ),
        ],
    )


def data_name(address: str) -> str:
    """What data are called in a title: a file or folder by its last part, another source by its kind.

    >>> data_name("runs/points.csv"), data_name("folder:/mnt/val"), data_name("cifar10:data"), data_name("fashion")
    ('points.csv', 'val', 'cifar10', 'fashion')
    """
    kind = address.partition(":")[0]
    is_path = kind == "folder" or address.endswith((".csv", ".npz"))
    return re.split(r"[:/\\]", address.rstrip("/\\"))[-1] if is_path else kind


def separation_verdict(separation: Mapping[str, Any]) -> tuple[str, str]:
    """What the smallest distance is, where it is, and what follows."""
    names = [class_name(separation["class_names"], label) for label in separation["labels"]]
    first, second = (
        f"row {grouped(row)} ({f'class {name}' if name.isdigit() else name})"
        for row, name in zip(separation["rows"], names, strict=True)
    )
    p, dropped = parse_norm(separation["norm"]), len(separation["dropped"])
    is_stepped = separation.get("is_image") and math.isinf(p)  # pixels differ by whole steps of 1/255
    steps = f" ({255 * separation['distance']:.0f}/255)" if is_stepped else ""
    left_out = f" Left out, as they coincide with points of another class: {count(dropped, 'point')}."
    return "Class separation", (
        f"the nearest points of different classes, {first} and {second}, are "
        f"{distance(separation['distance'])}{steps} apart in {norm_words(p)}. So noise of up to half of that, "
        f"{number(separation['epsilon_min'])}, need not cost any accuracy.{left_out if dropped else ''}"
    )


def separation_section(distances: Distances) -> Section | None:
    """The distances between classes, as far as they are known."""
    inside: list[Part | None] = []
    pairs = distances.pairs
    if distances.neighbours is not None:
        groups = group_distances(distances.neighbours, distances.is_test)
        inside += [
            "How far every point is from the nearest one of another class. Where the smallest distance is that of "
            "a few odd points, mislabelled ones perhaps, a quantile is a fairer measure of what noise can be borne.",
            parts.figures([histogram(groups), cumulative(groups)]),
            parts.table(quantile_table(distances.neighbours), sortable=False),
        ]
    if distances.plane is not None:
        inside += [parts.heading("The points"), parts.figures([plane_figure(distances)], side_by_side=False)]
    if pairs is not None:
        names = distances.separation.get("class_names", ())
        has_matrix = len({*pairs["label_a"], *pairs["label_b"]}) in MATRIX_CLASSES
        table = pair_table(pairs, names)
        inside += [
            parts.heading("Pairs of classes"),
            parts.matrix(class_matrix(pairs, names)) if has_matrix else None,
            parts.folded(table) if has_matrix else parts.table(table),
        ]
    return parts.section("separation", "Class separation", *inside) if inside else None


def plane_figure(distances: Distances) -> Figure:
    """Points of the plane, coloured by class, and the nearest two of different ones: figure 3 of the paper.

    The axes have one scale, so that balls of a norm would look as they are.
    """
    assert distances.plane is not None
    (x, labels), names = distances.plane, distances.separation.get("class_names", ())
    traces: Traces = []
    for place, of_class in enumerate(np.unique(labels)):
        rows = np.flatnonzero(labels == of_class)
        look = {"color": f"@{mark(place)['colour']}", "size": 4, "symbol": mark(place)["symbol"]}
        name = class_name(names, int(of_class))
        texts = [f"row {grouped(int(row))}, class {name}" for row in rows]
        places = significant(x[rows, 0]), significant(x[rows, 1])
        traces.append(figure.point_trace(*places, look, texts, name=name))
    nearest = x[list(distances.separation["rows"])]
    ring = {"color": "@ink", "size": 14, "symbol": "circle-open", "line": {"width": 2}}
    texts = [f"the nearest points of different classes, {distance(distances.separation['distance'])} apart"] * 2
    places = significant(nearest[:, 0]), significant(nearest[:, 1])
    traces.append(figure.point_trace(*places, ring, texts, name="nearest of different classes"))
    y_axis = {"title": figure.titled("second coordinate"), "scaleanchor": "x"}
    layout = figure.layout_of({"title": {"text": "first coordinate"}}, y_axis, legend=True)
    description = "Every point by its two coordinates, coloured by its class; a ring marks the nearest pair."
    return Figure("points", "Points and classes", description, 460, traces, layout)


def quantile_table(neighbours: Neighbours) -> Table:
    """The smallest distance and quantiles, each with the radius of balls that follows."""
    columns = [
        Column("of the distances", lambda q: f"{100 * q:g} % quantile" if q else "smallest, as in the paper"),
        Column("distance", neighbours.quantile, distance),
        Column("half of it", lambda q: neighbours.quantile(q) / 2, distance),
        Column("points nearer", lambda q: int((neighbours.distances < neighbours.quantile(q)).sum()), grouped),
    ]
    return Table.of("Distances to the nearest point of another class", QUANTILES, columns)


def pair_table(pairs: pd.DataFrame, class_names: tuple[str, ...]) -> Table:
    """The nearest pairs of classes. Columns as `metrics.class_separations` has them."""
    columns = [
        Column("class", lambda pair: class_name(class_names, pair["label_a"])),
        Column("other class", lambda pair: class_name(class_names, pair["label_b"])),
        Column("distance", "distance", distance),
        Column("half of it", lambda pair: pair["distance"] / 2, distance),
        Column("rows", lambda pair: f"{grouped(pair['row_a'])} and {grouped(pair['row_b'])}"),
    ]
    nearest = f"The {MOST_PAIRS} nearest of {grouped(len(pairs))} pairs" if len(pairs) > MOST_PAIRS else "All pairs"
    caption = f"{nearest} of classes, and the points that are nearest to each other"
    return Table.of(caption, pairs.nsmallest(MOST_PAIRS, "distance"), columns, sort="distance")


def class_matrix(pairs: pd.DataFrame, class_names: tuple[str, ...]) -> Matrix:
    """The smallest distance of every pair of classes; the nearer, the darker. Columns as in `class_separations`."""
    pair_of = {(row.label_a, row.label_b): row for row in pairs.itertuples()}
    pair_of |= {(b, a): row for (a, b), row in pair_of.items()}
    near, far = pairs["distance"].min(), pairs["distance"].max()
    shown = {str(label): class_name(class_names, label) for label in sorted({a for a, _ in pair_of})}

    def cell(a: str, b: str) -> HeatCell | None:
        row = pair_of.get((int(a), int(b)))
        if row is None:
            return None
        names = f"{shown[str(row.label_a)]} and {shown[str(row.label_b)]}"
        tip = f"{names}\ndistance {distance(row.distance)}\nrows {row.row_a} and {row.row_b}"
        text = f"{row.distance:#.2g}" if row.distance < 10 else f"{row.distance:.0f}"
        return HeatCell(text, shade(far - row.distance, (far - near) or 1.0), tip)

    colours = scale(f"{distance(far)} apart", f"{distance(near)} apart")
    groups = [("", list(shown))]
    return make_matrix("Smallest distance of every pair of classes", "", colours, groups, groups, cell, shown)


# --- how far points are from the nearest point of another class -------------------------------------------------------


def group_distances(neighbours: Neighbours, is_test: np.ndarray | None) -> Groups:
    """The distances of `metrics.nearest_other_class`; `is_test` says of every row of the data which split it is of."""
    if is_test is None:
        return {"all points": neighbours.distances}
    tested = is_test[neighbours.points].astype(int) + is_test[neighbours.rows]
    names = ("both for training", "one for training, one for the test", "both for the test")
    groups = {name: neighbours.distances[tested == place] for place, name in enumerate(names)}
    return {name: distances for name, distances in groups.items() if len(distances)}


def histogram(groups: Groups) -> Figure:
    """How many points have their nearest of another class at which distance, one colour per group."""
    edges = bin_edges(np.concatenate([*groups.values()]))
    traces: Traces = []
    for place, (name, distances) in enumerate(groups.items()):
        counts, _ = np.histogram(distances, edges)
        texts = [
            f"{number(low)} to {number(high)}<br>{count(int(points), 'point')}, {name}"
            for low, high, points in zip(edges[:-1], edges[1:], counts, strict=True)
        ]
        look = {"color": f"@series{place}", "pattern": figure.pattern(place)}
        middles, width = significant((edges[1:] + edges[:-1]) / 2), float(edges[1] - edges[0])
        traces.append(figure.bars(middles, counts.tolist(), look, texts, name=name, width=width))
    description = "Histogram of the distances to the nearest point of another class; the table below has quantiles."
    stacked = {"barmode": "stack", "bargap": 0}
    return _figure("distances", "How many points at which distance", description, "points", groups, traces, **stacked)


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


def cumulative(groups: Groups) -> Figure:
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
        trace = {"x": significant(at), "y": figure.numbers(100 * shares), "name": name, "mode": "lines", "line": look}
        traces.append(trace | figure.labels(texts))
    marked = np.quantile(np.concatenate([*groups.values()]), MARKED)
    texts = [f"{100 * share:g} % quantile: {number(d)}" for share, d in zip(MARKED, marked, strict=True)]
    look = {"color": "@ink", "symbol": "diamond", "size": 8}
    places = significant(marked), [100 * share for share in MARKED]
    dots = figure.point_trace(*places, look, texts, name="quantiles of all points")
    description = "Cumulative distribution of the distances to the nearest point of another class."
    title = "Share of points that are that near"
    return _figure("distances-cumulative", title, description, "points, %", groups, [*traces, dots])


def _figure(key: str, title: str, description: str, what: str, groups: Groups, traces: Traces, **layout: Any) -> Figure:
    """Distances across, what is counted up, a line at the smallest distance, and a legend of several groups."""
    smallest = min(float(distances.min()) for distances in groups.values())
    label = {"x": smallest, "yref": "paper", "y": 1, "text": f"2r = {distance(smallest)}", "showarrow": False}
    label |= {"xanchor": "left", "yanchor": "bottom", "xshift": -6, "font": {"color": "@ink", "size": 12}}
    x_axis, y_axis = {"title": {"text": "distance to the nearest other class"}}, {"title": figure.titled(what)}
    several = len(groups) > 1
    shared = figure.layout_of(x_axis, y_axis | {"rangemode": "tozero"}, legend=several)
    shared |= {"shapes": [figure.upright_line(smallest)], "annotations": [label], "legend": figure.LEGEND | {"y": 1.12}}
    shared["margin"] = shared["margin"] | {"t": 24}  # where the label stands
    return Figure(key, title, description, 320 + 20 * len(groups) * several, traces, shared | layout)
