"""`scuff demo`: the main jobs from end to end, without data of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SUITE = "cifar10-c"  # the suite for small images
IMAGES = 1000  # of the embedded test images: enough to see the differences, few enough for a minute
COMPARED = (
    "gaussian_noise",
    "shot_noise",
    "defocus_blur",
    "motion_blur",
    "fog",
    "contrast",
)  # three pairs that overlap


def demo_command(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write to.")] = Path("scuff-demo"),
) -> None:
    """Train small networks, measure how robust one is and how far corruptions overlap, and write the report.

    Needs no data: a part of Fashion-MNIST comes with the package. Seven networks are trained, one on clean images and
    one with each of six corruptions, and tested on all of them. The one trained on clean images is evaluated on
    CIFAR-10-C's corruptions, 75 cells. A few minutes on two processors; run it again and it goes on where it stopped.
    The last line printed is the name of the report.

    \b
    Example:
      scuff demo --out out/demo
    """
    from scuff.cli.jobs import resumable_job
    from scuff.cli.scores import print_scores
    from scuff.evaluation import plan_evaluation, read_evaluation, run_plan
    from scuff.report import write_report
    from scuff.studies import OverlapStudy

    study, rows = out / "overlap", out / "evaluation"
    plan = OverlapStudy(SUITE, "fashion", study, recipe="fashion", only=COMPARED, limit=IMAGES).plan()
    with resumable_job() as advance:
        typer.echo(f"Training seven small networks: clean, and with {', '.join(COMPARED)}; testing each on all.")
        plan.run(advance)
        typer.echo(f"Evaluating the first: clean, and on every corruption and severity of {SUITE}.")
        standard = plan.cells[0].out
        evaluation = plan_evaluation({"small-cnn": standard}, SUITE, "fashion", rows, limit=IMAGES)
        run_plan(evaluation, progress=advance)
    print_scores(read_evaluation(rows), baseline="none")
    report = write_report(rows, out / "report.html", title="The demo of scuff", overlap=study)
    typer.echo(f"Report: {report}")
