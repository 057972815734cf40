"""What `scuff design` shows in the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scuff.design.overlap.lightest import MOST_TIES
from scuff.suites.combine import entry_names
from scuff.tables import Column, Table
from scuff.words import fine, hundredths

if TYPE_CHECKING:
    import pandas as pd

    from scuff.design import Categories, Selection
    from scuff.metrics import Overlaps

STEPS = {
    "k": "categories",
    "same": "within",
    "different": "between",
    "silhouette": "silhouette",
    "hierarchical_same": "within, tree",
    "hierarchical_silhouette": "silhouette, tree",
    "rand": "Rand index",
}


def selection_table(overlaps: Overlaps, selection: Selection) -> Table:
    """One row per member: its mean overlap with the others, and the largest one, with its interval if there is one."""
    records: list[dict[str, Any]] = []
    for name in selection.members:
        scores = {other: overlaps.score(name, other) for other in selection.members if other != name}
        nearest = max(scores, key=lambda other: scores[other].value, default=None)
        mean = sum(score.value for score in scores.values()) / len(scores) if scores else None
        largest = scores.get(nearest)
        is_overlap = largest is not None and largest.value > 0
        records.append({"name": name, "mean": mean, "largest": largest, "with": nearest if is_overlap else ""})
    columns = [
        Column("corruption", "name"),
        Column("mean overlap", "mean", fine),
        Column("largest overlap", "largest", fine),
        Column("with", "with"),
    ]
    return Table.of("", records, columns)


def explain_selection(selection: Selection) -> Iterator[str]:
    """What a reader must know about the choice."""
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
        yield f"As low is the mean of {more}{len(selection.ties)} others; the first: {_join(selection.ties[0])}."
    yield from _explain_undefined(selection.undefined)


def sweep_table(sweep: pd.DataFrame) -> Table:
    """One row per threshold, with the members of its benchmark."""
    columns = [
        Column("threshold", lambda row: f"{row['threshold']:g}"),
        Column("size", "size", str),
        Column("mean overlap", "mean_overlap", fine),
        Column("largest overlap", "largest_overlap", fine),
        Column("sets as large", lambda row: f"{row['largest_subsets']}{'' if row['all_counted'] else '+'}", str),
        Column("corruptions", lambda row: _join(row["members"]) + ("" if row["proven"] else " (not proven optimal)")),
    ]
    return Table.of("", sweep, columns)


def steps_table(categories: Categories) -> Table:
    """One row per number of categories that was tried; the chosen one is marked."""
    columns = [
        Column(STEPS["k"], lambda step: f"{step['k']:.0f}"),
        *(Column(heading, key, hundredths) for key, heading in STEPS.items() if key != "k"),
        Column("", lambda step: "chosen" if step["k"] == categories.k else ""),
    ]
    return Table.of("", categories.steps, columns)


def groups_table(groups: Mapping[str, Sequence[str]]) -> Table:
    """One row per category."""
    rows = [[category, ", ".join(members)] for category, members in groups.items()]
    return Table.of_texts(["category", "corruptions"], rows, texts=(0, 1))


def explain_categories(categories: Categories, correlation: float) -> Iterator[str]:
    """What the steps came to."""
    if math.isnan(categories.same):
        yield f"No two corruptions correlate by more than {correlation:g}: each is a category of its own."
    else:
        yield (
            f"{categories.k} categories. Overlaps correlate by {categories.same:.2f} within categories and by "
            f"{categories.different:.2f} between them."
        )
    yield from _explain_undefined(categories.undefined)


def _explain_undefined(undefined: Mapping[str, str]) -> Iterator[str]:
    for name, why in undefined.items():
        yield f"Left out: {name}. {why[:1].upper()}{why[1:]}."


def _join(names: Sequence[str]) -> str:
    return ", ".join(entry_names(names).values())
