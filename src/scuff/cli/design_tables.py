"""What `scuff design` shows in the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from scuff.design.overlap.lightest import MOST_TIES
from scuff.suites.combine import entry_names

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
    table = _table("corruption", "mean overlap", "largest overlap", left="with")
    for name in selection.members:
        others = [other for other in selection.members if other != name]
        if not others:
            table.add_row(name, "", "", "")
            continue
        scores = {other: overlaps.score(name, other) for other in others}
        nearest = max(scores, key=lambda other: scores[other].value)
        mean, score = sum(score.value for score in scores.values()) / len(scores), scores[nearest]
        interval = f" [{score.low:.3f}, {score.high:.3f}]" if math.isfinite(score.low) else ""
        table.add_row(name, f"{mean:.3f}", f"{score.value:.3f}{interval}", nearest if score.value else "")
    return table


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
    table = _table("threshold", "size", "mean overlap", "largest overlap", "sets as large", left="corruptions")
    for row in sweep.itertuples():
        overlaps = [f"{value:.3f}" if math.isfinite(value) else "" for value in (row.mean_overlap, row.largest_overlap)]
        count = f"{row.largest_subsets}{'' if row.all_counted else '+'}"
        members = _join(row.members) + ("" if row.proven else " (not proven to be the best)")
        table.add_row(f"{row.threshold:g}", str(row.size), *overlaps, count, members)
    return table


def steps_table(found: Categories) -> Table:
    """One row per number of categories that was tried; the chosen one is marked."""
    table = _table(*STEPS.values(), left="")
    for _, step in found.steps.iterrows():
        values = [f"{step[column]:.2f}" if math.isfinite(step[column]) else "" for column in list(STEPS)[1:]]
        table.add_row(f"{step['k']:.0f}", *values, "chosen" if step["k"] == found.k else "")
    return table


def groups_table(groups: Mapping[str, Sequence[str]]) -> Table:
    """One row per category."""
    table = _table("category", left="corruptions")
    for category, members in groups.items():
        table.add_row(category, ", ".join(members))
    return table


def explain_categories(found: Categories, correlation: float) -> Iterator[str]:
    """What the steps came to."""
    if math.isnan(found.same):
        yield f"No two corruptions correlate by more than {correlation:g}: each is a category of its own."
    else:
        yield (
            f"{found.k} categories. Overlaps correlate by {found.same:.2f} within categories and by "
            f"{found.different:.2f} between them."
        )
    yield from _explain_undefined(found.undefined)


def _explain_undefined(undefined: Mapping[str, str]) -> Iterator[str]:
    for name, why in undefined.items():
        yield f"Left out: {name}. {why[:1].upper()}{why[1:]}."


def _join(names: Sequence[str]) -> str:
    return ", ".join(entry_names(names).values())


def _table(*headings: str, left: str) -> Table:
    """The first and the last column are text, the others numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left", no_wrap=place == 0)
    table.add_column(left)
    return table
