"""Tables: records and a list of columns in, a page of HTML or a terminal out.

A table is a frame (or any list of mappings or objects) and what to show of each record:

>>> models = [{"model": "a", "mce": 76.7, "mce_low": 76.3, "mce_high": 77.1}, {"model": "b", "mce": 80.25, "n": 9}]
>>> table = Table.of("Scores", models[:1], [Column("model", "model"), Column("mCE %", "mce", plain, interval=True)])
>>> [cell.text for cell in table.rows[0]], table.rows[0][1].interval
(['a', '76.7'], '76.3 to 77.1')

A column without a form is text; one with a form (`scuff.words`: percent, plain, hundredths, fine, p_value, grouped) is
a number. What it shows is a key or attribute of the record, or a function of it, which may return a `Score` (shown
with its interval), None (nothing), or a `Cell` (shown as it is). `Table.pivot` has a row and a column per value of two
keys. The page shows a table by `parts.table(table)`, the terminal by `scuff.cli.console.print_table(table)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

from scuff.words import NOTHING, Form, interval, plain, sharp  # noqa: F401  (plain: the example above)

if TYPE_CHECKING:
    from rich.table import Table as TerminalTable

    Records = Iterable[Any]  # a frame, or mappings or objects

TYPED = str.maketrans({"\u2212": "-", "\u00a0": " ", NOTHING: "-"})  # what a terminal shows can be pasted anywhere


@dataclass(frozen=True)
class Cell:
    """What a table shows, the number that it is sorted by, and whether it is the best of its column."""

    text: str
    value: float = math.nan
    interval: str = ""
    best: bool = False
    is_text: bool = False

    def typed(self, mark: str = "") -> str:
        """The cell in a terminal, its interval in brackets; `mark` follows the best."""
        ends = f" [{self.interval.replace(' to ', ', ')}]" if self.interval else ""
        return f"{self.text}{ends}".translate(TYPED) + (mark if self.best else " " * len(mark))


EMPTY = Cell(NOTHING)


@dataclass(frozen=True)
class Head:
    """The head of a column; `order` is how the table is sorted by it at first, in the words of aria-sort."""

    name: str
    order: str = "none"
    is_number: bool = True


@dataclass(frozen=True)
class Column:
    """What a column shows of every record.

    heading
        Its head.
    value
        The key or attribute of a record, or a function of it.
    form
        How a number is written; None for text.
    interval
        The ends of the interval are those of the record: `mce_low` and `mce_high` beside `mce`, or else `low`, `high`.
    best
        Which value is marked, if there are several rows.
    """

    heading: str
    value: str | Callable[[Any], Any]
    form: Form | None = None
    interval: bool = False
    best: Literal["", "lowest", "highest"] = ""

    @property
    def head(self) -> Head:
        return Head(self.heading, is_number=self.form is not None)

    def cell(self, record: Any) -> Cell:
        """What it shows of a record."""
        value = self.value(record) if callable(self.value) else _read(record, self.value)
        if isinstance(value, Cell):
            return value
        if value is None or self.form is None:
            return Cell(NOTHING if value is None else str(value), is_text=self.form is None)
        if hasattr(value, "low"):  # a score
            return _number_cell(self.form, value.value, value.low, value.high)
        if self.interval:
            named = (
                f"{self.value}_low" in record if isinstance(record, Mapping) else hasattr(record, f"{self.value}_low")
            )
            before = f"{self.value}_" if named else ""
            return _number_cell(self.form, value, _read(record, f"{before}low"), _read(record, f"{before}high"))
        return Cell(self.form(value), value if isinstance(value, Real) else math.nan)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Table:
    """A caption, the heads of columns, and rows of cells; the first of each row is its name."""

    caption: str
    columns: Sequence[Head]
    rows: Sequence[Sequence[Cell]]

    @classmethod
    def of(
        cls,
        caption: str,
        records: Records,
        columns: Sequence[Column | None],
        *,
        sort: str | None = None,
        best_within: str | None = None,
    ) -> Table:
        """A row per record. Columns that are None are left out, so that they can depend on what is known.

        `sort` is the heading of the column by which rows are sorted, ascending. The best is marked among all rows, or
        among those that have the same value of the key `best_within`.
        """
        given = [column for column in columns if column is not None]
        known = _records(records)
        rows = [[column.cell(record) for column in given] for record in known]
        groups: dict[Any, list[int]] = {}
        for place, record in enumerate(known):
            groups.setdefault(None if best_within is None else _read(record, best_within), []).append(place)
        for places in groups.values():
            marked = mark_best([rows[place] for place in places], [column.best for column in given])
            for place, row in zip(places, marked, strict=True):
                rows[place] = row
        table = cls(caption, [column.head for column in given], rows)
        return table if sort is None else table.sorted_by(sort)

    @classmethod
    def pivot(
        cls,
        caption: str,
        records: Records,
        down: str,
        across: str,
        column: Column,
        *,
        names: Sequence[Any] | None = None,
        heads: Sequence[Any] | None = None,
        name: Callable[[Any], str] = str,
    ) -> Table:
        """A row per value of the key `down`, and a column per value of `across`; what is not known stays empty.

        `column` says what stands where they meet, and its heading is that of the rows. `names` and `heads` are the
        values in the order of rows and columns, by default that of the records; `name` writes those of rows.
        """
        known = {(_read(record, down), _read(record, across)): record for record in _records(records)}
        names = list(dict.fromkeys(key[0] for key in known)) if names is None else names
        heads = list(dict.fromkeys(key[1] for key in known)) if heads is None else heads
        rows = [
            [Cell(name(key)), *(column.cell(known[key, head]) if (key, head) in known else EMPTY for head in heads)]
            for key in names
        ]
        columns = [Head(column.heading, is_number=False), *(Head(str(head)) for head in heads)]
        return cls(caption, columns, mark_best(rows, ["", *(column.best for _ in heads)]))

    @classmethod
    def of_texts(cls, headings: Sequence[str], rows: Iterable[Sequence[str]], texts: Collection[int] = (0,)) -> Table:
        """Rows of words that are written already; short ones are filled up. Columns at the places `texts` are text."""
        columns = [Head(heading, is_number=place not in texts) for place, heading in enumerate(headings)]
        filled = [[*row, *([""] * (len(headings) - len(row)))] for row in rows]
        return cls("", columns, [[Cell(word, is_text=k in texts) for k, word in enumerate(row)] for row in filled])

    def sorted_by(self, heading: str) -> Table:
        """The table with its rows in ascending order of a column, which says so; rows without a number come last."""
        place = [head.name for head in self.columns].index(heading)
        rows = sorted(self.rows, key=lambda row: (math.isnan(row[place].value), row[place].value))
        columns = [replace(head, order="ascending" if k == place else "none") for k, head in enumerate(self.columns)]
        return replace(self, columns=columns, rows=rows)

    def turned(self) -> Table:
        """The table with a column per row, for few records that have many columns."""
        columns = [replace(self.columns[0], name=""), *(Head(row[0].text) for row in self.rows)]
        rows = [[Cell(head.name), *(row[k] for row in self.rows)] for k, head in enumerate(self.columns) if k]
        return Table(self.caption, columns, rows)

    def to_terminal(self, mark: str = "") -> TerminalTable:
        """What rich prints; `mark` follows the best numbers."""
        from rich import box
        from rich.table import Table as TerminalTable

        table = TerminalTable(box=box.SIMPLE_HEAD, pad_edge=False)
        for place, head in enumerate(self.columns):
            side: Literal["left", "right"] = "right" if head.is_number else "left"
            table.add_column(head.name, justify=side, no_wrap=place == 0, overflow="fold" if place else "ellipsis")
        for row in self.rows:
            table.add_row(
                *(cell.typed(mark if head.is_number else "") for head, cell in zip(self.columns, row, strict=True))
            )
        return table


def mark_best(rows: Sequence[Sequence[Cell]], best: Sequence[str]) -> list[list[Cell]]:
    """The same rows with the lowest or highest value of each column marked, as `best` says of every column.

    All cells that read the same as the best are marked: a difference that is not shown is no reason to prefer one.
    """
    marked = [list(row) for row in rows]
    for column, which in enumerate(best):
        values = {row[column].value: row[column].text for row in rows if not math.isnan(row[column].value)}
        if which and values and len(rows) > 1:
            text = values[min(values) if which == "lowest" else max(values)]
            for row in marked:
                row[column] = replace(row[column], best=row[column].text == text)
    return marked


def _number_cell(form: Form, value: float, low: float, high: float) -> Cell:
    """A number with its interval, and with as many digits as that deserves."""
    form = sharp(form, low, high)
    return Cell(form(value), value, interval(low, high, form))


def _records(records: Any) -> list[Any]:
    return records.to_dict("records") if hasattr(records, "to_dict") else list(records)


def _read(record: Any, key: str) -> Any:
    return record[key] if isinstance(record, Mapping) else getattr(record, key)
