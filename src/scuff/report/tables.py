"""Tables built cell by cell, for modules that do not build them from records yet; see `scuff.tables`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pandas as pd

from scuff import tables
from scuff.tables import Cell, Table
from scuff.tables import Head as Column
from scuff.words import percent

__all__ = ["Cell", "Column", "Table", "mark_best", "score_cell", "sorted_by", "table_by_model", "words"]


def words(name: str) -> Column:
    """The head of a column of text."""
    return Column(name, is_number=False)


def score_cell(score, write: Callable[[float], str] = percent) -> Cell:
    """A score with its interval."""
    return replace(tables.Column("", lambda _: score, write).cell(None), is_text=False)


def mark_best(rows: Sequence[Sequence[Cell]], columns: Sequence[int], best: Callable = min) -> list[list[Cell]]:
    """The same rows with the best value of every given column marked."""
    which = "lowest" if best is min else "highest"
    width = max((len(row) for row in rows), default=0)
    return tables.mark_best(rows, [which if place in columns else "" for place in range(width)])


def sorted_by(table: Table, column: int) -> Table:
    """The table with its rows in ascending order of a column."""
    return table.sorted_by(table.columns[column].name)


def table_by_model(
    caption: str, frame: pd.DataFrame, names: Sequence[str], models: Sequence[str], first: str, write=percent
) -> Table:
    """A row per name and a column per model. `frame` has the columns name, model, value, low, high."""
    column = tables.Column(first, "value", write, interval=True)
    return Table.pivot(caption, frame, "name", "model", column, names=names, heads=models)
