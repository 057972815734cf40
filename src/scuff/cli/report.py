"""`scuff report`: a page about an evaluation or about any of the studies."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from scuff.cli.options import Baseline


def report_command(
    directory: Annotated[
        str, typer.Argument(metavar="DIR", help="The folder of an evaluation or a study; any fsspec path.")
    ],
    out: Annotated[
        str | None, typer.Option(metavar="FILE.html", help="The page's file. Default: report.html in DIR.")
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
    """Make one HTML page of an evaluation or a study; which of them DIR is, is found out.

    Of an evaluation: scores with intervals, heat maps, curves, comparisons, the worst images. Of an overlap study: the
    matrix of overlaps, categories, benchmarks without overlaps, coverage, balance. Of a study of MSCR: robustness with
    intervals, accuracies by training and test noise, what robustness costs, the separation of the classes; the last
    also of what scuff separation --out left. Of a study of scuff distance: how near augmentations come to corruptions,
    and whether that explains errors. Of scuff design dissimilar: the benchmark, and how it was found. Of a study of
    validity: whether synthetic benchmarks predict robustness to natural shifts, and which corruptions do. The page
    needs neither a network nor a server: open it, send it, print it.

    Every page has a section on progress: the runs, their cells, their failures. What is still running is shown as far
    as it is; of a study that has no results yet, progress is all. scuff progress shows the same in the terminal.

    \b
    Examples:
      scuff report runs/r50
      scuff report runs/both --baseline resnet50 --out both.html
      scuff report runs/noc --threshold 0.2
      scuff report runs/mscr
      scuff report runs/near
      scuff report runs/validity
    """
    from scuff.engine.journal import FOLDER as JOURNALS
    from scuff.evaluation.plan import SETTINGS as EVALUATION
    from scuff.report import (
        write_distance_report,
        write_overlap_report,
        write_progress_report,
        write_report,
        write_separation_report,
        write_validity_report,
    )
    from scuff.report.progress.build import Unfinished
    from scuff.report.transform_space.build import KINDS as TRANSFORM_SPACE
    from scuff.store import Store
    from scuff.studies.overlap.results import SETTINGS as OVERLAP
    from scuff.studies.separation.distances import SEPARATION
    from scuff.studies.separation.results import SETTINGS as MSCR
    from scuff.studies.validity.results import SETTINGS as VALIDITY

    store = Store(directory)
    studies = {
        OVERLAP: partial(write_overlap_report, threshold=threshold),
        MSCR: write_separation_report,
        SEPARATION: write_separation_report,
        VALIDITY: write_validity_report,
        **dict.fromkeys(TRANSFORM_SPACE, write_distance_report),
    }
    kind = next((name for name in (EVALUATION, *studies) if store.exists(name)), None)
    if kind is None and not store.names(JOURNALS, ".json"):
        *names, last = studies
        raise ValueError(
            f"{directory} is the folder of neither an evaluation nor a study: there is no {EVALUATION} in it, and "
            f"no {', '.join(names)} or {last}"
        )
    if kind != EVALUATION and (data is not None or overlap is not None):
        raise ValueError(
            f"--data and --overlap belong to the report of an evaluation; {directory} is the folder of a study "
            f"({kind or JOURNALS})"
        )
    options = {"baseline": baseline, "data": data, "overlap": overlap, "threshold": threshold}
    write = {None: write_progress_report, EVALUATION: partial(write_report, **options), **studies}[kind]
    try:
        path = write(directory, out, title=title)
    except Unfinished as unfinished:
        path = write_progress_report(directory, out, title=title)
        typer.echo(f"There are no results yet ({unfinished}); the page shows progress.")
    typer.echo(f"Report: {path}")
