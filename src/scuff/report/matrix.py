"""A matrix as a table of coloured cells: corruptions down, corruptions across, in the same groups both ways.

With many corruptions the cells are small squares, whose numbers are in the page but not shown; labels show them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from scuff.report.heatmap import Group, HeatCell, HeatRow

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
