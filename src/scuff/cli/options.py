"""What several commands have in common: options, and lists with commas in them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Only = Annotated[
    str | None, typer.Option(metavar="NAMES", help="These corruptions, as in fog,snow. Default: all of the benchmark.")
]
Severity = Annotated[str | None, typer.Option(metavar="LEVELS", help="These severities, as in 1,3. Default: all.")]
Validation = Annotated[bool, typer.Option("--validation/--no-validation", help="Also the entries that are not scored.")]
Picture = Annotated[Path | None, typer.Option(metavar="FILE", help="A picture of your own instead of the bundled cat.")]
Seed = Annotated[int, typer.Option(help="Another seed, another realisation of everything random.")]
Resize = Annotated[int | None, typer.Option(metavar="PIXELS", help="First bring each picture's shorter side to this.")]
Recipe = Annotated[
    str, typer.Option(metavar="NAME", help="fashion, cifar-fast, cifar-augmentation, ...: see scuff train --help.")
]
Classes = Annotated[str | None, typer.Option(metavar="NAME", help="imagenet-100: every tenth class of ImageNet.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1. Default: the GPU if there is one.")]
EngineName = Annotated[
    str,
    typer.Option("--engine", metavar="local|ray", help="Where cells run: on this machine, or on a Ray cluster."),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address", metavar="HOST:PORT|auto", help="Of the Ray cluster. Default: one that is started here and now."
    ),
]
Share = Annotated[int, typer.Option("--share", metavar="N", help="Number of trainings that share a GPU.")]
Baseline = Annotated[str, typer.Option(metavar="alexnet|MODEL|none", help="What corruption errors are relative to.")]


def words(text: str | None) -> list[str] | None:
    """`fog,snow` as a list.

    >>> words("fog, snow"), words(None)
    (['fog', 'snow'], None)
    """
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def whole_numbers(text: str | None, option: str) -> list[int] | None:
    """`1,3` as a list."""
    return _numbers(text, option, int, "whole numbers with commas between them, as in 1,3")


def decimals(text: str | None, option: str) -> list[float] | None:
    """`0.5,0.25` as a list."""
    return _numbers(text, option, float, "numbers with commas between them, as in 0.485,0.456,0.406")


def _numbers(text: str | None, option: str, kind: type, what: str) -> list | None:
    try:
        return None if text is None else [kind(word) for word in words(text)]
    except ValueError as error:
        raise ValueError(f"{option} takes {what}; got {text!r}") from error
