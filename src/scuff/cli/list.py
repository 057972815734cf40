"""`scuff list`: which suites there are, and what is in them."""

from __future__ import annotations

import typer

from scuff.plugins import own_parts
from scuff.suites import Suite, is_bundled, list_suites, load_suite
from scuff.suites.catalogue import WALKS
from scuff.suites.tables import count_entries, parameter_table
from scuff.tables import Column, Table

NO_PARAMETERS = ["(none)"]


def list_command(
    suite: str | None = typer.Argument(None, help="Name of a suite, or path of a suite file (.yaml)."),
) -> None:
    """List the suites, or the corruptions of one suite.

    A suite is a benchmark: a set of corruptions with their parameters, at every severity if it has levels. A range, as
    12 .. 120, is drawn separately for every image.

    \b
    Examples:
      scuff list                  all suites
      scuff list imagenet-c       its corruptions and their parameters
      scuff list my-suite.yaml    the same for a suite of your own
    """
    if suite is not None:
        opened = load_suite(suite)
        if not is_bundled(suite):
            check_entries(opened)
        print_suite(opened)
        return
    from scuff.cli.console import print_table

    columns = [
        Column("suite", "name"),
        Column("version", "version", str),
        Column("size", "size", str),
        Column("entries", count_entries, str),
        Column("about", "about"),
    ]
    print_table(Table.of("", [load_suite(name) for name in list_suites()], columns))
    typer.echo(f"for streams, with levels of a quarter severity: {', '.join(WALKS)}")
    for kind, parts in own_parts().items():
        plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
        typer.echo(f"{plural} of plug-ins: {', '.join(f'{name} ({module})' for name, module in parts.items())}")
    typer.echo("entries: scored + not scored; size: image side in pixels that lengths are meant for")


def check_entries(suite: Suite) -> None:
    """Refuse a suite of one's own that names corruptions or parameters which do not exist."""
    from scuff.door import resolve

    for entry in suite.entries:
        for severity in suite.levels(entry):
            try:
                resolve(entry, severity, suite=suite)
            except (ValueError, KeyError) as error:
                raise ValueError(f"{suite.name}/{entry}: {error.args[0]}") from error


def print_suite(suite: Suite) -> None:
    """What it is about, its table, and where it comes from."""
    from scuff.cli.console import open_console, print_table

    console = open_console()
    console.print(f"{suite.name}, version {suite.version}{': ' if suite.about else ''}{suite.about}", style="bold")
    print_table(suite_table(suite))
    if suite.aliases:
        console.print("Aliases: " + ", ".join(f"{alias} for {entry}" for alias, entry in suite.aliases.items()))
    if suite.reference:
        console.print(f"Reference: {suite.reference}")


def suite_table(suite: Suite) -> Table:
    """One row per parameter of each corruption, one column per severity."""
    headings, rows_of = parameter_table(suite, suite.entries)
    has_categories = bool(suite.categories)
    rows, last = [], ""
    for entry in suite.entries:
        category = suite.category(entry)
        names = [category if category != last else ""] if has_categories else []
        names.append(f"{entry} (not scored)" if entry in suite.validation else entry)
        for row in rows_of[entry] or [NO_PARAMETERS]:
            rows.append([*names, *row])
            names = [""] * len(names)  # said once
        last = category
    before = ["category", "corruption"] if has_categories else ["corruption"]
    return Table.of_texts([*before, *headings], rows, range(len(before) + 1))
