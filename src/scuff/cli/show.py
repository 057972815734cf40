"""`scuff show`: read about a corruption, and see it."""

from __future__ import annotations

from pathlib import Path

import typer

from scuff.cli.options import Picture, Seed
from scuff.suites import Suite, SuiteError, is_bundled, list_suites, load_suite
from scuff.suites.tables import lengths_rule, parameter_table, severity_rule
from scuff.tables import Table


def show_command(
    name: str = typer.Argument(..., help="suite/entry, as in imagenet-c/fog, or a suite, as in imagenet-c."),
    out: Path | None = typer.Option(None, metavar="FILE.png", help="File to write. Default: NAME.png, with - for /."),
    image: Picture = None,
    seed: Seed = 0,
) -> None:
    """Explain a corruption, and draw it at every severity.

    For suite/entry: what it models, its parameters at every severity, and a row of pictures: one per level, or across
    the range of severities, or several draws, or frames of a sequence. For a suite: its table, and one row of pictures
    per corruption. The pictures are written to a PNG file.

    \b
    Examples:
      scuff show imagenet-c/fog
      scuff show cifar10-c --out cifar.png
      scuff show imagenet-c/snow --image holiday.jpg --seed 3
    """
    suite, entry = find(name)
    if out is None:
        out = Path(f"{suite.name}-{entry}.png" if entry else f"{suite.name}.png")
    if out.suffix.lower() != ".png":
        raise ValueError(f"--out must end in .png, got {out}")

    from scuff.cli.console import open_progress
    from scuff.cli.list import print_suite
    from scuff.files import write_by_rename
    from scuff.pictures import bundled_picture, read_picture
    from scuff.sheets import corruption_sheet

    picture = read_picture(image) if image is not None else bundled_picture()
    if entry:
        _explain(suite, entry)
    else:
        print_suite(suite)
    entries = [entry] if entry else list(suite.entries)
    with open_progress() as progress:
        bar = progress.add_task("drawing", total=len(entries))
        sheet = corruption_sheet(suite, entries, picture, seed, lambda _: progress.advance(bar))
    with write_by_rename(out) as file:
        sheet.save(file, "PNG")
    typer.echo(f"Pictures: {out}")


def find(name: str) -> tuple[Suite, str | None]:
    """The suite and entry of "suite/entry" or "suite"; the suite may be a file, or be left out if only one fits."""
    if is_bundled(name) or name.endswith((".yaml", ".yml")):
        return load_suite(name), None
    prefix, slash, entry = name.rpartition("/")
    if slash:
        suite = load_suite(prefix)
        return suite, suite.find(entry)
    known = [(suite, entry) for suite in map(load_suite, list_suites()) for entry in _entries_called(suite, name)]
    if len(known) > 1:
        addresses = ", ".join(f"{suite.name}/{entry}" for suite, entry in known)
        raise SuiteError(f"{name!r} is in several suites; which one? {addresses}")
    return known[0] if known else (load_suite(name), None)


def _entries_called(suite: Suite, name: str) -> list[str]:
    """The entries of that name or alias, or that apply the corruption of that name."""
    named = suite.aliases.get(name, name)
    return [entry for entry in suite.entries if named == entry or name == suite.corruption(entry)]


def _explain(suite: Suite, entry: str) -> None:
    from scuff.cli.console import TEXT_WIDTH, open_console, print_table
    from scuff.cli.list import NO_PARAMETERS
    from scuff.corruptions import get

    corruption = get(suite.corruption(entry))
    console = open_console()
    facts = [f"family: {corruption.family}"]
    if suite.category(entry):
        facts.append(f"category: {suite.category(entry)}")
    if corruption.name != entry:
        facts.append(f"corruption: {corruption.name}")
    if entry in suite.validation:
        facts.append("not scored")
    console.print(f"{suite.name}/{entry}  ({', '.join(facts)})", style="bold")
    for paragraph in corruption.text.split("\n\n"):
        console.print("\n" + " ".join(paragraph.split()), width=min(TEXT_WIDTH, console.width))
    console.print()
    headings, rows_of = parameter_table(suite, [entry])
    print_table(Table.of_texts(headings, rows_of[entry] or [NO_PARAMETERS]))
    console.print(f"Severity: {severity_rule(suite, entry, corruption.sequence)}")
    if corruption.lengths:
        console.print(f"{lengths_rule(suite, entry)}: {', '.join(corruption.lengths)}")
    if corruption.reference:
        console.print(f"Reference: {corruption.reference}")
