"""`scuff adapt`: a model on a stream, as it is and as methods of test-time adaptation change it."""

from __future__ import annotations

from typing import Any

import typer

from scuff.cli.study import study_command
from scuff.studies.adaptation import AdaptationStudy


@study_command(AdaptationStudy)
def adapt_command(plan: Any, rows: Any) -> None:
    """Run a model over a stream, as it is and with methods of test-time adaptation.

    The stream says what comes when: see scuff stream list. Each method passes through all of it, predicts every batch
    as it comes, and learns from it. Methods are short reference implementations of their papers, with the papers'
    settings for images like these; tent:rate=0.01 changes one. A method of your own is a class with two functions,
    adapt(images) and reset(): FILE.py:CLASS.

    Printed are the error as the mean over segments and over images, the error of the last 1000 images, negative flips
    (images that the model gets right as it came and wrong as it was adapted), and the position from which on a method
    is worse than none for 10 000 images.

    A run that is cut goes on from its last minute; methods may be added later. With --ratio 3 a method that takes three
    times as long as a prediction misses two batches of three, which the model then predicts as it is.

    \b
    Examples:
      scuff adapt net.safetensors --stream continual --data cifar10:data --methods tent,cotta --out runs/adapt
      scuff adapt torchvision:resnet50 --stream gradual --data folder:val --methods rdumb,mine.py:Mine --out runs/mine
      scuff adapt net.safetensors --stream continual:order=slots --data cifar10:data --methods bn,bn-prior,tent \\
        --out runs/correlated
    """
    from scuff.cli.console import print_table
    from scuff.metrics import adaptation_scores
    from scuff.report.adaptation import score_table

    print_table(score_table(adaptation_scores(rows)))
    typer.echo("In brackets: 95 % intervals, for these images and others like them.")
    typer.echo(f"In {plan.store.root}: rows/, scores.csv, errors.csv by segment, windows.csv over time, segments.csv")
