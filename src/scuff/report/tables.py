"""Tables of a report: scores as cells with their intervals, ready for the template."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from scuff.metrics import Score
from scuff.report.words import NOTHING, interval, percent


@dataclass(frozen=True)
class Cell:
    """What a table shows, the number that it is sorted by, and whether it is the best of its column."""

    text: str
    value: float = math.nan
    interval: str = ""
    best: bool = False
    is_text: bool = False


@dataclass(frozen=True)
class Column:
    """The head of a column; `order` is how the table is sorted by it at first, as aria-sort says it."""

    name: str
    order: str = "none"
    is_number: bool = True


@dataclass(frozen=True)
class Table:
    """A caption, columns, and rows of cells; the first of each row is its name."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]


def words(name: str) -> Column:
    """The head of a column of text."""
    return Column(name, is_number=False)


def score_cell(score: Score | None, write: Callable[[float], str] = percent) -> Cell:
    """A score with its interval; None where there is none.

    >>> score_cell(Score(0.25, 0.2, 0.31, 96, "Wilson 95 %"))
    Cell(text='25.0', value=0.25, interval='20.0 to 31.0', best=False, is_text=False)
    """
    if score is None:
        return Cell(NOTHING)
    return Cell(write(score.value), score.value, interval(score.low, score.high, write))


def mark_best(
    rows: Sequence[Sequence[Cell]], columns: Sequence[int], best: Callable[[list[float]], float] = min
) -> list[list[Cell]]:
    """The same rows with the lowest value of every given column marked, or that which `best` finds.

    All cells that read the same as the best are marked: a difference that is not shown is no reason to prefer one.
    """
    marked = [list(row) for row in rows]
    for column in columns:
        values = {row[column].value: row[column].text for row in rows if not math.isnan(row[column].value)}
        if len(rows) > 1 and values:
            text = values[best(list(values))]
            for row in marked:
                row[column] = replace(row[column], best=row[column].text == text)
    return marked


def sorted_by(table: Table, column: int) -> Table:
    """The table with its rows in ascending order of a column, which says so; rows without a number come last."""
    rows = sorted(table.rows, key=lambda row: (math.isnan(row[column].value), row[column].value))
    columns = [replace(c, order="ascending" if place == column else "none") for place, c in enumerate(table.columns)]
    return replace(table, columns=columns, rows=rows)


def table_by_model(
    caption: str,
    frame: pd.DataFrame,
    names: Sequence[str],
    models: Sequence[str],
    first: str,
    write: Callable[[float], str] = percent,
) -> Table:
    """A row per name and a column per model. `frame` has the columns name, model, value, low, high."""
    found = {(row.name, row.model): row for row in frame.itertuples(index=False)}
    rows = [[Cell(name), *(score_cell(found.get((name, model)), write) for model in models)] for name in names]
    return Table(caption, [words(first), *map(Column, models)], rows)
