"""`scuff distance subsets` and `scuff distance mixing`: the two experiments that show why nearness counts."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from scuff.cli.distance_options import (
    Architecture,
    Augmentations,
    Data,
    DryRun,
    Epochs,
    Extractor,
    Images,
    Limit,
    Out,
    Precision,
    Processes,
    Samples,
    Seeds,
    Suite,
    Test,
    announce,
    read_schemes,
)
from scuff.cli.options import (
    Address,
    Device,
    EngineName,
    Only,
    Recipe,
    Seed,
    Severity,
    decimals,
    whole_numbers,
    words,
)


def subsets_command(
    suite: Suite,
    data: Data,
    out: Out,
    recipe: Recipe,
    scheme: Annotated[str, typer.Option("--scheme", metavar="SCHEME", help="Whose augmentations.")] = "augmix",
    sizes: Annotated[
        str, typer.Option("--sizes", metavar="K,K,...", help="How many augmentations to train with.")
    ] = "1,3,10,30,100,300,1000",
    kinds: Annotated[
        str, typer.Option("--kinds", metavar="KINDS", help="Which of them: closest, random, farthest.")
    ] = "closest,random,farthest",
    draws: Annotated[
        int, typer.Option("--draws", metavar="N", help="How many augmentations there are to choose from.")
    ] = 100_000,
    extractor: Extractor = None,
    architecture: Architecture = None,
    epochs: Epochs = None,
    seeds: Seeds = 1,
    only: Only = None,
    severity: Severity = None,
    test: Test = None,
    limit: Limit = None,
    images: Images = 100,
    samples: Samples = 100,
    seed: Seed = 0,
    precision: Precision = None,
    device: Device = None,
    engine: EngineName = "local",
    address: Address = None,
    processes: Processes = None,
    dry_run: DryRun = False,
) -> None:
    """Train with few augmentations: those closest to the corruptions, the farthest, or any.

    Appendix B of the paper: a hundred close augmentations do as well as all of AugMix, far ones do not.

    \b
    Example:
      scuff distance subsets cifar10-c --data cifar10:data --recipe cifar-fast --out runs/subsets
    """
    from scuff.cli.jobs import chosen_engine, resumable_job
    from scuff.studies import plan_subsets, run_subsets

    plan = plan_subsets(
        read_schemes(scheme),
        suite,
        data,
        out,
        recipe=recipe,
        extractor=extractor,
        architecture=architecture,
        epochs=epochs,
        sizes=whole_numbers(sizes, "--sizes"),
        kinds=words(kinds),
        draws=draws,
        seeds=seeds,
        only=words(only),
        severities=whole_numbers(severity, "--severity"),
        test=test,
        limit=limit,
        images=images,
        samples=samples,
        seed=seed,
        precision=precision,
        device=device,
        engine=chosen_engine(engine, address, processes),
    )
    announce(plan.distances, plan.encodings())
    typer.echo(f"Trainings: {plan.trainings()}")
    if dry_run:
        return
    with resumable_job() as advance:
        found = run_subsets(plan, progress=advance)
    _print_table(found)
    typer.echo(f"Table: {out}/subsets.csv")
    typer.echo(f"Next: scuff report {shlex.quote(out)}")


def mixing_command(
    right: Annotated[str, typer.Argument(metavar="TESTED", help="The corruption of the test, SUITE/NAME.")],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The one that is mixed into training.")],
    data: Data,
    out: Out,
    recipe: Recipe,
    severity: Annotated[
        int | None,
        typer.Option("--severity", metavar="LEVEL", help="Of both. Default: 3, if they have levels."),
    ] = None,
    shares: Annotated[
        str, typer.Option("--shares", metavar="P,P,...", help="Probabilities of the other corruption in training.")
    ] = "0,0.5,0.9,0.99,1",
    augmentations: Augmentations = 1000,
    extractor: Extractor = None,
    architecture: Architecture = None,
    epochs: Epochs = None,
    seeds: Seeds = 1,
    test: Test = None,
    limit: Limit = None,
    images: Images = 100,
    samples: Samples = 100,
    seed: Seed = 0,
    precision: Precision = None,
    device: Device = None,
    engine: EngineName = "local",
    address: Address = None,
    processes: Processes = None,
    dry_run: DryRun = False,
) -> None:
    """Train with two corruptions in changing shares, and test on one of them.

    Figure 2b of the paper: the error, and MSD, stay low until the tested corruption has almost gone from training; MMD
    grows all the way.

    \b
    Example:
      scuff distance mixing cifar10-c/impulse_noise cifar10-c/motion_blur --data cifar10:data --recipe cifar-fast \\
        --out runs/mixing
    """
    from scuff.cli.jobs import chosen_engine, resumable_job
    from scuff.studies import plan_mixing, run_mixing

    plan = plan_mixing(
        right,
        other,
        data,
        out,
        severity=severity,
        shares=decimals(shares, "--shares"),
        augmentations=augmentations,
        recipe=recipe,
        extractor=extractor,
        architecture=architecture,
        epochs=epochs,
        seeds=seeds,
        test=test,
        limit=limit,
        images=images,
        samples=samples,
        seed=seed,
        precision=precision,
        device=device,
        engine=chosen_engine(engine, address, processes),
    )
    announce(plan.plan.distances, plan.plan.distances.encodings())
    typer.echo(f"Trainings: {len(plan.plan.trials.cells)}, of which {len(plan.plan.trials.missing())} are to do")
    if dry_run:
        return
    with resumable_job() as advance:
        found = run_mixing(plan, progress=advance)
    _print_table(found)
    typer.echo(f"Table: {out}/mixing.csv")
    typer.echo(f"Next: scuff report {shlex.quote(out)}")


def _print_table(found) -> None:
    """A DataFrame as it is, errors in per cent."""
    from rich import box
    from rich.table import Table

    from scuff.cli.console import open_console

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in found.columns:
        table.add_column(f"{name} %" if name.endswith("error") else name, justify="right")
    for row in found.itertuples(index=False):
        cells = zip(found.columns, row, strict=True)
        table.add_row(*(_cell(name, value) for name, value in cells))
    open_console().print(table)


def _cell(name: str, value) -> str:
    if name.endswith("error"):
        return f"{100 * value:.2f}"
    if name == "share":
        return repr(float(value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)
