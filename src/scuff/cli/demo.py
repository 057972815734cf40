"""`scuff demo`: see the package at work, without data of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scuff.suites import load_suite


def demo_command(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write to.")] = Path("scuff-demo"),
) -> None:
    """Draw every corruption of ImageNet-C at every severity.

    Needs no data: the picture comes with the package. The last line printed is the name of the sheet.

    \b
    Example:
      scuff demo --out out/demo
    """
    from scuff.cli.console import open_progress
    from scuff.cli.show import save_sheet
    from scuff.pictures import bundled_picture
    from scuff.sheets import corruption_sheet

    suite = load_suite("imagenet-c")
    path = out / f"{suite.name}.png"
    typer.echo(f"Corrupting the bundled picture by the {len(suite.entries)} corruptions of {suite.name}.")
    with open_progress() as progress:
        bar = progress.add_task("corrupting", total=len(suite.entries))

        def advance(entry: str) -> None:
            progress.update(bar, advance=1, description=f"{entry:<18}")

        sheet = corruption_sheet(suite, list(suite.entries), bundled_picture(), progress=advance)
    save_sheet(sheet, path)
    typer.echo(path)
