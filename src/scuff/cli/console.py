"""Tables and progress bars that suit both a terminal and a pipe."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer
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

from scuff.words import show_duration

if TYPE_CHECKING:
    from scuff.engine import Status
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


TASK_WIDTH = 40  # characters
SECONDS_BETWEEN_LINES = 60.0  # in a log; also before the first
SECONDS_BETWEEN_LOOKS = 0.5  # at the status of a run


class Display:
    """Called with what is being done, how much is done, and how much there is to do.

    While it watches a run of cells, it shows how many are done, running and failed, their speed, and the time left.
    """

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("starting", total=None)
        self._status: Callable[[], Status] | None = None
        self._several = ""  # description while several cells run at once
        self._pace = _Pace()
        self._looked = 0.0
        self._last_line = time.monotonic()

    def watch(self, status: Callable[[], Status] | None) -> None:
        """Show the status of a run from now on; None stops that."""
        self._status = status
        if status is None:
            self._several = ""
            self._bar.update(self._task, counts=None, left=None, then=None)

    def __call__(self, what: str, done: int, total: int) -> None:
        self._pace.note(done, total)
        if self._bar.disable:
            self._tell(what, done, total)
            return
        if self._status is not None and time.monotonic() - self._looked >= SECONDS_BETWEEN_LOOKS:
            self._looked = time.monotonic()
            self._look(self._status())
        shown = what if len(what) <= TASK_WIDTH else f"{what[: TASK_WIDTH - 3]}..."
        self._bar.update(self._task, description=self._several or f"{shown:<{TASK_WIDTH}}", completed=done, total=total)

    def _look(self, status: Status) -> None:
        """Counts, speed and time left of a run, beside its bar."""
        from scuff.engine.status import left_words, speed_words

        kind = status.current
        if kind is None:
            return
        failed = f", {kind.failed} failed" if kind.failed else ""
        self._several = f"{kind.name}: {kind.running} running{failed}" if status.workers > 1 else ""
        counts = f"{kind.there + kind.done}/{kind.total} cells{'' if self._several else failed}"
        left = left_words(status).removeprefix("about ").replace(" left", "").replace(" cells", "")
        is_known = status.seconds_left is not None
        self._bar.update(
            self._task,
            counts=" ".join(filter(None, (counts, speed_words(status).replace(" cells", "")))),
            left=left if is_known else None,
            then="" if is_known else left,
        )

    def _tell(self, what: str, done: int, total: int) -> None:
        """Write a line to the log, if the last was a minute ago."""
        if time.monotonic() - self._last_line < SECONDS_BETWEEN_LINES:
            return
        self._last_line = time.monotonic()
        typer.echo(self._line(what, done, total), err=True)

    def _line(self, what: str, done: int, total: int) -> str:
        left = self._pace.left()
        about = "" if left is None else f"; about {show_duration(left)} left"
        if self._status is None:
            return f"{what}: {done / total:.0%}{about}" if total else what
        from scuff.engine.status import describe

        status = self._status()
        return describe(status) + (about if status.seconds_left is None and len(status.then) == 1 else "")


class _Pace:
    """The pace of a job since it began."""

    def __init__(self) -> None:
        self._began, self._first, self._done, self._total = time.monotonic(), 0, 0, 0

    def note(self, done: int, total: int) -> None:
        """Note progress; another total, or less done than before, begins another job."""
        if total != self._total or done < self._done:
            self._began, self._first, self._total = time.monotonic(), done, total
        self._done = done

    def left(self) -> float | None:
        """Seconds left at the same pace; None before anything is done."""
        done = self._done - self._first
        return None if done <= 0 else (time.monotonic() - self._began) * (self._total - self._done) / done
