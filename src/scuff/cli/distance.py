"""`scuff distance`: how near augmentation schemes come to corruptions, and what that explains."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import typer

from scuff.cli.distance_experiments import mixing_command, subsets_command
from scuff.cli.distance_options import (
    Architecture,
    Augmentations,
    Data,
    DryRun,
    Epochs,
    Extractor,
    Images,
    Limit,
    MaybeRecipe,
    Out,
    Precision,
    Processes,
    Resamplings,
    Samples,
    Sampling,
    Schemes,
    Seeds,
    Suite,
    Test,
    announce,
    read_schemes,
)
from scuff.cli.options import Address, Device, EngineName, Only, Recipe, Seed, Severity, whole_numbers, words

if TYPE_CHECKING:
    import pandas as pd

    from scuff.metrics import Distances

LEAST = 5  # schemes for a correlation

distance_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@distance_app.callback()
def _distance() -> None:
    """Measure how near augmentations come to corruptions, as a network sees them, and what that explains.

    The feature of a transform is the mean of a network's last hidden layer over a fixed set of images. MSD, the minimal
    sample distance, is how near the nearest augmentation of a scheme comes to a corruption; MMD is the distance of
    their means. Where MSD is small, training with the scheme tends to help against the corruption.

    \b
    Examples:
      scuff distance schemes cifar10-c --schemes augmix,autoaugment --data fashion --recipe fashion --out runs/near
      scuff distance correlation cifar10-c --schemes powerset-64,augmix --data cifar10:data --recipe cifar-fast \\
        --out runs/explained
      scuff distance mixing cifar10-c/impulse_noise cifar10-c/motion_blur --data cifar10:data --recipe cifar-fast \\
        --out runs/mixing
      scuff distance subsets cifar10-c --data cifar10:data --recipe cifar-fast --out runs/subsets
      scuff report runs/near
    """


@distance_app.command("schemes")
def schemes_command(
    suite: Suite,
    schemes: Schemes,
    data: Data,
    out: Out,
    extractor: Extractor = None,
    recipe: MaybeRecipe = None,
    architecture: Architecture = None,
    epochs: Epochs = None,
    only: Only = None,
    severity: Severity = None,
    images: Images = 100,
    samples: Samples = 100,
    augmentations: Augmentations = 10_000,
    sampling: Sampling = "independent",
    resamplings: Resamplings = 1,
    seed: Seed = 0,
    precision: Precision = None,
    device: Device = None,
    engine: EngineName = "local",
    address: Address = None,
    processes: Processes = None,
    dry_run: DryRun = False,
) -> None:
    """Measure MSD and MMD of schemes to every corruption and severity of a suite.

    MSD is a minimum: it falls with the number of augmentations, so compare schemes at the same number. Interrupt it
    whenever you like: the same command goes on. Further schemes may join the folder later.

    \b
    Examples:
      scuff distance schemes cifar10-c --schemes augmix,autoaugment,patch-gaussian --data cifar10:data \\
        --recipe cifar-fast --out runs/near
      scuff distance schemes cifar10-c --schemes powerset-64 --data cifar10:data --extractor net.safetensors \\
        --out runs/powerset
      scuff distance schemes imagenet-c --schemes autoaugment:imagenet --data folder:train --images 10000 \\
        --sampling joint --extractor torchvision:resnet50 --out runs/imagenet
    """
    from scuff.cli.costs import print_costs
    from scuff.cli.jobs import chosen_engine, resumable_job
    from scuff.store import Store, read_settings
    from scuff.studies import plan_distances, run_distances
    from scuff.studies.transform_space.cost import estimate_distances
    from scuff.studies.transform_space.plan import SETTINGS

    plan = plan_distances(
        read_schemes(schemes),
        suite,
        data,
        out,
        extractor=extractor,
        recipe=recipe,
        architecture=architecture,
        epochs=epochs,
        only=words(only),
        severities=whole_numbers(severity, "--severity"),
        images=images,
        samples=samples,
        augmentations=augmentations,
        sampling=sampling,
        resamplings=resamplings,
        seed=seed,
        precision=precision,
        device=device,
        engine=chosen_engine(engine, address, processes),
    )
    wanted = plan.encodings()
    announce(plan, wanted)
    if dry_run:
        print_costs(estimate_distances(plan), engine)
        return
    with resumable_job() as advance:
        found = run_distances(plan, progress=advance)
    _print_distances(found)
    if wanted:
        speed = read_settings(Store(out), SETTINGS)["images_per_second"]
        typer.echo(f"Encoded: {wanted:,} images, {speed:,} per second")
    typer.echo(f"Distances: {out}/distances.csv")
    typer.echo(f"Next: scuff report {shlex.quote(out)}")


@distance_app.command("correlation")
def correlation_command(
    suite: Suite,
    schemes: Schemes,
    data: Data,
    out: Out,
    recipe: Recipe,
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
    augmentations: Augmentations = 10_000,
    sampling: Sampling = "independent",
    resamplings: Resamplings = 1,
    seed: Seed = 0,
    precision: Precision = None,
    device: Device = None,
    engine: EngineName = "local",
    address: Address = None,
    processes: Processes = None,
    dry_run: DryRun = False,
) -> None:
    """Correlate distances with errors: do schemes that come nearer to a corruption help more against it?

    Measures the distances of all schemes, trains a network with each of them, tests all networks, and prints Spearman's
    correlation over schemes of MSD and error, one for each corruption, with its interval.

    \b
    Examples:
      scuff distance correlation cifar10-c --schemes powerset-64 --data cifar10:data --recipe cifar-fast \\
        --out runs/explained
      scuff distance correlation cifar10-c --schemes powerset-8 --data fashion --recipe fashion --out runs/small \\
        --images 20 --samples 10 --augmentations 100 --limit 500
    """
    from scuff.cli.jobs import chosen_engine, resumable_job
    from scuff.studies import plan_correlation, run_correlation

    plan = plan_correlation(
        read_schemes(schemes),
        suite,
        data,
        out,
        recipe=recipe,
        extractor=extractor,
        architecture=architecture,
        epochs=epochs,
        seeds=seeds,
        only=words(only),
        severities=whole_numbers(severity, "--severity"),
        test=test,
        limit=limit,
        images=images,
        samples=samples,
        augmentations=augmentations,
        sampling=sampling,
        resamplings=resamplings,
        seed=seed,
        precision=precision,
        device=device,
        engine=chosen_engine(engine, address, processes),
    )
    announce(plan.distances, plan.distances.encodings())
    if len(plan.distances.settings["schemes"]) < LEAST:
        typer.echo(f"Note: a correlation needs at least {LEAST} schemes; more may join this folder later")
    missing = len(plan.trials.missing())
    typer.echo(f"Trainings: {len(plan.trials.cells)}, of which {len(plan.trials.cells) - missing} are there")
    if dry_run:
        return
    with resumable_job() as advance:
        found = run_correlation(plan, progress=advance)
    _print_correlations(found)
    typer.echo(f"Correlations: {out}/correlations.csv; errors: {out}/errors.csv; distances: {out}/distances.csv")
    typer.echo(f"Next: scuff report {shlex.quote(out)}")


distance_app.command("subsets")(subsets_command)
distance_app.command("mixing")(mixing_command)


def _print_distances(found: Distances) -> None:
    """The nearest and the farthest scheme of every corruption; of one scheme, its distances."""
    from rich import box
    from rich.table import Table

    from scuff.cli.console import open_console

    console, table = open_console(), Table(box=box.SIMPLE_HEAD, pad_edge=False)
    near, means = found.by_corruption("msd"), found.by_corruption("mmd")
    is_one = len(near) == 1
    headings = ("MSD", "MMD") if is_one else ("nearest scheme", "MSD", "farthest", "MSD")
    table.add_column("corruption", no_wrap=True)
    for heading in headings:
        is_number = heading in ("MSD", "MMD")
        table.add_column(heading, justify="right" if is_number else "left", no_wrap=is_number, overflow="fold")
    for address in near.columns:
        column = near[address]
        ends = (column.idxmin(), column.idxmax())
        cells = [word for name in ends for word in (name, f"{column[name]:.3f}")]
        if is_one:
            cells = [f"{column.iloc[0]:.3f}", f"{means[address].iloc[0]:.3f}"]
        table.add_row(address.rpartition("/")[2], *cells)
    console.print(table)
    if found.resamplings > 1:
        console.print(
            f"Over {found.resamplings} resamplings, an MSD varies by {found.relative_spread('msd'):.1%} of itself "
            f"(standard deviation), an MMD by {found.relative_spread('mmd'):.1%}."
        )


def _print_correlations(found: pd.DataFrame) -> None:
    from rich import box
    from rich.table import Table

    from scuff.cli.console import open_console

    console, table = open_console(), Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("corruption", "rho of MSD and error", "95 %", "schemes", ""):
        table.add_column(heading, justify="left" if heading in ("corruption", "") else "right")
    for row in found.itertuples():
        interval = "" if row.rho != row.rho else f"[{row.low:.2f}, {row.high:.2f}]"
        table.add_row(row.corruption.rpartition("/")[2], f"{row.rho:.2f}", interval, str(row.schemes), row.note)
    console.print(table)
