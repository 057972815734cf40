"""`scuff report`: a page about an evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scuff.cli.options import Baseline


def report_command(
    directory: Annotated[str, typer.Argument(metavar="DIR", help="The folder of an evaluation; any fsspec path.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="The page's file. Default: report.html in DIR.")
    ] = None,
    baseline: Baseline = "alexnet",
    data: Annotated[
        str | None,
        typer.Option(metavar="SOURCE", help="Where the images are now, if not where they were evaluated from."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="A title of your own.")] = None,
) -> None:
    """Make one HTML page of an evaluation: scores with intervals, heat maps, curves, comparisons, the worst images.

    The page needs neither a network nor a server: open it, send it, print it. An evaluation that is still running is
    shown as far as it is.

    \b
    Examples:
      scuff report runs/r50
      scuff report runs/both --baseline resnet50 --out both.html
    """
    from scuff.report import write_report

    path = write_report(directory, out, baseline=baseline, data=data, title=title)
    typer.echo(f"Report: {path}")
