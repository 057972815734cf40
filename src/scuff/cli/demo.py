"""`scuff demo`: the main jobs from end to end, without data of your own."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

DATA, RECIPE = "fashion-32", "fashion"  # at the size that the suite was made for
SUITE = "cifar10-c"  # the suite for small images
TEST_IMAGES = 1000  # enough to see the differences, few enough for a minute
EVALUATED = (
    "gaussian_noise",
    "impulse_noise",
    "defocus_blur",
    "zoom_blur",
    "snow",
    "fog",
    "brightness",
    "contrast",
)  # of all four families
COMPARED = ("gaussian_noise", "shot_noise", "defocus_blur", "motion_blur", "fog", "contrast")  # three similar pairs


def demo_command(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Output folder.")] = Path("scuff-demo"),
    overlap: Annotated[
        bool, typer.Option("--overlap", help="Also measure how far corruptions overlap: a few minutes.")
    ] = False,
) -> None:
    """Train a small network, measure how robust it is, and write the report, in under a minute.

    Needs no data: a part of Fashion-MNIST comes with the package. The network is trained on clean images and evaluated
    on eight corruptions of CIFAR-10-C, each at five severities. With --overlap, six more networks are trained, one with
    each of six corruptions, and tested on all of them; the report then shows which corruptions overlap. Run it again,
    and existing results are reused. The last line printed is the name of the report.

    \b
    Examples:
      scuff demo --out out/demo
      scuff demo --out out/demo --overlap
    """
    from scuff.cli.jobs import resumable_job
    from scuff.cli.scores import print_scores
    from scuff.evaluation import plan_evaluation, read_evaluation, run_plan
    from scuff.report.write import read_page, write_page
    from scuff.studies import OverlapStudy
    from scuff.training import train

    model, rows, pairs = out / "small-cnn.safetensors", out / "evaluation", out / "overlap"
    with resumable_job() as advance:
        typer.echo("Training a small network on clean images.")
        train(DATA, RECIPE, model, progress=lambda done, total: advance("training", done, total))
        typer.echo(f"Evaluating it: clean, and on {len(EVALUATED)} corruptions of {SUITE} at five severities.")
        run_plan(
            plan_evaluation({"small-cnn": model}, SUITE, DATA, rows, only=EVALUATED, limit=TEST_IMAGES),
            progress=advance,
        )
        if overlap:
            typer.echo(f"Training seven networks: clean, and with {', '.join(COMPARED)}; testing each on all.")
            study = OverlapStudy(SUITE, DATA, pairs, recipe=RECIPE, only=COMPARED, limit=TEST_IMAGES)
            study.plan().run(advance)
    print_scores(read_evaluation(rows), baseline="none")
    page = read_page(str(rows), overlap=pairs if overlap else None)
    if not overlap:
        further = shlex.join(["scuff", "demo", "--out", str(out), "--overlap"])
        page = replace(page, verdicts=[*page.verdicts, ("Next", f"Which corruptions overlap? Run {further}.")])
        typer.echo(f"Which corruptions overlap? A few minutes more: {further}")
    report = write_page(page, str(rows), out / "report.html", title="A small network on eight corruptions")
    typer.echo(f"Report: {report}")
