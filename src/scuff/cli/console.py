"""Tables and progress bars that suit both a terminal and a pipe."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

TEXT_WIDTH = 100
PIPE_WIDTH = 1000  # a pipe has no width of its own, and 80 columns would cut tables


def open_console(stderr: bool = False) -> Console:
    """A console that takes every text literally."""
    console = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def open_progress() -> Progress:
    """A progress bar with the time left, on stderr, and only where somebody is watching."""
    console = open_console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
