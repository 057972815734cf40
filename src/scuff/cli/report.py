"""`scuff report`: a page about an evaluation or an overlap study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scuff.cli.options import Baseline


def report_command(
    directory: Annotated[
        str, typer.Argument(metavar="DIR", help="The folder of an evaluation or an overlap study; any fsspec path.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="The page's file. Default: report.html in DIR.")
    ] = None,
    baseline: Baseline = "alexnet",
    data: Annotated[
        str | None,
        typer.Option(metavar="SOURCE", help="Where the images are now, if not where they were evaluated from."),
    ] = None,
    overlap: Annotated[
        str | None, typer.Option(metavar="DIR", help="An overlap study whose sections go onto the same page.")
    ] = None,
    threshold: Annotated[
        float, typer.Option(metavar="SCORE", help="Of an overlap study: pairs of a benchmark overlap less than this.")
    ] = 0.1,
    title: Annotated[str | None, typer.Option(help="A title of your own.")] = None,
) -> None:
    """Make one HTML page of an evaluation or an overlap study; which of them DIR is, is found out.

    Of an evaluation: scores with intervals, heat maps, curves, comparisons, the worst images. Of an overlap study: the
    matrix of overlaps, categories, benchmarks without overlaps, coverage, balance. The page needs neither a network nor
    a server: open it, send it, print it. An evaluation that is still running is shown as far as it is.

    \b
    Examples:
      scuff report runs/r50
      scuff report runs/both --baseline resnet50 --out both.html
      scuff report runs/noc --threshold 0.2
    """
    from scuff.evaluation.plan import SETTINGS as EVALUATION
    from scuff.report import write_overlap_report, write_report
    from scuff.store import Store
    from scuff.studies.overlap import SETTINGS as OVERLAP

    store = Store(directory)
    if store.exists(EVALUATION):
        options = {"baseline": baseline, "data": data, "overlap": overlap}
        path = write_report(directory, out, **options, threshold=threshold, title=title)
    elif not store.exists(OVERLAP):
        raise ValueError(
            f"{directory} is the folder of neither an evaluation nor an overlap study: there is no {EVALUATION} in it, "
            f"and no {OVERLAP}"
        )
    elif data is not None or overlap is not None:
        raise ValueError(f"--data and --overlap belong to the report of an evaluation; {directory} is an overlap study")
    else:
        path = write_overlap_report(directory, out, threshold=threshold, title=title)
    typer.echo(f"Report: {path}")
