"""`scuff list`: which suites there are, and what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from scuff.suites import Suite, list_suites, load_suite
from scuff.suites.tables import count_entries, parameter_table

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
    if suite.aliases:
        console.print("Aliases: " + ", ".join(f"{alias} for {entry}" for alias, entry in suite.aliases.items()))
    if suite.reference:
        console.print(f"Reference: {suite.reference}")


def suites_table(suites: list[Suite]) -> Table:
    """One row per suite."""
    table = _plain_table()
    for heading, justify in (("suite", "left"), ("version", "right"), ("size", "right"), ("entries", "right")):
        table.add_column(heading, justify=justify, no_wrap=True)
    table.add_column("about")
    for suite in suites:
        table.add_row(suite.name, str(suite.version), str(suite.size), count_entries(suite), suite.about)
    table.caption = "entries: scored + not scored; size: image side in pixels that lengths are meant for"
    table.caption_justify = "left"
    return table


def suite_table(suite: Suite) -> Table:
    """One row per parameter of each corruption, one column per severity."""
    table = _plain_table()
    headings, rows = parameter_table(suite, suite.entries)
    if suite.categories:
        table.add_column("category", no_wrap=True)
    table.add_column("corruption", no_wrap=True)
    _add_values(table, headings)
    category = ""
    for entry in suite.entries:
        names = [f"{entry} (not scored)" if entry in suite.validation else entry]
        if suite.categories:
            names.insert(0, suite.category(entry) if suite.category(entry) != category else "")
            category = suite.category(entry)
        for row in rows[entry] or [["(none)"]]:
            table.add_row(*names, *row)
            names = [""] * len(names)  # said once
    return table


def entry_table(suite: Suite, entry: str) -> Table:
    """One row per parameter, one column per severity."""
    table = _plain_table()
    headings, rows = parameter_table(suite, [entry])
    _add_values(table, headings)
    for row in rows[entry] or [["(none)"]]:
        table.add_row(*row)
    return table


def _plain_table() -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, pad_edge=False)


def _add_values(table: Table, headings: list[str]) -> None:
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "parameter" else "right", no_wrap=True)
