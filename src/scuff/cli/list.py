"""`scuff list`: which suites there are, and what is in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from scuff.ranges import Range
from scuff.suites import Suite, list_suites, load_suite

if TYPE_CHECKING:
    from rich.table import Table


def list_command(
    suite: Annotated[str | None, typer.Argument(help="A suite's name, or the path of a suite file (.yaml).")] = None,
) -> None:
    """List the suites, or the corruptions of one suite.

    A suite is a benchmark: a set of corruptions with their parameters, at every severity if it has levels. A range, as
    12 .. 120, is drawn by every image for itself.

    \b
    Examples:
      scuff list                  all suites
      scuff list imagenet-c       its corruptions and their parameters
      scuff list my-suite.yaml    the same for a suite of your own
    """
    from scuff.cli.console import open_console

    if suite is None:
        open_console().print(suites_table([load_suite(name) for name in list_suites()]))
    else:
        print_suite(load_suite(suite))


def print_suite(suite: Suite) -> None:
    """What it is about, its table, and where it comes from."""
    from scuff.cli.console import open_console

    console = open_console()
    console.print(f"{suite.name}, version {suite.version}{': ' if suite.about else ''}{suite.about}", style="bold")
    console.print(suite_table(suite))
    if suite.reference:
        console.print(f"Reference: {suite.reference}")


def suites_table(suites: list[Suite]) -> Table:
    """One row per suite."""
    table = _plain_table()
    for heading, justify in (("suite", "left"), ("version", "right"), ("size", "right"), ("entries", "right")):
        table.add_column(heading, justify=justify, no_wrap=True)
    table.add_column("about")
    for suite in suites:
        entries = f"{len(suite.benchmark())} + {len(suite.validation)}" if suite.validation else str(len(suite.entries))
        table.add_row(suite.name, str(suite.version), str(suite.size), entries, suite.about)
    table.caption = "entries: benchmark + validation; size: image side in pixels that lengths are meant for"
    table.caption_justify = "left"
    return table


def suite_table(suite: Suite) -> Table:
    """One row per parameter of each corruption, one column per severity."""
    table = _plain_table()
    table.add_column("corruption", no_wrap=True)
    _add_values(table, suite, suite.entries)
    for entry in suite.entries:
        name = f"{entry} (validation)" if entry in suite.validation else entry
        for row in _parameter_rows(suite, entry):
            table.add_row(name, *row)
            name = ""  # said once
    return table


def entry_table(suite: Suite, entry: str) -> Table:
    """One row per parameter, one column per severity."""
    table = _plain_table()
    _add_values(table, suite, [entry])
    for row in _parameter_rows(suite, entry):
        table.add_row(*row)
    return table


def _plain_table() -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, pad_edge=False)


def _add_values(table: Table, suite: Suite, entries: Iterable[str]) -> None:
    """One column per level, or one for the value where there are no levels."""
    table.add_column("parameter", no_wrap=True)
    levels = max((suite.levels(entry) for entry in entries), key=len)
    for level in levels:
        table.add_column("value" if level is None else str(level), justify="right", no_wrap=True)


def _parameter_rows(suite: Suite, entry: str) -> list[list[str]]:
    levels = [suite.parameters(entry, level) for level in suite.levels(entry)]
    return [[name, *(_text(level[name]) for level in levels)] for name in levels[0]] or [["(none)"]]


def _text(value: float | Range) -> str:
    return str(value) if isinstance(value, Range) else f"{value:g}"
