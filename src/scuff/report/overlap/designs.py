"""Designs of benchmarks in tables and sentences, for the page and the terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from scuff.design.overlap.lightest import MOST_TIES
from scuff.suites.combine import entry_names
from scuff.tables import Cell, Column, Head, Table
from scuff.words import fine, hundredths, interval, sentence

if TYPE_CHECKING:
    from scuff.design import Categories, Selection
    from scuff.metrics import Overlaps

Shown = Callable[[str], str]  # how a corruption is written, given its address; `str`: as commands take it

STEPS = {
    "same": "correlation within",
    "different": "between",
    "silhouette": "silhouette",
    "hierarchical_same": "within, tree",
    "hierarchical_silhouette": "silhouette, tree",
    "rand": "adjusted Rand index",
}


def groups_table(groups: Mapping[str, Sequence[str]], shown: Shown = str) -> Table:
    """The corruptions of every category."""
    members = Column("corruptions", lambda group: ", ".join(map(shown, group[1])))
    return Table.of("Categories", groups.items(), [Column("category", lambda group: group[0]), members])


def steps_table(categories: Categories) -> Table:
    """What came out with every number of categories that was tried; the chosen one is marked."""
    columns = [Column(heading, name, hundredths) for name, heading in STEPS.items()]
    number = Column("categories", lambda step: f"{step['k']:.0f}")
    chosen = Column("", lambda step: "chosen" if step["k"] == categories.k else "")
    return Table.of("By number of categories", categories.steps, [number, *columns, chosen])


def selection_table(overlaps: Overlaps, selection: Selection, shown: Shown = str) -> Table:
    """The chosen corruptions: their mean overlap with the others, and the largest one, with its interval."""
    records: list[dict[str, Any]] = []
    for name in selection.members:
        scores = {other: overlaps.score(name, other) for other in selection.members if other != name}
        nearest = max(scores, key=lambda other: scores[other].value, default="")
        mean = sum(score.value for score in scores.values()) / len(scores) if scores else None
        record = {"name": shown(name), "mean": mean, "largest": scores.get(nearest)}
        overlaps_at_all = nearest and scores[nearest].value > 0
        records.append(record | {"nearest": shown(nearest) if overlaps_at_all else ""})
    columns = [
        Column("corruption", "name"),
        Column("mean overlap", "mean", fine),
        Column("largest overlap", "largest", fine),
        Column("with", "nearest"),
    ]
    return Table.of("The chosen corruptions, with 95 % intervals where they are known", records, columns)


def matrix_table(overlaps: Overlaps, caption: str = "", shown: Shown = str) -> Table:
    """The overlaps below the diagonal, and their intervals above it."""
    names = overlaps.names

    def cell(a: int, b: int) -> Cell:
        score = overlaps.score(names[a], names[b])
        ends = interval(score.low, score.high, hundredths) if b > a else ""
        return Cell(ends or hundredths(score.value), score.value)

    heads = [Head(caption and "corruption", is_number=False), *(Head(str(place + 1)) for place in range(len(names)))]
    rows = [
        [Cell(f"{place + 1} {shown(name)}"), *(cell(place, other) for other in range(len(names)))]
        for place, name in enumerate(names)
    ]
    return Table(caption, heads, rows)


def sweep_matrices(overlaps: Overlaps, sweep: pd.DataFrame, shown: Shown = str) -> dict[str, Table]:
    """The matrix of the benchmark at every threshold, as in appendix B of the NOC paper, by what is said of it."""
    tables = {}
    for row in sweep[sweep["size"] > 1].itertuples():
        title = f"Overlaps of the benchmark at a threshold of {row.threshold:g}"
        caption = f"{title}; above the diagonal, 95 % intervals where they are known"
        tables[title] = matrix_table(overlaps.take(row.members), caption, shown)
    return tables


def sweep_table(sweep: pd.DataFrame, shown: Shown | None = None) -> Table:
    """The largest benchmark at every threshold."""

    def members(row: Mapping[str, Any]) -> str:
        written = map(shown, row["members"]) if shown else entry_names(row["members"]).values()
        return ", ".join(written) + ("" if row["proven"] else " (not proven optimal)")

    columns = [
        Column("threshold", lambda row: f"{row['threshold']:g}"),
        Column("size", "size", str),
        Column("mean overlap", "mean_overlap", fine),
        Column("largest overlap", "largest_overlap", fine),
        Column("sets as large", lambda row: f"{row['largest_subsets']}{'' if row['all_counted'] else '+'}", str),
        Column("corruptions", members),
    ]
    return Table.of("The largest benchmarks by threshold", sweep, columns)


def explain_selection(selection: Selection) -> Iterator[str]:
    """What a reader must know about the choice of a benchmark without overlaps."""
    size, count = len(selection.members), selection.largest_subsets
    if size == 1:
        yield f"No two corruptions overlap less than {selection.threshold:g}: a higher threshold is needed."
        return
    yield f"{size} corruptions overlap less than {selection.threshold:g}; mean overlap {selection.mean_overlap:.4f}."
    if count == 1:
        yield "No other set is as large."
    elif selection.proven:
        yield f"Of {count if selection.all_counted else f'more than {count}'} sets as large, none overlaps less."
    else:
        yield (
            f"More than {count} sets are as large: too many to prove that none overlaps less. This is the best one "
            "found; another threshold may leave fewer."
        )
    if selection.ties:
        more = "at least " if len(selection.ties) == MOST_TIES else ""
        first = ", ".join(entry_names(selection.ties[0]).values())
        yield f"As low is the mean of {more}{len(selection.ties)} others; the first: {first}."
    yield from _explain_undefined(selection.undefined)


def explain_categories(categories: Categories, correlation: float = 0.5) -> Iterator[str]:
    """How the number of categories was chosen."""
    if math.isnan(categories.same):
        yield f"No two corruptions correlate by more than {correlation:g}: each is a category of its own."
    else:
        yield (
            f"{categories.k} categories. Overlaps correlate by {categories.same:.2f} within categories and by "
            f"{categories.different:.2f} between them."
        )
    yield from _explain_undefined(categories.undefined)


def _explain_undefined(undefined: Mapping[str, str]) -> Iterator[str]:
    return (f"Left out: {name}. {sentence(reason)}" for name, reason in undefined.items())
