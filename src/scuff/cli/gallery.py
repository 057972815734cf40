"""`scuff gallery`: pages that show everything."""

from __future__ import annotations

from pathlib import Path

import typer

from scuff.cli.options import Picture, Seed
from scuff.suites import list_suites, load_suite


def gallery_command(
    folder: Path = typer.Argument(..., metavar="DIR", help="Folder to write to; created if it is missing."),
    suite: str | None = typer.Option(None, help="Name of one suite, or a suite file. Default: all bundled suites."),
    image: Picture = None,
    seed: Seed = 0,
    large: bool = typer.Option(True, "--large/--no-large", help="Also pictures of 224 pixels, shown by a click."),
) -> None:
    """Write pages that explain and show every corruption.

    Each suite becomes DIR/SUITE.md, a Markdown page with the text, the parameters and a strip of pictures of every
    entry, and for entries with levels a plot of how far each severity is from the picture; the pictures are in
    DIR/SUITE/. A click on a strip shows it large, every pixel of it. For all suites, DIR/README.md lists them, and all
    corruptions by family. Files of the same names are replaced. The last line printed is the page to open first.

    \b
    Examples:
      scuff gallery gallery/                           all suites
      scuff gallery gallery/ --suite imagenet-c        one suite
      scuff gallery mine/ --suite my-suite.yaml --image holiday.jpg
    """
    suites = [load_suite(name) for name in (list_suites() if suite is None else [suite])]

    from scuff.cli.console import open_progress
    from scuff.gallery import write_index, write_suite
    from scuff.pictures import bundled_picture, read_picture

    picture = read_picture(image) if image is not None else bundled_picture()
    with open_progress() as progress:
        bar = progress.add_task("drawing", total=sum(len(s.entries) for s in suites))

        def advance(address: str) -> None:
            progress.update(bar, advance=1, description=f"{address:<40}")

        pages = [write_suite(folder, s, picture, seed, advance, large) for s in suites]
    typer.echo(pages[0] if suite is not None else write_index(folder, suites))
