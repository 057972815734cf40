"""`scuff train`: fit a classifier."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from scuff.cli.options import Classes, Device, Recipe, words


def train_command(
    data: Annotated[
        str,
        typer.Option(
            "--data", metavar="DATA", help="Training images: fashion, cifar10:DIR, folder:DIR, npz:FILE, hf:DIR."
        ),
    ],
    out: Annotated[
        str, typer.Option(metavar="FILE.safetensors", help="The file for the weights, or an address: s3://bucket/file.")
    ],
    recipe: Recipe,
    corruption: Annotated[
        str | None,
        typer.Option(
            metavar="SUITE/NAME,...",
            help="Corrupt half of every batch by this; of several, every image draws one. Severities are drawn too.",
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option("--suite", metavar="SUITE", help="Corrupt half of every batch, by any corruption of this suite."),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(metavar="RADIUS", help="Add uniform noise of up to this to every pixel, of 0..1, in every epoch."),
    ] = None,
    augment: Annotated[
        str | None,
        typer.Option(
            metavar="SCHEME", help="Augment every image: augmix, augmix-jsd, autoaugment, patch-gaussian, ant, ..."
        ),
    ] = None,
    architecture: Annotated[str | None, typer.Option(help="A network instead of the recipe's.")] = None,
    epochs: Annotated[int | None, typer.Option(metavar="N", help="Epochs instead of the recipe's.")] = None,
    start: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Go on from these weights, at a lower learning rate: fine-tuning."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides over first weights, order and draws.")] = 0,
    classes: Classes = None,
    test: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="Test images. Default: the test split of --data, where it has one."),
    ] = None,
    device: Device = None,
    nproc: Annotated[
        int | None,
        typer.Option(
            "--nproc",
            metavar="N",
            help="Train one network with N processes on this machine, each with a GPU of its own.",
        ),
    ] = None,
) -> None:
    """Train a classifier, on clean images or with a corruption, noise or an augmentation scheme.

    Images stay on the device as one tensor; flips, crops and corruptions happen there. The file can be evaluated at
    once. Interrupt it whenever you like: the same command goes on where it was last saved, at most a minute before.

    With --nproc 8 eight processes share the images and every batch (see docs/training.md). On several machines, run the
    same command by torchrun: torchrun --nnodes 2 --nproc-per-node 8 ... -m scuff train ...

    \b
    Recipes:
      fashion             a small network in seconds on a processor, for small images
      cifar-fast          ResNet-18 on CIFAR-10 in seconds on a GPU, 93 %
      cifar               ResNet-18 on CIFAR-10, 200 epochs
      cifar-augmentation  WideResNet-40-2 on CIFAR-10, as in the paper on augmentations and corruptions
      imagenet-100        ResNet-18 on a hundred classes of ImageNet, as in the paper on non-overlapping corruptions
      cifar-separation    WideResNet-28-10 on CIFAR-10, as in the paper on class separation

    \b
    Schemes (docs/augmentations.md has all of them, and their options):
      augmix, augmix-jsd (with its consistency loss), autoaugment, autoaugment:imagenet, randaugment:count=3,level=4,
      patch-gaussian, gaussian:0.1, uniform:0.1, ant, powerset:rotate+shear_x (AugMix of these operations only)

    \b
    Examples:
      scuff train --data fashion --recipe fashion --out standard.safetensors
      scuff train --data cifar10:data --recipe cifar-fast --corruption noc-candidates/rain --out rain.safetensors
      scuff train --data cifar10:data --recipe cifar-fast --noise 0.1 --out noisy.safetensors
      scuff train --data cifar10:data --recipe cifar-augmentation --augment augmix-jsd --out augmix.safetensors
      scuff train --data cifar10:data --recipe cifar-fast --suite cifar10-c --out c.safetensors --start rain.safetensors
      scuff train --data folder:train --test folder:val --classes imagenet-100 --recipe imagenet-100 --out n.safetensors
      scuff train --data folder:train --test folder:val --recipe imagenet-100 --nproc 8 --out n.safetensors
    """
    from scuff.cli.team import started_processes, training_job

    if started_processes(nproc, device, sys.argv[1:]):
        return
    from scuff.training import train
    from scuff.training.distributed import find_team, leave

    team = find_team()
    with training_job(team.rank) as advance:
        path = train(
            data,
            recipe,
            out,
            corruption=words(corruption),
            suite=suite,
            noise=noise,
            augment=augment,
            architecture=architecture,
            epochs=epochs,
            start=start,
            seed=seed,
            classes=classes,
            device=device,
            progress=lambda done, total: advance("training", done, total),
        )
    if team.size > 1:
        leave()
    if not team.is_first:
        return
    typer.echo(f"Weights: {path}")
    _test(path, data, test, classes, device)


def _test(path: Path | str, data: str, test: str | None, classes: str | None, device: str | None) -> None:
    """Print the accuracy on test images, if there are any."""
    from scuff.data.open import forms
    from scuff.evaluation import evaluate
    from scuff.metrics import accuracy

    if test is None and not forms()[data.partition(":")[0]].has_splits:
        return
    score = accuracy(evaluate(path, None, test or data, classes=classes, device=device))
    typer.echo(f"Accuracy on test images: {100 * score.value:.2f} % [{100 * score.low:.2f}, {100 * score.high:.2f}]")
