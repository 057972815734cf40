"""`scuff progress`: the progress of a study, from what its runs have written into its folder."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from scuff.engine import Status

SECONDS_BETWEEN_LOOKS = 5.0  # runs write as often


def progress_command(
    directory: str = typer.Argument(
        ..., metavar="DIR", help="Folder of an evaluation, a study or an export; any fsspec path."
    ),
    watch: bool = typer.Option(False, "--watch", help="Refresh every few seconds, until the run ends."),
) -> None:
    """Show the progress of the last run in a folder: cells by kind, speed, time left, failures.

    Every run writes its progress into DIR every few seconds, so this works on any machine that sees the folder, and
    does not disturb the run. A run that has been silent for a minute and a half was probably killed.

    \b
    Examples:
      scuff progress runs/noc
      scuff progress s3://bucket/noc --watch

    \b
    Exit codes:
      0  the last run is running or finished
      1  it has failures, was stopped, interrupted, or probably killed
      2  there is no run in that folder
    """
    from scuff.cli.console import open_console
    from scuff.engine import read_statuses
    from scuff.store import Store

    store, console = Store(directory), open_console()
    while True:
        statuses = read_statuses(store)
        if not statuses:
            raise ValueError(f"nothing has been run in {directory}: there is no file in {directory}/progress")
        if watch and console.is_terminal:
            console.clear()
        _show(console, statuses)
        if not watch or statuses[-1].state != "running":
            break
        time.sleep(SECONDS_BETWEEN_LOOKS)
    if statuses[-1].state not in ("running", "finished"):
        raise typer.Exit(1)


def _show(console: Console, statuses: list[Status]) -> None:
    """The last run, and how many there were before."""
    from scuff.report.progress.progress import kinds_table, show_time, state_words

    last = statuses[-1]
    before = f"; {len(statuses) - 1} before it" if len(statuses) > 1 else ""
    console.print(f"{last.title or 'run'}, begun {show_time(last.started)}{before}")
    console.print(state_words(last))
    console.print(kinds_table(last).to_terminal())
    for failure in last.failures:
        place = f", on {failure['where']}" if failure["where"] else ""
        console.print(f"failed: {failure['kind']} {failure['cell']}: {failure['reason']}{place}")
