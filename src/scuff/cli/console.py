"""Tables and progress bars that suit both a terminal and a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

if TYPE_CHECKING:
    from scuff.tables import Table

TEXT_WIDTH = 100
PIPE_WIDTH = 1000  # a pipe has no width, and 80 columns would cut tables


def open_console(stderr: bool = False) -> Console:
    """A console that takes every text literally."""
    console = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def print_table(table: Table, mark: str = "") -> None:
    """Print a table below its caption, if it has one; `mark` follows the best numbers."""
    console = open_console()
    if table.caption:
        console.print(table.caption)
    console.print(table.to_terminal(mark))


def open_progress() -> Progress:
    """A progress bar with the time left, on stderr, shown only in a terminal."""
    console = open_console(stderr=True)
    return _Bar(
        TextColumn("{task.description}", table_column=Column(no_wrap=True)),
        BarColumn(bar_width=30),
        _Counts(table_column=Column(no_wrap=True)),
        TimeElapsedColumn(table_column=Column(no_wrap=True)),
        TextColumn("left:"),
        _Left(table_column=Column(no_wrap=True)),
        console=console,
        disable=not console.is_terminal,
    )


class _Bar(Progress):
    """Writes nothing at all where it is not shown; before version 14.1, rich ends with an empty line."""

    def stop(self) -> None:
        if not self.disable:
            super().stop()


class _Counts(MofNCompleteColumn):
    """The text of the field `counts`, or how much is done of how much."""

    def render(self, task: Task) -> Text:
        words = task.fields.get("counts")
        return super().render(task) if words is None else Text(words)


class _Left(TimeRemainingColumn):
    """The text of the field `left`, or the time left at the same pace; and what comes `then`."""

    def render(self, task: Task) -> Text:
        words = task.fields.get("left")
        time = super().render(task) if words is None else Text(words)
        then = task.fields.get("then")
        return Text.assemble(time, f", {then}") if then else time
