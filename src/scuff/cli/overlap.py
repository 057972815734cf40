"""`scuff overlap`: how far corruptions overlap."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from scuff.cli.options import Address, Classes, Device, EngineName, Recipe, Share, words

if TYPE_CHECKING:
    from scuff.metrics import Overlaps
    from scuff.studies import OverlapPlan

SHOWN = 12  # corruptions up to which the matrix is printed


def overlap_command(
    suites: Annotated[list[str], typer.Argument(metavar="SUITE...", help="Suites whose corruptions are compared.")],
    data: Annotated[
        str, typer.Option("--data", metavar="DATA", help="Images: fashion, cifar10:DIR, folder:DIR, npz:FILE, hf:DIR.")
    ],
    recipe: Recipe,
    out: Annotated[str, typer.Option(metavar="DIR", help="A folder for models and results.")],
    only: Annotated[
        str | None, typer.Option(metavar="NAMES", help="These corruptions, as in fog,noc-candidates/rain.")
    ] = None,
    together: Annotated[
        str | None,
        typer.Option(metavar="SUITES", help="Also train one model on all corruptions of each: tests coverage."),
    ] = None,
    seeds: Annotated[int, typer.Option(metavar="N", help="So many trainings of everything; 3 give intervals.")] = 1,
    test: Annotated[
        str | None, typer.Option(metavar="DATA", help="Test images. Default: the test split of --data.")
    ] = None,
    classes: Classes = None,
    limit: Annotated[int | None, typer.Option(metavar="N", help="So many test images, evenly spread.")] = None,
    architecture: Annotated[str | None, typer.Option(help="A network instead of the recipe's.")] = None,
    epochs: Annotated[int | None, typer.Option(metavar="N", help="Epochs instead of the recipe's.")] = None,
    fine_tune: Annotated[
        int | None,
        typer.Option(metavar="EPOCHS", help="Train models for corruptions from the standard model, so many epochs."),
    ] = None,
    compare_to: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="A study to compare with; with --fine-tune its standard models are taken, too."
        ),
    ] = None,
    device: Device = None,
    processes: Annotated[
        int | None, typer.Option(metavar="N", help="Models trained at once. Default: as many as fit.")
    ] = None,
    engine: EngineName = "local",
    address: Address = None,
    share: Share = 1,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done and what it costs, and stop.")
    ] = False,
) -> None:
    """Measure how far corruptions overlap: does training with one help against the other, and the other way round?

    Trains a standard model and one model per corruption, tests all of them on everything, and writes the matrix of
    overlapping scores: 1 for a corruption and itself, 0 where neither helps against the other. Every model, and every
    model on every corruption, is kept as soon as it is there: interrupt it whenever you like, and run the same command
    again. scuff design makes benchmarks from the folder, and scuff report a page.

    \b
    Examples:
      scuff overlap cifar10-c --only fog,contrast,snow,frost --data fashion --recipe fashion --out runs/small
      scuff overlap noc-candidates cifar10-c --data cifar10:data --recipe cifar-fast --out runs/noc --seeds 3
      scuff overlap noc-candidates cifar10-c --data cifar10:data --recipe cifar-fast --out runs/tuned \\
        --fine-tune 2 --compare-to runs/noc
      scuff overlap noc-candidates --data folder:train --test folder:val --classes imagenet-100 \\
        --recipe imagenet-100 --out runs/inet

    \b
    Exit codes:
        0  all done
        1  cells failed, the disk is full, or memory ran out
        2  the command makes no sense
      130  interrupted
    """
    from scuff.cli.jobs import chosen_engine, resumable_job
    from scuff.metrics import overlaps
    from scuff.studies import plan_overlap, read_overlap, run_overlap

    plan = plan_overlap(
        suites,
        data,
        out,
        recipe=recipe,
        only=words(only),
        together=words(together) or (),
        seeds=seeds,
        test=test,
        classes=classes,
        limit=limit,
        architecture=architecture,
        epochs=epochs,
        fine_tune=fine_tune,
        standard_from=compare_to if fine_tune is not None else None,
        device=device,
        engine=chosen_engine(engine, address, processes, share=share),
    )
    other = None if compare_to is None else overlaps(read_overlap(compare_to))
    if other is not None and len(set(other.names) & set(plan.settings["corruptions"])) < 2:
        raise ValueError(f"the study in {compare_to} shares no two corruptions with this one")
    _announce(plan)
    if dry_run:
        from scuff.cli.costs import print_costs
        from scuff.studies.overlap.cost import estimate_overlap

        print_costs(estimate_overlap(plan), engine)
        return

    with resumable_job() as advance:
        run_overlap(plan, progress=advance)
    matrix = overlaps(read_overlap(out))
    _print_matrix(matrix)
    if other is not None:
        from scuff.metrics import agreement

        typer.echo(f"Compared with {compare_to}: {agreement(matrix, other)}")
    typer.echo(f"Matrix: {out}/overlap.csv; accuracies: {out}/accuracies.csv")
    typer.echo(f"Next: scuff design nonoverlapping {shlex.quote(out)}; scuff report {shlex.quote(out)}")


def _announce(plan: OverlapPlan) -> None:
    settings, missing = plan.settings, plan.missing()
    corruptions, seeds = len(settings["corruptions"]), len(settings["seeds"])
    models = len(plan.cells)
    tests = models * (corruptions + 1)
    typer.echo(f"Corruptions: {corruptions}, of {', '.join(one['suite'] for one in settings['suites'])}")
    typer.echo(f"Data: {settings['data']}; tests on {settings['limit'] or len(plan.test)} images")
    typer.echo(f"Recipe: {settings['recipe']['name']}, {settings['recipe']['architecture']}, on {plan.device}")
    typer.echo(f"Models: {models} ({seeds} seed{'s' if seeds > 1 else ''}), of which {models - len(missing)} are there")
    typer.echo(f"Tests: {tests}, each model on clean images and on every corruption; in {plan.store.root}")


def _print_matrix(matrix: Overlaps) -> None:
    """The whole matrix if it is small, else the pairs that overlap most."""
    from rich import box
    from rich.table import Table

    from scuff.cli.console import open_console

    console = open_console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    if len(matrix.names) <= SHOWN:
        table.add_column("overlap", no_wrap=True)
        for number in range(len(matrix.names)):
            table.add_column(str(number + 1), justify="right")
        for number, (name, line) in enumerate(zip(matrix.names, matrix.values, strict=True), start=1):
            table.add_row(f"{number} {name}", *("-" if value != value else f"{value:.2f}" for value in line))
    else:
        for heading in ("the pairs that overlap most", "", "overlap"):
            table.add_column(heading, justify="left")
        for _, a, b in sorted(_pairs(matrix), reverse=True)[:SHOWN]:
            score = matrix.score(a, b)
            table.add_row(a, b, f"{score.value:.2f} [{score.low:.2f}, {score.high:.2f}]")
    console.print(table)
    for name, reason in matrix.undefined.items():
        console.print(f"{name}: undefined. {reason}")
    console.print(f"Intervals: {matrix.interval}.")


def _pairs(matrix: Overlaps) -> list[tuple[float, str, str]]:
    names = [name for name in matrix.names if name not in matrix.undefined]
    places = {name: matrix.index(name) for name in names}
    return [(matrix.values[places[a], places[b]], a, b) for k, a in enumerate(names) for b in names[k + 1 :]]
