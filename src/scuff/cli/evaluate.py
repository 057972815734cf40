"""`scuff evaluate`: run models over a suite."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from scuff.cli.options import (
    Address,
    Baseline,
    Device,
    EngineName,
    Only,
    Resize,
    Seed,
    Severity,
    Validation,
    decimals,
    whole_numbers,
    words,
)

if TYPE_CHECKING:
    from scuff.evaluation import Plan, Timing


def evaluate_command(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="torchvision:NAME, timm:NAME, onnx:FILE, FILE.safetensors, FILE.pt, package.module:object; "
            "OTHER=MODEL gives it another name.",
        ),
    ],
    data: Annotated[
        str,
        typer.Option(
            metavar="SOURCE",
            help="fashion, cifar10:DIR, folder:DIR, npz:FILE, hf:DIR, imagenet-a:DIR, ...; or published corrupted "
            "data: cifar10-c:DIR, imagenet-c:DIR.",
        ),
    ],
    out: Annotated[str, typer.Option(metavar="DIR", help="A folder for the results; any fsspec path, as s3://...")],
    suite: Annotated[
        str | None, typer.Option(help="A suite's name (see scuff list), or a suite file. Without: images as they are.")
    ] = None,
    only: Only = None,
    severity: Severity = None,
    validation: Validation = False,
    limit: Annotated[int | None, typer.Option(metavar="N", help="So many images, evenly spread over the data.")] = None,
    clean: Annotated[
        str | None, typer.Option(metavar="SOURCE", help="The clean counterpart of published corrupted data.")
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Keep to the classes of imagenet-a, imagenet-r or objectnet."),
    ] = None,
    resize: Resize = None,
    crop: Annotated[
        int | None,
        typer.Option(metavar="PIXELS", help="Then cut out the middle square. Default: as the models want it."),
    ] = None,
    seed: Seed = 0,
    as_published: Annotated[
        bool, typer.Option("--as-published", help="Send corrupted images through the JPEG of published ImageNet-C.")
    ] = False,
    precision: Annotated[
        str, typer.Option(metavar="float32|bfloat16|float16", help="The models' arithmetic.")
    ] = "float32",
    mean: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Normalisation: (pixel - mean) / std, pixels in 0..1.")
    ] = None,
    std: Annotated[str | None, typer.Option(metavar="NUMBERS", help="As in 0.229,0.224,0.225.")] = None,
    device: Device = None,
    batch_size: Annotated[
        int | None, typer.Option(metavar="N", help="Images at a time; halved when memory runs out.")
    ] = None,
    compile: Annotated[bool, typer.Option("--compile", help="Compile the models with torch.compile.")] = False,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes that decode pictures. 0: none but this one.")
    ] = None,
    engine: EngineName = "local",
    address: Address = None,
    baseline: Baseline = "alexnet",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done and what it costs, and stop.")
    ] = False,
) -> None:
    """Measure how robust models are: clean, and on every corruption of a suite at every severity.

    Every model sees the same corrupted images. Each cell (a model, a corruption, a severity) becomes one file of rows:
    image, label, prediction, confidence. Interrupt it whenever you like: the same command goes on where it stopped, and
    further models can join the same folder later. In the end a table of scores with their intervals is printed; scuff
    report DIR makes a page of it.

    \b
    Examples:
      scuff evaluate torchvision:resnet50 timm:convnext_tiny --suite imagenet-c --data folder:val --out runs/c
      scuff evaluate my_package.nets:model --suite cifar10-c --data cifar10:data --out runs/mine --limit 1000
      scuff evaluate net.safetensors --data cifar10-c:CIFAR-10-C --clean cifar10:data --out runs/published
      scuff evaluate timm:vit_base_patch16_224 --suite imagenet-noc --data folder:val --out runs/noc --dry-run
      scuff evaluate torchvision:resnet50 --data imagenet-a:imagenet-a --out runs/a

    \b
    Exit codes:
        0  all done
        1  cells failed, the disk is full, or memory ran out
        2  the command makes no sense
      130  interrupted
    """
    from scuff.cli.jobs import chosen_engine, resumable_job
    from scuff.evaluation import plan_evaluation, run_plan

    plan = plan_evaluation(
        models,
        suite,
        data,
        out,
        clean=clean,
        classes=classes,
        only=words(only),
        severities=whole_numbers(severity, "--severity"),
        validation=validation,
        seed=seed,
        limit=limit,
        resize=resize,
        crop=crop,
        as_published=as_published,
        precision=precision,
        mean=decimals(mean, "--mean"),
        std=decimals(std, "--std"),
    )
    _check_baseline(plan, baseline)
    _announce(plan)
    if dry_run:
        _estimate(plan, device, compile, engine)
        return

    with resumable_job() as advance:
        timing = run_plan(
            plan,
            device=device,
            batch_size=batch_size,
            compile=compile,
            workers=workers,
            engine=chosen_engine(engine, address, None),
            progress=advance,
        )
    _conclude(plan, timing, baseline)


def _check_baseline(plan: Plan, baseline: str) -> None:
    """Refuse an unknown baseline now: it is used when everything else is done."""
    from scuff.metrics import load_reference

    there = plan.store.names("models", ".json")
    if baseline != "none" and baseline not in plan.classifiers and f"models/{baseline}.json" not in there:
        load_reference(baseline, plan.suite.name)


def _announce(plan: Plan) -> None:
    missing = sum(map(len, plan.missing().values()))
    total = len(plan.cells) * len(plan.classifiers)
    typer.echo(f"Models: {', '.join(plan.classifiers)}")
    typer.echo(f"Data: {plan.settings['source']}, {plan.settings['images']} images")
    typer.echo(f"Suite: {plan.suite.name}, version {plan.suite.version}")
    typer.echo(f"Cells: {total}, of which {total - missing} are there already; in {plan.store.root}")


def _estimate(plan: Plan, device: str | None, compile: bool, engine: str) -> None:
    from scuff.cli.costs import print_costs
    from scuff.evaluation.cost import estimate

    missing = plan.missing()
    for cell, models in missing.items():
        level = "" if cell.severity is None else f" {cell.severity}"
        typer.echo(f"  {cell.entry}{level}: {', '.join(models)}")
    typer.echo(f"Predictions: {plan.settings['images'] * sum(map(len, missing.values()))}")
    print_costs(estimate(plan, device, compile=compile), engine)


def _conclude(plan: Plan, timing: Timing, baseline: str) -> None:
    from scuff.cli.scores import print_scores
    from scuff.durations import show_duration
    from scuff.evaluation import read_evaluation

    if timing.predictions:
        typer.echo(
            f"{timing.predictions} predictions in {show_duration(timing.seconds)}: {timing.per_second:.0f} per second; "
            f"corrupting took {timing.corrupting_share:.0%} of the work; pixels {timing.pixels}."
        )
    print_scores(read_evaluation(plan.store.root), baseline)
    typer.echo(f"Rows: {plan.store.root}")
    if not plan.store.root.startswith("memory:"):
        typer.echo(f"A page of them: scuff report {shlex.quote(plan.store.root)}")
