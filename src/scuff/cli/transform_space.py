"""`scuff distance` and `scuff design dissimilar`: how near augmentations come to corruptions, and what is far."""

from __future__ import annotations

from typing import Any

import typer

from scuff.cli.console import print_table
from scuff.cli.study import study_command
from scuff.studies.transform_space.study import (
    CorrelationStudy,
    DissimilarStudy,
    DistancesStudy,
    MixingStudy,
    SubsetsStudy,
)
from scuff.tables import Table

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
@study_command(DistancesStudy)
def schemes_command(plan: Any, distances: Any) -> None:
    """Measure MSD and MMD of schemes to every corruption and severity of a suite.

    MSD is a minimum: it falls with the number of augmentations, so compare schemes at the same number. Interrupt it
    whenever you like: the same command goes on. More schemes may join the folder later.

    \b
    Examples:
      scuff distance schemes cifar10-c --schemes augmix,autoaugment,patch-gaussian --data cifar10:data \\
        --recipe cifar-fast --out runs/near
      scuff distance schemes cifar10-c --schemes powerset-64 --data cifar10:data --extractor net.safetensors \\
        --out runs/powerset
      scuff distance schemes imagenet-c --schemes autoaugment:imagenet --data folder:train --images 10000 \\
        --sampling joint --extractor torchvision:resnet50 --out runs/imagenet
    """
    near, means = distances.by_corruption("msd"), distances.by_corruption("mmd")
    lines = []
    for address in near.columns:
        column, name = near[address], address.rpartition("/")[2]
        if len(near) == 1:
            lines.append((name, f"{column.iloc[0]:.3f}", f"{means[address].iloc[0]:.3f}"))
        else:
            ends = (column.idxmin(), column.idxmax())
            lines.append((name, *(word for end in ends for word in (end, f"{column[end]:.3f}"))))
    is_one = len(near) == 1
    headings = ["MSD", "MMD"] if is_one else ["nearest scheme", "MSD", "farthest", "MSD"]
    print_table(Table.of_texts(["corruption", *headings], lines, texts=(0,) if is_one else (0, 1, 3)))
    if distances.resamplings > 1:
        typer.echo(
            f"Over {distances.resamplings} resamplings, an MSD varies by {distances.relative_spread('msd'):.1%} of "
            f"itself (standard deviation), an MMD by {distances.relative_spread('mmd'):.1%}."
        )
    if plan.work.encoded:
        typer.echo(f"Encoded: {plan.work.encoded:,} images, {plan.settings['images_per_second']:,} per second")
    typer.echo(f"Distances: {plan.store.root}/distances.csv")


@distance_app.command("correlation")
@study_command(CorrelationStudy)
def correlation_command(plan: Any, correlations: Any) -> None:
    """Correlate distances with errors: do schemes that come nearer to a corruption help more against it?

    Measures the distances of all schemes, trains a network with each of them, tests all networks, and prints Spearman's
    correlation over schemes of MSD and error, one for each corruption, with its interval. It counts the schemes that
    --schemes names, also where the folder holds more: networks are trained once, and correlated as often as you like.

    \b
    Examples:
      scuff distance correlation cifar10-c --schemes powerset-64 --data cifar10:data --recipe cifar-fast \\
        --out runs/explained
      scuff distance correlation cifar10-c --schemes powerset-8 --data fashion --recipe fashion --out runs/small \\
        --images 20 --samples 10 --augmentations 100 --limit 500
    """
    lines = []
    for row in correlations.itertuples():
        interval = "" if row.rho != row.rho else f"[{row.low:.2f}, {row.high:.2f}]"
        lines.append((row.corruption.rpartition("/")[2], f"{row.rho:.2f}", interval, str(row.schemes), row.note))
    headings = ["corruption", "rho of MSD and error", "95 %", "schemes", ""]
    print_table(Table.of_texts(headings, lines, texts=(0, 4)))
    out = plan.store.root
    typer.echo(f"Correlations: {out}/correlations.csv; errors: {out}/errors.csv; distances: {out}/distances.csv")


@distance_app.command("subsets")
@study_command(SubsetsStudy)
def subsets_command(plan: Any, table: Any) -> None:
    """Train with few augmentations: those closest to the corruptions, the farthest, or random ones.

    Appendix B of the paper: a hundred close augmentations do as well as all of AugMix, far ones do not.

    \b
    Example:
      scuff distance subsets cifar10-c --data cifar10:data --recipe cifar-fast --out runs/subsets
    """
    _print_frame(table)
    typer.echo(f"Table: {plan.store.root}/subsets.csv")


@distance_app.command("mixing")
@study_command(MixingStudy)
def mixing_command(plan: Any, table: Any) -> None:
    """Train with two corruptions in changing shares, and test on one of them.

    Figure 2b of the paper: the error, and MSD, stay low until the tested corruption has almost gone from training; MMD
    grows all the way.

    \b
    Example:
      scuff distance mixing cifar10-c/impulse_noise cifar10-c/motion_blur --data cifar10:data --recipe cifar-fast \\
        --out runs/mixing
    """
    _print_frame(table)
    typer.echo(f"Table: {plan.store.root}/mixing.csv")


@study_command(DissimilarStudy)
def dissimilar_command(plan: Any, chosen: Any) -> None:
    """Choose corruptions that look different from those of another benchmark, and are as hard.

    Augmentations that resemble the corruptions of a benchmark do well on it; one that is dissimilar asks whether they
    do well elsewhere. Every candidate is tested at all its severities, and its distance from the reference is measured
    in the features of a network. Those that take benchmarks farthest away are chosen, with five severities each, so
    that the mean error is that of the reference. So were CIFAR-10-C-bar and ImageNet-C-bar made.

    Everything is saved as soon as it is finished: interrupt whenever you like, and run the same command again. Another
    --size, --tolerance or --spread in the same folder chooses anew in seconds.

    \b
    Examples:
      scuff design dissimilar cifar10-c c-bar-candidates-32 --data cifar10:data \\
        --model a.safetensors --extractor b.safetensors --out runs/c-bar
      scuff design dissimilar cifar10-c my-candidates.yaml --data cifar10:data --size 6 \\
        --model a0=a/0.safetensors --extractor b0=b/0.safetensors \\
        --model a1=a/1.safetensors --extractor b1=b/1.safetensors --out runs/six
      scuff evaluate net.safetensors --suite runs/c-bar/suite.yaml --data cifar10:data --out runs/net
    """
    errors, lines = chosen.picks.groupby("corruption")["error"].mean(), []
    for row in chosen.shifts.itertuples():
        name, numbers = row.corruption, ["-" if x != x else f"{x:.2f}" for x in (row.shift, row.sd)]
        levels = ", ".join(map(str, chosen.levels[name])) if row.chosen else ""
        lines.append((name, *numbers, f"{errors[name]:.3f}" if row.chosen else "", levels))
    print_table(Table.of_texts(["", "shift", "sd", "error", "levels"], lines, texts=(0, 4)))
    mean = chosen.candidate_distances[chosen.repetition].mean()
    typer.echo(
        f"Error {chosen.error:.4f}, that of the reference is {chosen.target:.4f}; distance {chosen.distance:.3f}, that "
        f"of the benchmarks drawn is {mean:.3f} on average."
    )
    if not chosen.all_sets:
        typer.echo(f"{chosen.sets} sets of candidates were drawn at random: there are too many to try them all.")
    out = plan.store.root
    typer.echo(
        f"Suite: {out}/suite.yaml ({len(chosen.members)} corruptions; see them with scuff show {out}/suite.yaml)"
    )
    typer.echo(f"Shifts: {out}/shifts.csv; severities: {out}/members.csv")


def _print_frame(frame: Any) -> None:
    """A DataFrame as it is, errors in per cent."""
    headings = [f"{name} %" if name.endswith("error") else name for name in frame.columns]
    lines = [tuple(map(_cell, frame.columns, row)) for row in frame.itertuples(index=False)]
    print_table(Table.of_texts(headings, lines))


def _cell(column: str, value: Any) -> str:
    if column.endswith("error"):
        return f"{100 * value:.2f}"
    if column == "share":
        return repr(float(value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)
