"""Tables whose cells are coloured: the heat map of a model, corruptions down, severities across; and any matrix.

A table, because its numbers can be read, copied and printed, also by people who do not see the colours. In a matrix of
many corruptions the cells are small squares, whose numbers are in the page but not shown; labels show them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import pandas as pd

from scuff.report.colours import STEPS, shade
from scuff.words import cell_name, entry_name, grouped, interval_line, percent, percent_sign

MEAN = "mean"
NO_LEVELS = "error"  # the only column of a suite without levels


@dataclass(frozen=True)
class HeatCell:
    """A number in its colour, with a label that says all about it, and whether it is the best of its row."""

    text: str
    shade: str
    tip: str
    best: bool = False


@dataclass(frozen=True)
class HeatRow:
    """A corruption; None where a cell was not evaluated."""

    name: str
    cells: Sequence[HeatCell | None]


@dataclass(frozen=True)
class Group:
    """The corruptions of a family."""

    family: str
    rows: Sequence[HeatRow]


def top_of_scale(errors: pd.DataFrame) -> float:
    """Where the darkest colour is: the next round number above all errors.

    >>> top_of_scale(pd.DataFrame({"value": [0.12, 0.34]}))
    0.4
    """
    highest = errors["value"].max()
    return next((top for top in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75) if highest <= top), 1.0)


def scale(low: str, high: str) -> dict[str, object]:
    """The legend of the colours, with what stands at its ends."""
    return {"low": low, "high": high, "steps": [f"h{step}" for step in range(STEPS)]}


def columns_of(errors: pd.DataFrame) -> list[str]:
    """The heads of the columns: the severities and their mean, or one column where there are no levels."""
    levels = levels_of(errors)
    return [*map(str, levels), *([MEAN] if len(levels) > 1 else [])] or [NO_LEVELS]


def heat_groups(
    errors: pd.DataFrame, means: pd.DataFrame, families: Mapping[str, str], all_errors: pd.DataFrame
) -> list[Group]:
    """The rows of one model's heat map, by family.

    `errors` are those of its cells, `means` those of its corruptions over all severities, both with the columns
    corruption, value, low, high, n, `errors` with severity too. `all_errors` are those of all models: they fix columns
    and colours, so that heat maps can be compared.
    """
    levels, highest = levels_of(all_errors), top_of_scale(all_errors)
    cells = {(row.corruption, row.severity): row for row in errors.itertuples()}
    mean_of = {row.corruption: row for row in means.itertuples()}
    groups: dict[str, list[HeatRow]] = {}
    for entry in dict.fromkeys(all_errors["corruption"]):
        line = [_cell(cells.get((entry, level)), cell_name(entry, level), highest) for level in levels or [0]]
        if len(levels) > 1:
            name = entry_name(entry) + ("" if (entry, 0) in cells else ", mean of severities")
            line.append(_cell(mean_of.get(entry), name, highest))
        groups.setdefault(families.get(entry, ""), []).append(HeatRow(entry_name(entry), line))
    return [Group(family, rows) for family, rows in groups.items()]


def levels_of(errors: pd.DataFrame) -> list[int]:
    """The severities of a table of errors, without the 0 of entries that have none."""
    return [level for level in sorted(errors["severity"].unique().tolist()) if level]


def _cell(row, name: str, highest: float) -> HeatCell | None:
    if row is None or math.isnan(row.value):
        return None
    lines = [name, f"{percent_sign(row.value)} error", interval_line(row.low, row.high), f"n = {grouped(row.n)}"]
    return HeatCell(percent(row.value), shade(row.value, highest), "\n".join(lines))


MOST_NUMBERED = 16  # columns in which numbers can be read

Groups = Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True)
class Heads:
    """The heads of a group of columns."""

    name: str
    names: Sequence[str]


@dataclass(frozen=True)
class Matrix:
    """The rows and columns of a matrix by group, and what stands in its corner."""

    caption: str
    corner: str
    scale: Mapping[str, object] = field(repr=False)
    columns: Sequence[Heads] = field(repr=False)
    rows: Sequence[Group] = field(repr=False)
    is_flat: bool = False  # its cells are no higher than a line, for many more rows than columns

    @property
    def width(self) -> int:
        """The number of columns."""
        return sum(len(heads.names) for heads in self.columns)

    @property
    def starts(self) -> list[int]:
        """The first column of every group."""
        return list(accumulate((len(heads.names) for heads in self.columns[:-1]), initial=0))

    @property
    def is_numbered(self) -> bool:
        """Whether there is room for numbers in the cells."""
        return self.width <= MOST_NUMBERED


def make_matrix(
    caption: str,
    corner: str,
    scale: Mapping[str, object],
    rows: Groups,
    columns: Groups,
    cell: Callable[[str, str], HeatCell | None],
    shown: Mapping[str, str],
    is_flat: bool = False,
) -> Matrix:
    """The matrix of `cell(row, column)`, with rows and columns by group; `shown` says how each name is written."""
    heads = [Heads(group, [shown[name] for name in names]) for group, names in columns]
    across = [name for _, names in columns for name in names]
    bands = [
        Group(group, [HeatRow(shown[name], [cell(name, other) for other in across]) for name in names])
        for group, names in rows
    ]
    return Matrix(caption, corner, scale, heads, bands, is_flat)
