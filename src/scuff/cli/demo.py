"""`scuff demo`: the main job from end to end, without data of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SUITE = "cifar10-c"  # the suite for small images
IMAGES = 1000  # of the embedded test images: enough to see the differences, few enough for a minute
EPOCHS = 3


def demo_command(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write to.")] = Path("scuff-demo"),
) -> None:
    """Train a small network, measure how robust it is, and write the report.

    Needs no data: a part of Fashion-MNIST comes with the package. The network is evaluated on clean images and on the
    75 cells of CIFAR-10-C's corruptions. About a minute on two processors; run it again and it goes on where it
    stopped. The last line printed is the name of the report.

    \b
    Example:
      scuff demo --out out/demo
    """
    from scuff.cli.console import open_progress
    from scuff.cli.scores import print_scores
    from scuff.evaluation import plan_evaluation, read_evaluation, run_plan
    from scuff.report import write_report

    weights, rows = out / "small-cnn.safetensors", out / "evaluation"
    with open_progress() as progress:
        bar = progress.add_task("starting", total=None)

        def advance(what: str, done: int, total: int) -> None:
            progress.update(bar, description=f"{what:<20}", completed=done, total=total)

        if not weights.exists():
            typer.echo("Training a small network on the embedded part of Fashion-MNIST.")
            train(weights, lambda done, total: advance("training", done, total))
        typer.echo(f"Evaluating it: clean, and on every corruption and severity of {SUITE}.")
        plan = plan_evaluation(str(weights), SUITE, "fashion", rows, limit=IMAGES)
        run_plan(plan, progress=advance)
    print_scores(read_evaluation(rows), baseline="none")
    typer.echo(f"Report: {write_report(rows, out / 'report.html', title='The demo of scuff')}")


def train(path: Path, progress) -> None:
    """Train the small network on the embedded training images, and save it with its normalisation and class names."""
    import torch

    from scuff.data import open_source
    from scuff.models import build, save_model
    from scuff.training import fit

    source = open_source("fashion", split="train")
    images, labels = source.read(range(len(source))), torch.from_numpy(source.labels)
    pixels = images.float() / 255
    mean, std = pixels.mean().item(), pixels.std().item()
    with torch.random.fork_rng():  # the first weights are the same on every run, and nobody else's generator moves
        torch.manual_seed(0)
        network = build("small_cnn", classes=len(source.class_names), channels=1)
    network = fit(network, images, labels, mean=mean, std=std, epochs=EPOCHS, progress=progress)
    save_model(network, path, architecture="small_cnn", mean=(mean,), std=(std,), class_names=source.class_names)
