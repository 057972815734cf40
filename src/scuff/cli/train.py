"""`scuff train`: fit a classifier."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from scuff.cli.options import DryRun
from scuff.cli.study import options_command
from scuff.training.options import TrainingOptions

ALSO_OF_TESTS = ("classes", "device", "skip_unreadable")

TestImages = Annotated[
    str | None,
    typer.Option(metavar="DATA", help="Test images. Default: the test split of --data, if it has one."),
]
Nproc = Annotated[
    int | None,
    typer.Option(metavar="N", help="Train one network with N processes on this machine, one GPU each."),
]


@options_command(TrainingOptions)
def train_command(
    options: dict[str, Any], *, test: TestImages = None, nproc: Nproc = None, dry_run: DryRun = False
) -> None:
    """Train a classifier, on clean images or with a corruption, noise or an augmentation scheme.

    Images stay on the device as one tensor; flips, crops and corruptions happen there. Pictures that do not fit into
    memory, or that a recipe crops at random, are decoded on the way instead (see docs/imagenet.md). The file can be
    evaluated at once. Interrupt it whenever you like: the same command resumes from the last checkpoint, at most a
    minute before.

    With --nproc 8 eight processes share the images and every batch (see docs/training.md). On several machines, run the
    same command by torchrun: torchrun --nnodes 2 --nproc-per-node 8 ... -m scuff train ...

    \b
    Recipes:
      fashion             a small network in seconds on a processor, for small images
      cifar-fast          ResNet-18 on CIFAR-10 in seconds on a GPU, 93 %
      cifar               ResNet-18 on CIFAR-10, 200 epochs
      cifar-augmentation  WideResNet-40-2 on CIFAR-10, as in the paper on augmentations and corruptions
      imagenet-resnet50   ResNet-50 on ImageNet, 90 epochs, as in the paper on augmentations and corruptions
      imagenet-fast       ResNet-50 on ImageNet in 16 epochs, with pictures of 160 pixels, then 192
      imagenet-100        ResNet-18 on a hundred classes of ImageNet, as in the paper on non-overlapping corruptions
      imagenet-100-crop   the same with random crops, as in the paper on synthetic and natural corruptions
      cifar-separation    WideResNet-28-10 on CIFAR-10, as in the paper on class separation
      FILE.yaml           one of your own, as {based_on: imagenet-resnet50, batch_size: 1024, learning_rate: 0.4}

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
      scuff train --data folder:train --test folder:val --recipe imagenet-resnet50 --nproc 8 --out n.safetensors
    """
    device = options.get("device")
    if dry_run:
        _print_cost(**options)
        return
    from scuff.cli.team import started_processes, training_job

    if started_processes(nproc, device, sys.argv[1:]):
        return
    from scuff.cli.jobs import tell_unreadable
    from scuff.training.distributed import find_team, leave
    from scuff.training.run import train_as

    team = find_team()
    with training_job(team.rank) as advance:
        asked = TrainingOptions(**options, progress=lambda done, total: advance("training", done, total))
        path = train_as(asked, advance, tell_unreadable)
    if team.size > 1:
        leave()
    if not team.is_first:
        return
    typer.echo(f"Weights: {path}")
    _test(path, options["data"], test, {key: options[key] for key in ALSO_OF_TESTS if key in options})


def _print_cost(data: str, recipe: str, out: str, **options: Any) -> None:
    """What the training takes, from a few of its steps."""
    from scuff.cli.jobs import print_costs
    from scuff.studies.cost import estimate_training

    cost = estimate_training(data, recipe, out, **options)
    typer.echo(f"Training: {recipe} on {data} -> {out}")
    print_costs(cost)


def _test(path: Path | str, data: str, test: str | None, options: dict[str, Any]) -> None:
    """Print the accuracy on test images, if there are any."""
    from scuff.data.open import has_splits
    from scuff.evaluation import evaluate
    from scuff.metrics import accuracy

    if test is None and not has_splits(data):
        return
    score = accuracy(evaluate(path, None, test or data, **options))
    typer.echo(f"Accuracy on test images: {100 * score.value:.2f} % [{100 * score.low:.2f}, {100 * score.high:.2f}]")
