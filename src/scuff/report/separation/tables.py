"""The tables of the report of a study of MSCR, or of a class separation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from scuff.metrics import Score
from scuff.report.separation.scores import EPSILON, MscrScores, distance
from scuff.report.tables import Cell, Column, Table, mark_best, score_cell, words
from scuff.report.words import class_name, grouped

if TYPE_CHECKING:
    from scuff.metrics.separation.classes import Neighbours

QUANTILES = (0.0, 0.001, 0.01, 0.05, 0.1, 0.5)
MOST_PAIRS = 30  # of classes, in a table


def score_table(scores: MscrScores) -> Table:
    """Accuracies and MSCR of every model and training noise, with intervals; the highest of each model are marked."""
    kinds = {"clean": scores.share, "robust": scores.share, "mscr": scores.change}
    rows: list[list[Cell]] = []
    for model in scores.models:
        its = [
            [
                Cell(model),
                Cell(scores.radius(line["train_noise"]), line["train_noise"]),
                *(
                    score_cell(Score(line[k], line[f"{k}_low"], line[f"{k}_high"], 0, ""), write)
                    for k, write in kinds.items()
                ),
            ]
            for _, line in scores.of(model).iterrows()
        ]
        rows += mark_best(its, (2, 3, 4), max)
    heads = ("training noise", "right without noise %", f"right with noise of {EPSILON} %", "MSCR %")
    return Table("Scores, with 95 % intervals below them", [words("model"), *map(Column, heads)], rows)


def copies_table(scores: MscrScores) -> Table:
    """Mean and deviation of the robust accuracy of every model, training noise and number of copies."""
    rows = [
        [
            Cell(row.model),
            Cell(scores.radius(row.train_noise), row.train_noise),
            Cell(str(row.copies), row.copies),
            Cell(scores.share(row.mean), row.mean),
            Cell(scores.share(row.std), row.std),
        ]
        for row in scores.copies.itertuples()
    ]
    heads = ("training noise", "copies", "mean %", "standard deviation %")
    return Table(f"Accuracy with test noise of {EPSILON}, over runs", [words("model"), *map(Column, heads)], rows)


def quantile_table(neighbours: Neighbours) -> Table:
    """The smallest distance and quantiles, each with the radius of balls that follows."""
    rows = []
    for q in QUANTILES:
        value = neighbours.quantile(q)
        nearer = int((neighbours.distances < value).sum())
        name = f"{100 * q:g} % quantile" if q else "smallest, as in the paper"
        rows.append([Cell(name), *map(distance_cell, (value, value / 2)), Cell(grouped(nearer), nearer)])
    columns = [
        words("of the distances"),
        Column("distance"),
        Column("half of it"),
        Column("points nearer"),
    ]
    return Table("Distances to the nearest point of another class", columns, rows)


def pair_table(pairs: pd.DataFrame, class_names: Sequence[str]) -> Table:
    """The nearest pairs of classes. Columns as `metrics.class_separations` has them."""
    rows = [
        [
            Cell(class_name(class_names, row.label_a)),
            Cell(class_name(class_names, row.label_b), is_text=True),
            distance_cell(row.distance),
            distance_cell(row.distance / 2),
            Cell(f"{grouped(row.row_a)} and {grouped(row.row_b)}", is_text=True),
        ]
        for row in pairs.nsmallest(MOST_PAIRS, "distance").itertuples()
    ]
    columns = [
        words("class"),
        words("other class"),
        Column("distance", "ascending"),
        Column("half of it"),
        words("rows"),
    ]
    nearest = f"The {MOST_PAIRS} nearest of {grouped(len(pairs))} pairs" if len(pairs) > MOST_PAIRS else "All pairs"
    return Table(f"{nearest} of classes, and the points that are nearest to each other", columns, rows)


def distance_cell(value: float) -> Cell:
    """A distance in a table."""
    return Cell(distance(value), value)
