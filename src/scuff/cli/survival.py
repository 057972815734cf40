"""`scuff survival`: how severe a corruption may become before a model fails."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from scuff.cli.study import study_command
from scuff.studies.survival import SurvivalStudy

CompareTo = Annotated[
    str | None, typer.Option("--compare-to", metavar="DIR", help="Folder of another model on the same images.")
]


@study_command(SurvivalStudy)
def survival_command(plan: Any, rows: Any, *, compare_to: CompareTo = None) -> None:
    """Find the severity at which a model first fails, for every image.

    Severity is a real number here: 0 is the image itself, 1 to 5 are the levels, and everything between them is a
    milder or stronger version of the same scene. The model sees all images at every level, and then the step in which
    each image fails is halved four times. That takes at most nine passes over the images for each corruption, and finds
    the first failure to a sixteenth of a level.

    Printed are the median, up to which half of the images are recognised; the area below the curve of survivors, 0 to
    1, which is how far the average image gets; and the share of failures that are recognised again at a later level.

    \b
    Examples:
      scuff survival torchvision:resnet50 --suite imagenet-c --data folder:val --only fog,snow --out runs/fails
      scuff survival net.safetensors --suite cifar10-c --data cifar10:data --limit 1000 --out runs/new \\
        --compare-to runs/old
    """
    from scuff.cli.console import print_table
    from scuff.metrics import survival_differences, survival_scores
    from scuff.report.survival import difference_table, score_table
    from scuff.studies.survival import read_other

    print_table(score_table(survival_scores(rows)))
    typer.echo("In brackets: 95 % intervals, for these images and others like them.")
    if compare_to is not None:
        print_table(difference_table(survival_differences(rows, read_other(compare_to, plan.settings)), compare_to))
    typer.echo(f"Rows: {plan.store.root}/rows; scores: {plan.store.root}/scores.csv")
