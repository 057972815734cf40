"""`scuff corrupt`: write corrupted copies of a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scuff.cli.options import Only, Resize, Seed, Severity, Validation, whole_numbers, words

if TYPE_CHECKING:
    from scuff.export import ExportResult, Plan


def corrupt_command(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="A folder of pictures, or an array: .npz or .npy.")],
    destination: Annotated[Path, typer.Argument(metavar="DST", help="A folder for the results, outside SRC.")],
    suite: Annotated[str, typer.Option(help="A suite's name (see scuff list), or a suite file.")] = "imagenet-c",
    only: Only = None,
    severity: Severity = None,
    validation: Validation = False,
    seed: Seed = 0,
    resize: Resize = None,
    crop: Annotated[int | None, typer.Option(metavar="PIXELS", help="Then cut out the middle square.")] = None,
    save: Annotated[
        str | None, typer.Option(metavar="png|jpeg", help="png is lossless (default); jpeg has quality 85.")
    ] = None,
    as_published: Annotated[
        bool, typer.Option("--as-published", help="As ImageNet-C was published: the same as --save jpeg.")
    ] = False,
    layout: Annotated[
        str | None,
        typer.Option(
            metavar="folder|npz|npy",
            help="Of the results. For a folder: folder. For an array: npy (default), one file per corruption, as in "
            "CIFAR-10-C; or npz, one file per corruption and severity.",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes. Default: one per processor; 0: none but this one.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and stop.")] = False,
) -> None:
    """Corrupt a folder of pictures, or an array of images.

    A folder becomes DST/CORRUPTION/SEVERITY/ with the same tree below, or DST/CORRUPTION/ where there are no levels. An
    .npz (images, x or data; labels or y) or .npy becomes DST/CORRUPTION.npy and DST/labels.npy. Every image has
    randomness of its own, so that results depend neither on the number of workers nor on which other images there are.

    Interrupt it whenever you like: the same command goes on where it stopped. Files that cannot be read are left out
    and listed at the end.

    \b
    Examples:
      scuff corrupt photos/ out/ --only fog,snow --severity 1,3
      scuff corrupt val/ imagenet-c/ --resize 256 --crop 224 --as-published
      scuff corrupt cifar10-test.npz cifar10-c/ --suite cifar10-c
      scuff corrupt val/ noc/ --suite imagenet-noc --resize 256 --crop 224

    \b
    Exit codes:
        0  all done
        1  some files could not be read, or the disk is full
        2  the command makes no sense
      130  interrupted
    """
    if as_published and save == "png":
        raise ValueError("--as-published means --save jpeg; leave out --save png")

    from scuff.export import plan_export, run_plan

    plan = plan_export(
        source,
        destination,
        suite,
        only=words(only),
        severities=whole_numbers(severity, "--severity"),
        validation=validation,
        seed=seed,
        resize=resize,
        crop=crop,
        save="jpeg" if as_published else save or "png",
        layout=layout,
    )
    _announce(plan)
    if dry_run:
        return

    from scuff.cli.jobs import resumable_job

    with resumable_job() as advance:
        result = run_plan(plan, workers, lambda done, total: advance("corrupting", done, total))
    _conclude(plan, result)


def _announce(plan: Plan) -> None:
    severities = sorted({level for levels in plan.levels.values() for level in levels if level is not None})
    at = f" x severities {','.join(map(str, severities))}" if severities else ""
    typer.echo(f"{plan.images} images x {len(plan.levels)} corruptions{at} -> {plan.destination}")
    typer.echo(f"Corruptions: {', '.join(plan.levels)}")
    unit = "files" if plan.settings["layout"] == "folder" else "cells (a corruption at a severity)"
    typer.echo(f"To make: {plan.missing} {unit}; there already: {plan.work.outputs - plan.missing}.")


def _conclude(plan: Plan, result: ExportResult) -> None:
    typer.echo(f"Made {result.written}; there already: {result.skipped}; in {plan.destination}.")
    if result.failures:
        typer.echo(f"{len(result.failures)} files could not be read:", err=True)
        for name, reason in sorted(result.failures.items()):
            typer.echo(f"  {name}: {reason}", err=True)
        raise typer.Exit(1)
