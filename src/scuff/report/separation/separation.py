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
from scuff.report import parts
from scuff.report.colours import shade
from scuff.report.heatmap import HeatCell, scale
from scuff.report.matrix import Matrix, make_matrix
from scuff.report.page import Page
from scuff.report.parts import Section
from scuff.report.separation.distances import cumulative, group_distances, histogram
from scuff.report.separation.scores import EPSILON, distance, norm_words, number
from scuff.report.settings import all_facts, meanings, settings_section
from scuff.store import Store
from scuff.studies.base import again_from
from scuff.studies.separation.distances import SEPARATION, read_is_test, read_neighbours, read_pairs, read_separation
from scuff.studies.separation.study import SeparationStudy
from scuff.tables import Column, Table
from scuff.words import class_name, count, grouped

if TYPE_CHECKING:
    from scuff.metrics.separation.classes import Neighbours

MOST_LISTED = 20  # values of a setting that are listed
MOST_PAIRS = 30  # of classes, in a table
MATRIX_CLASSES = range(3, 41)  # with fewer, a table says it all; with more, nothing can be read
QUANTILES = (0.0, 0.001, 0.01, 0.05, 0.1, 0.5)


@dataclass(frozen=True, eq=False)
class Distances:
    """What a folder says of distances between classes: its separation.json, and what else was computed.

    `neighbours` are the nearest points of other classes, `is_test` says which rows of the data are test points, and
    `pairs` are the distances of all pairs of classes.
    """

    separation: Mapping[str, Any]
    neighbours: Neighbours | None = field(default=None, repr=False)
    is_test: np.ndarray | None = field(default=None, repr=False)
    pairs: pd.DataFrame | None = field(default=None, repr=False)


def read_distances(directory: str) -> Distances | None:
    """What a folder says of distances between classes; None if it holds none."""
    if not Store(directory).exists(SEPARATION):
        return None
    return Distances(*(read(directory) for read in (read_separation, read_neighbours, read_is_test, read_pairs)))  # type: ignore[arg-type]


def page(directory: str) -> Page:
    """The page about what `scuff separation` left in a folder."""
    return separation_page(read_distances(directory), directory=directory)


def separation_page(distances: Distances, *, directory: str | None = None) -> Page:
    """The page, from what is known of the distances."""
    separation = distances.separation
    joined = {"per_class": distances.pairs is not None, "per_point": distances.neighbours is not None}
    settings = {**separation, "options": separation["options"] | joined} if "options" in separation else separation
    again = None if directory is None else again_from(SeparationStudy, settings, directory)
    facts = all_facts(separation, hidden=["options"], most_listed=MOST_LISTED)
    points, classes = count(separation["points"], "point"), count(len(separation["class_names"]), "class", "classes")
    return Page(
        f"Class separation of {data_name(separation.get('data', 'the data'))}",
        f"{points} of {classes}.",
        [separation_verdict(separation)],
        [
            separation_section(distances),
            settings_section(facts, again, meanings("separation", epsilon=EPSILON)),
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
    inside, pairs = [], distances.pairs
    if distances.neighbours is not None:
        groups = group_distances(distances.neighbours, distances.is_test)
        inside += [
            parts.text(
                "How far every point is from the nearest one of another class. Where the smallest distance is that of "
                "a few odd points, mislabelled ones perhaps, a quantile is a fairer measure of what noise can be borne."
            ),
            parts.figures([histogram("distances", groups), cumulative("distances-cumulative", groups)]),
            parts.table(quantile_table(distances.neighbours), sortable=False),
        ]
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
