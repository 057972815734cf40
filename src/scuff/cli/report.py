"""`scuff report`: a page about an evaluation or about any of the studies."""

from __future__ import annotations

import typer


def report_command(
    directory: str = typer.Argument(
        ..., metavar="DIR", help="Folder of an evaluation or a study; any fsspec path. Or a CSV table."
    ),
    out: str | None = typer.Option(None, metavar="FILE.html", help="File to write. Default: report.html in DIR."),
    baseline: str | None = typer.Option(
        None,
        metavar="alexnet|MODEL|none",
        help="Reference of corruption errors: published, a model of DIR, or FOLDER:MODEL of another evaluation. "
        "Default: alexnet for evaluations, standard for overlap studies.",
    ),
    data: str | None = typer.Option(
        None, metavar="SOURCE", help="Evaluations: where the images are now, if they have moved."
    ),
    overlap: str | None = typer.Option(
        None, metavar="DIR", help="Evaluations: an overlap study whose sections go onto the same page."
    ),
    threshold: float | None = typer.Option(
        None, metavar="SCORE", help="Overlap studies: pairs of the proposed benchmark overlap less (default 0.1)."
    ),
    use: str | None = typer.Option(
        None, metavar="robustness|accuracy", help="Overlap studies: what overlaps compare (default robustness)."
    ),
    as_paper: bool | None = typer.Option(
        None, "--as-paper", help="Overlap studies: count training as help whatever the interval."
    ),
    title: str | None = typer.Option(None, help="Title of the page."),
) -> None:
    """Write one HTML page about an evaluation or a study, whichever DIR holds.

    \b
    What the page shows:
      scuff evaluate            scores with intervals, heat maps, curves, comparisons, the worst images
      scuff overlap             the matrix of overlaps, categories, benchmarks without overlaps, coverage, balance
      scuff mscr, separation    robustness and accuracy by training and test noise, how far apart classes are
      scuff distance            how near augmentations come to corruptions, and whether that explains errors
      scuff design dissimilar   the benchmark, and how it was found
      scuff validity            whether synthetic benchmarks predict robustness to natural shifts
      scuff survival            the severity at which a model first fails, by corruption
      scuff adapt               error over time of every method of test-time adaptation, and when one collapses
      scuff check               which claims hold, and the evidence

    Studies, and evaluations that are not finished, also show their progress: runs, cells, failures. A study that is
    still running is shown as far as it is; one without results gets a page about its progress only (scuff progress
    shows the same in the terminal). A CSV table of accuracies (trained_on, tested_on, accuracy, perhaps seed) gets the
    page of an overlap study, beside it. The page needs neither a network nor a server: open it, send it, print it.

    \b
    Examples:
      scuff report runs/r50
      scuff report runs/both --baseline resnet50 --out both.html
      scuff report runs/noc --threshold 0.2
      scuff report accuracies.csv --baseline alexnet --use accuracy
      scuff report runs/mscr
      scuff report runs/validity
    """
    from scuff.report.write import read_page, write_page

    options = {"baseline": baseline, "data": data, "overlap": overlap, "threshold": threshold}
    options |= {"use": use, "as_paper": as_paper}
    page = read_page(directory, **{name: value for name, value in options.items() if value is not None})
    if page.note:
        typer.echo(f"{page.note}; the page shows progress.")
    typer.echo(f"Report: {write_page(page, directory, out, title=title)}")
