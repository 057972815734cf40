"""`scuff design dissimilar`: a benchmark as hard as another one, of corruptions that look different to a network."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from scuff.cli.options import Address, Device, EngineName, Seed, words

if TYPE_CHECKING:
    from scuff.design import Dissimilar
    from scuff.studies.transform_space.dissimilar_plan import DissimilarPlan


def dissimilar_command(
    reference: Annotated[str, typer.Argument(metavar="REFERENCE", help="The suite to be different from.")],
    candidates: Annotated[
        str, typer.Argument(metavar="CANDIDATES", help="The suite whose corruptions to choose from.")
    ],
    data: Annotated[
        str, typer.Option("--data", metavar="DATA", help="Images: fashion, cifar10:DIR, folder:DIR, npz:FILE, hf:DIR.")
    ],
    models: Annotated[
        list[str],
        typer.Option("--model", metavar="MODEL", help="A classifier whose errors count; repeat it for repetitions."),
    ],
    extractors: Annotated[
        list[str],
        typer.Option("--extractor", metavar="MODEL", help="Another network, whose features count; one per --model."),
    ],
    out: Annotated[str, typer.Option(metavar="DIR", help="A folder for all results.")],
    size: Annotated[int, typer.Option(metavar="N", help="So many corruptions: an even number.")] = 10,
    name: Annotated[
        str, typer.Option("--suite-name", metavar="NAME", help="The name of the new suite.")
    ] = "dissimilar",
    only: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Choose from these candidates, as in lines,ripple,sparkles.")
    ] = None,
    test: Annotated[
        str | None, typer.Option(metavar="DATA", help="Test images. Default: the test split of --data.")
    ] = None,
    limit: Annotated[int | None, typer.Option(metavar="N", help="So many test images, evenly spread.")] = None,
    images: Annotated[int, typer.Option(metavar="N", help="Training images by which features are measured.")] = 100,
    samples: Annotated[int, typer.Option(metavar="N", help="Draws of a corruption that make its centre.")] = 100,
    sampling: Annotated[
        str,
        typer.Option(metavar="independent|joint", help="All images with every draw, or every image with its own."),
    ] = "independent",
    tolerance: Annotated[
        float, typer.Option(metavar="SHARE", help="By how much the error of half a benchmark may be off.")
    ] = 0.01,
    spread: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="By how much errors differ between the middle severity and the outer ones. Default: as in the "
            "reference, if it has three severities or more.",
        ),
    ] = None,
    benchmarks: Annotated[int, typer.Option(metavar="N", help="So many benchmarks are drawn and compared.")] = 100_000,
    seed: Seed = 0,
    precision: Annotated[
        str | None, typer.Option(metavar="NAME", help="float32, bfloat16 or float16. Default: bfloat16 on a GPU.")
    ] = None,
    device: Device = None,
    engine: EngineName = "local",
    address: Address = None,
    processes: Annotated[int | None, typer.Option(metavar="N", help="Cells at once. Default: as many as fit.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and stop.")] = False,
) -> None:
    """Choose corruptions that look different from those of another benchmark, and are as hard.

    Augmentations that resemble the corruptions of a benchmark do well on it; one that is dissimilar asks whether they
    do well elsewhere. Every candidate is tested at all its severities, and its distance from the reference is measured
    in the features of a network. Those that take benchmarks farthest away are chosen, with five severities each, so
    that the mean error is that of the reference. So were CIFAR-10-C-bar and ImageNet-C-bar made.

    Everything is kept as soon as it is there: interrupt it whenever you like, and run the same command again. Another
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
    from scuff.cli.jobs import chosen_engine, resumable_job
    from scuff.studies.transform_space.dissimilar import plan_dissimilar, run_dissimilar

    plan = plan_dissimilar(
        reference,
        candidates,
        data,
        out,
        models=models,
        extractors=extractors,
        only=words(only),
        test=test,
        limit=limit,
        images=images,
        samples=samples,
        sampling=sampling,
        size=size,
        tolerance=tolerance,
        benchmarks=benchmarks,
        spread=spread,
        name=name,
        seed=seed,
        precision=precision,
        device=device,
        engine=chosen_engine(engine, address, processes),
    )
    _announce(plan)
    if dry_run:
        return
    with resumable_job() as advance:
        found = run_dissimilar(plan, progress=advance)
    _print_result(found)
    typer.echo(f"Suite: {out}/suite.yaml ({len(found.members)} corruptions; see them with scuff show {out}/suite.yaml)")
    typer.echo(f"Shifts: {out}/shifts.csv; severities: {out}/members.csv")
    typer.echo(f"Next: scuff report {shlex.quote(out)}")


def _announce(plan: DissimilarPlan) -> None:
    settings = plan.settings
    for role, title in (("reference", "Reference"), ("candidate", "Candidates")):
        levels = plan.levels(role)
        cells = sum(level is not None for its in levels.values() for level in its)
        said = f"{cells} severities in all" if cells else "without severities"
        typer.echo(f"{title}: {plan.suite(role).name}, {len(levels)} corruptions, {said}")
    typer.echo(f"Repetitions: {len(plan.repetitions)}, on {plan.device}; in {plan.store.root}")
    missing = sum(len(models) for own in plan.evaluations.values() for models in own.missing().values())
    tests = sum(len(own.cells) * len(own.classifiers) for own in plan.evaluations.values())
    typer.echo(f"Tests: {tests} of {settings['test_images']} images, of which {tests - missing} are there")
    levels = {role: plan.levels(role) for role in plan.evaluations}
    centres = len(plan.repetitions) * sum(len(own) for its in levels.values() for own in its.values())
    left = sum(len(cell.levels) for cell in plan.missing_centres())
    typer.echo(f"Centres: {centres} of {plan.images_per_centre} images, of which {centres - left} are there")
    for remark in plan.remarks():
        typer.echo(f"Note: {remark}")


def _print_result(found: Dissimilar) -> None:
    """All shifts, and the severities of those that are chosen."""
    from rich import box
    from rich.table import Table

    from scuff.cli.console import open_console

    lines = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("", "shift", "sd", "levels", "error"):
        lines.add_column(heading, justify="right" if heading in ("shift", "sd", "error") else "left", no_wrap=True)
    errors = found.picks.groupby("corruption")["error"].mean()
    for _, row in found.shifts.iterrows():
        corruption = row["corruption"]
        numbers = ("-" if row[key] != row[key] else f"{row[key]:.2f}" for key in ("shift", "sd"))
        chosen = row["chosen"]
        levels = ", ".join(map(str, found.levels[corruption])) if chosen else ""
        lines.add_row(corruption, *numbers, levels, f"{errors[corruption]:.3f}" if chosen else "")
    console = open_console()
    console.print(lines)
    console.print(
        f"Error {found.error:.4f}, that of the reference is {found.target:.4f}; distance {found.distance:.3f}, that of "
        f"the benchmarks drawn is {found.candidate_distances[found.repetition].mean():.3f} in the mean."
    )
    if not found.all_sets:
        console.print(f"{found.sets} sets of candidates were drawn at random: there are too many to try them all.")
