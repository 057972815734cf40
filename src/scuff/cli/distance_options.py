"""What the commands of `scuff distance` have in common: options, and how a study is announced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from scuff.cli.options import words

if TYPE_CHECKING:
    from scuff.studies import DistancePlan

Suite = Annotated[str, typer.Argument(metavar="SUITE", help="The corruptions: cifar10-c, imagenet-c, FILE.yaml, ...")]
Schemes = Annotated[
    str,
    typer.Option(
        "--schemes",
        metavar="SCHEMES",
        help="With commas between them: augmix, autoaugment, powerset-64, ...: see scuff train --help.",
    ),
]
Data = Annotated[
    str, typer.Option("--data", metavar="DATA", help="Images: fashion, cifar10:DIR, folder:DIR, npz:FILE, hf:DIR.")
]
Out = Annotated[str, typer.Option(metavar="DIR", help="A folder for the study; what is in it is not done again.")]
Extractor = Annotated[
    str | None,
    typer.Option("--extractor", metavar="MODEL", help="The network whose features count. Default: one is trained."),
]
MaybeRecipe = Annotated[
    str | None, typer.Option("--recipe", metavar="NAME", help="By which it is trained, without augmentation.")
]
Architecture = Annotated[str | None, typer.Option(help="A network instead of the recipe's.")]
Epochs = Annotated[int | None, typer.Option(metavar="N", help="Epochs instead of the recipe's.")]
Images = Annotated[int, typer.Option("--images", metavar="N", help="Images that transforms are shown by.")]
Samples = Annotated[int, typer.Option("--samples", metavar="N", help="Draws that make the centre of a corruption.")]
Augmentations = Annotated[int, typer.Option("--augmentations", metavar="N", help="Draws of every scheme.")]
Sampling = Annotated[
    str,
    typer.Option(metavar="independent|joint", help="Draws are shared by all images, or every image has its own."),
]
Resamplings = Annotated[
    int, typer.Option("--resamplings", metavar="N", help="So often with fresh images and draws; 2 show the spread.")
]
Precision = Annotated[
    str | None, typer.Option(metavar="NAME", help="float32, bfloat16. Default: bfloat16 on a GPU, float32 on a CPU.")
]
Seeds = Annotated[int, typer.Option("--seeds", metavar="N", help="So many trainings of everything.")]
Test = Annotated[str | None, typer.Option(metavar="DATA", help="Test images. Default: the test split of --data.")]
Limit = Annotated[int | None, typer.Option("--limit", metavar="N", help="So many test images, evenly spread.")]
Processes = Annotated[
    int | None, typer.Option("--processes", metavar="N", help="Cells at once. Default: as many as fit.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and stop.")]


def read_schemes(text: str) -> list[str]:
    """Schemes with commas between them; so are the options of a scheme, which have an equals sign.

    >>> read_schemes("augmix, randaugment:count=3,level=4, none")
    ['augmix', 'randaugment:count=3,level=4', 'none']
    """
    found: list[str] = []
    for word in words(text):
        if found and "=" in word and ":" not in word:
            found[-1] += f",{word}"
        else:
            found.append(word)
    return found


def announce(plan: DistancePlan, encodings: int) -> None:
    """Say what will be measured, with so many images through the network."""
    settings = plan.settings
    cells = sum(map(len, plan.levels.values()))
    typer.echo(f"Corruptions: {len(plan.levels)} of {plan.suite.name}, {cells} cells")
    names = list(plan.schemes)
    listed = ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:5])}, ..."
    typer.echo(f"Schemes: {len(names)} ({listed})")
    trained = "" if plan.training is None else ", trained first" if not plan.is_trained() else ""
    typer.echo(f"Features: {settings['extractor']['name']}{trained}, on {plan.device} in {settings['precision']}")
    samples = "one per image" if settings["sampling"] == "joint" else settings["samples"]
    typer.echo(
        f"Images: {settings['images']} of {settings['data']}; draws: {samples} of a corruption, "
        f"{settings['augmentations']} of a scheme; {settings['resamplings']} times"
    )
    typer.echo(f"To encode: {encodings:,} images; in {plan.store.root}")
