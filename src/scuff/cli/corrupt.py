"""`scuff corrupt`: write corrupted copies of a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from scuff.cli.options import Address, DryRun, EngineName
from scuff.cli.study import options_command
from scuff.export.options import ExportOptions

if TYPE_CHECKING:
    from scuff.engine import Engine
    from scuff.export import ExportResult, Plan

UNITS = {
    "folder": "files",
    "npy": "parts (some images of a corruption at a severity)",
    "npz": "cells (a corruption at a severity)",
    "webdataset": "shards",
}


AsPublished = Annotated[
    bool, typer.Option("--as-published", help="As ImageNet-C was published: the same as --save jpeg.")
]
Workers = Annotated[
    int | None,
    typer.Option(metavar="N", help="Number of processes. Default: one per processor; 0 or 1: none but this one."),
]


@options_command(ExportOptions)
def corrupt_command(
    options: dict[str, Any],
    *,
    as_published: AsPublished = False,
    workers: Workers = None,
    engine: EngineName = "local",
    address: Address = None,
    dry_run: DryRun = False,
) -> None:
    """Corrupt a folder of pictures, a picture, or an array of images.

    A folder, or a picture, becomes DST/CORRUPTION/SEVERITY/ with the same tree below, or DST/CORRUPTION/ where there
    are no levels. An .npz (images, x or data; labels or y) or .npy becomes DST/CORRUPTION.npy and DST/labels.npy. Every
    image has its own random stream, so that results depend neither on the number of workers nor on the other images.

    Interrupt it whenever you like: the same command resumes where it stopped. Files that were damaged, or whose source
    has changed, are made again. Pictures that cannot be read are all listed before anything is made, and the command
    ends; with --skip-unreadable it goes on without them.

    Millions of files are hard on any file system. With --layout webdataset, DST/CORRUPTION/SEVERITY/ holds
    shard-000000.tar and so on, for the webdataset library: KEY.png and, if SRC has a folder per class, KEY.cls, the
    class's number. DST/shards.json lists them all. With --engine ray, a cluster does the work; all of its machines must
    see SRC and DST under the same paths, or DST is an address like s3://bucket/out.

    \b
    Examples:
      scuff corrupt photos/ out/ --only fog,snow --severity 1,3
      scuff corrupt cat.jpg out/ --only fog
      scuff corrupt val/ imagenet-c/ --resize 256 --crop 224 --as-published
      scuff corrupt cifar10-test.npz cifar10-c/ --suite cifar10-c
      scuff corrupt val/ noc/ --suite imagenet-noc --resize 256 --crop 224
      scuff corrupt cifar10-test.npz cifar10-c/ --lock cifar10-c.lock.yaml
      scuff corrupt /nfs/train s3://bucket/train-c --layout webdataset --engine ray --address auto
    """
    if as_published and options.get("save", "jpeg") != "jpeg":
        raise ValueError("--as-published means --save jpeg; leave out --save png")
    if workers is not None and workers < 0:
        raise ValueError(f"--workers must be at least 0, got {workers}")

    from scuff.cli.jobs import chosen_engine, resumable_job
    from scuff.export import run_plan
    from scuff.export.plan import plan_of

    place = chosen_engine(engine, address, None if workers is None else max(workers, 1), "--workers")
    with resumable_job() as advance:
        plan = plan_of(ExportOptions(**options | ({"save": "jpeg"} if as_published else {})), advance)
    _announce(plan)
    if dry_run:
        _tell_cost(plan, place)
        return
    with resumable_job() as advance:
        result = run_plan(plan, place, lambda done, total: advance("corrupting", done, total), advance)
    _conclude(plan, result, options.get("skip_unreadable", False))


def _announce(plan: Plan) -> None:
    from scuff.cli.jobs import tell_unreadable

    severities = sorted({level for levels in plan.levels.values() for level in levels if level is not None})
    at = f" x severities {','.join(map(str, severities))}" if severities else ""
    typer.echo(f"{plan.images} images x {len(plan.levels)} corruptions{at} -> {plan.destination}")
    typer.echo(f"Corruptions: {', '.join(plan.levels)}")
    tell_unreadable(plan.unreadable)
    typer.echo(
        f"To make: {plan.missing} {UNITS[plan.settings['layout']]}; existing: {plan.work.outputs - plan.missing}."
    )
    if plan.work.stale:
        typer.echo(f"Of these, {plan.work.stale} exist, but they or their sources have changed since: made again.")


def _tell_cost(plan: Plan, place: Engine) -> None:
    """Estimate the cost from a few images that are really corrupted."""
    from scuff.cli.jobs import print_costs
    from scuff.engine import LocalEngine, Needs
    from scuff.export import estimate
    from scuff.words import show_duration

    if not plan.tasks:
        return
    cost = estimate(plan)
    if not cost.bytes:
        typer.echo("None of the pictures that were tried can be read: no estimate.")
        return
    print_costs(cost, place.name)
    if isinstance(place, LocalEngine):
        workers = place.count(Needs(cpus=1), plan.tasks)
        plural = "" if workers == 1 else "s"
        typer.echo(f"With {workers} worker{plural} on this machine: about {show_duration(cost.wall_seconds(workers))}.")


def _conclude(plan: Plan, result: ExportResult, skip_unreadable: bool) -> None:
    typer.echo(f"Made {result.written}; existing: {result.skipped}; in {plan.destination}.")
    if plan.lock is not None:
        typer.echo(f"All files are those of {plan.lock.place}, byte for byte: {plan.lock.seal}")
    late = {name: reason for name, reason in result.failures.items() if name not in plan.unreadable}
    if late:
        from scuff.pictures import list_unreadable

        typer.echo(f"{len(late)} pictures could not be used:\n{list_unreadable(late)}", err=True)
        raise typer.Exit(0 if skip_unreadable else 1)
