"""`scuff evaluate`: run models over a suite."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scuff.cli.files import Csv, Json, check_files, write_files
from scuff.cli.options import Address, DryRun, EngineName, Repair
from scuff.cli.study import options_command
from scuff.evaluation.options import EvaluationOptions

if TYPE_CHECKING:
    from scuff.cli.scores import Numbers
    from scuff.evaluation import Plan, Timing

Baseline = Annotated[
    str,
    typer.Option(
        metavar="alexnet|MODEL|none",
        help="Reference of corruption errors: published, a model of this evaluation, or FOLDER:MODEL of another.",
    ),
]


@options_command(EvaluationOptions)
def evaluate_command(
    options: dict[str, Any],
    *,
    engine: EngineName = "local",
    address: Address = None,
    baseline: Baseline = "alexnet",
    repair: Repair = False,
    dry_run: DryRun = False,
    as_json: Json = None,
    as_csv: Csv = None,
) -> None:
    """Measure how robust models are: clean, and on every corruption of a suite at every severity.

    Every model sees the same corrupted images. Each cell (a model, a corruption, a severity) becomes one file of rows:
    image, label, prediction, confidence. Interrupt it whenever you like: the same command resumes where it stopped, and
    further models can join the same folder later. It ends with tables of scores and of errors by corruption; scuff
    report DIR makes a page of them, and scuff compare says which of two models is better.

    \b
    Examples:
      scuff evaluate torchvision:resnet50 timm:convnext_tiny --suite imagenet-c --data folder:val --out runs/c
      scuff evaluate my_package.nets:model --suite cifar10-c --data cifar10:data --out runs/mine --limit 1000
      scuff evaluate net.safetensors --data cifar10-c:CIFAR-10-C --clean cifar10:data --out runs/published
      scuff evaluate timm:vit_base_patch16_224 --suite imagenet-noc --data folder:val --out runs/noc --dry-run
      scuff evaluate torchvision:resnet50 --data folder:val --lock imagenet-c.lock.yaml --out runs/locked
      scuff evaluate torchvision:resnet50 --data imagenet-a:imagenet-a --out runs/a
      scuff evaluate torchvision:fasterrcnn_resnet50_fpn --task detection --suite coco-c --data coco:COCO --out runs/d
      scuff evaluate torchvision:resnet50 --suite imagenet-c --data folder:val --out runs/quick --half-width 0.5
      scuff evaluate torchvision:resnet50 --suite imagenet-c --data folder:val --out runs/quick --passes 20000 \\
        --control runs/c:convnext_tiny
    """
    check_files(as_json, as_csv)
    from scuff.cli.jobs import chosen_engine, remove_damaged_cells, resumable_job
    from scuff.evaluation import plan_evaluation, run_plan
    from scuff.evaluation.sampled import is_sampled

    options["control"] = _absolute(options.get("control"))
    sampled = is_sampled(options.get("passes"), options.get("half_width"), options["control"])
    if sampled and baseline != "alexnet":
        raise ValueError("the corruption errors of a sample are relative to AlexNet: leave out --baseline")
    place = chosen_engine(engine, address, None)
    if repair:
        remove_damaged_cells(options["out"], dry_run)
    with resumable_job() as advance:
        plan = plan_evaluation(**{"suite": None} | options, progress=advance)
    _check_baseline(plan, baseline)
    _announce(plan)
    if sampled:
        numbers = _sample(plan, options, place, dry_run)
        if numbers is not None:
            write_files(*numbers, as_json, as_csv)
        return
    if dry_run:
        _estimate(plan, engine)
        return
    with resumable_job() as advance:
        timing = run_plan(plan, engine=place, progress=advance)
    _conclude(plan, timing, baseline)
    if as_json or as_csv:
        from scuff.cli.scores import score_numbers
        from scuff.evaluation import read_evaluation

        write_files(*score_numbers(read_evaluation(plan.store.root), baseline), as_json, as_csv)


def _absolute(control: str | None) -> str | None:
    """A control that a report finds wherever it is written from."""
    is_folder = control is not None and control != "clean" and "://" not in control
    return os.path.abspath(control) if is_folder else control  # type: ignore[arg-type, type-var]


def _check_baseline(plan: Plan, baseline: str) -> None:
    """Refuse an unknown baseline now, as it is used only when everything else is done."""
    from scuff.evaluation.results import is_evaluation
    from scuff.metrics import load_reference

    known = ("none", *plan.classifiers)
    evaluated = plan.store.names("models", ".json")
    if baseline not in known and f"models/{baseline}.json" not in evaluated and not is_evaluation(baseline):
        load_reference(baseline, plan.suite.name)


def _announce(plan: Plan) -> None:
    from scuff.cli.jobs import tell_unreadable

    missing = sum(map(len, plan.missing().values()))
    total = len(plan.cells) * len(plan.classifiers)
    from scuff.data.annotated import dropped_words
    from scuff.evaluation.remarks import doubts, input_words

    for name, classifier in plan.classifiers.items():
        typer.echo(f"Model: {name}; {input_words(plan, classifier)}")
    typer.echo(f"Data: {plan.settings['source']}, {plan.settings['images']} images")
    tell_unreadable(plan.images.unreadable)
    if dropped := dropped_words(plan.images.example()):
        typer.echo(f"{dropped}.")
    typer.echo(f"Suite: {plan.suite.name}, version {plan.suite.version}")
    if plan.lock is not None:
        typer.echo(f"Lock: {plan.lock.place}, {plan.lock.seal}; every cell is checked")
    typer.echo(f"Cells: {total}, of which {total - missing} exist already; in {plan.store.root}")
    for doubt in doubts(plan):
        typer.echo(f"Warning: {doubt}.", err=True)


def _estimate(plan: Plan, engine: str) -> None:
    from scuff.cli.jobs import print_costs
    from scuff.evaluation.cost import estimate

    missing = plan.missing()
    for cell, models in missing.items():
        typer.echo(f"  {cell}: {', '.join(models)}")
    typer.echo(f"Predictions: {plan.settings['images'] * sum(map(len, missing.values()))}")
    print_costs(estimate(plan, plan.how["device"], compile=bool(plan.how["compile"])), engine)


def _sample(plan: Plan, options: dict[str, Any], engine: Any, dry_run: bool) -> Numbers | None:
    """Take a sample of all passes, print what it says of the whole, and return its numbers; none of a dry run."""
    from scuff.cli.console import print_table
    from scuff.cli.jobs import resumable_job
    from scuff.cli.scores import sample_numbers
    from scuff.evaluation.sampled import Sampling, run_sampled
    from scuff.report.evaluation.sampled import control_words, sampled_table

    control = options["control"]
    sampling = Sampling(plan, control)
    done = {model: sampling.done(model) for model in plan.classifiers}
    asked = f"{options['passes']} passes" if options.get("passes") else f"+-{options['half_width']:g} points"
    typer.echo(f"A sample: {asked} of each model; of all {len(sampling.order)}, {max(done.values())} are there")
    if control is not None:
        typer.echo(f"Control: {control_words(control)}")
    if dry_run:
        return None
    wanted = options.get("passes"), options.get("half_width"), control
    with resumable_job() as advance:
        timing = run_sampled(plan, *wanted, engine=engine, progress=advance)
    _tell_timing(timing)
    scores = {model: sampling.scores(model) for model in plan.classifiers}
    print_table(sampled_table(scores))
    typer.echo("In brackets: 95 % intervals for what all passes over these images would give.")
    typer.echo(f"A page of them: scuff report {shlex.quote(plan.store.root)}")
    return sample_numbers(sampling, scores)


def _tell_timing(timing: Timing) -> None:
    from scuff.words import show_duration

    for note in timing.notes:
        typer.echo(f"Speed: {note}.")
    if timing.predictions:
        typer.echo(
            f"{timing.predictions} predictions in {show_duration(timing.seconds)}: {timing.per_second:.0f} per second; "
            f"corrupting took {timing.corrupting_share:.0%} of the work; pixels {timing.pixels}."
        )


def _conclude(plan: Plan, timing: Timing, baseline: str) -> None:
    from scuff.cli.scores import print_scores
    from scuff.evaluation import read_evaluation
    from scuff.evaluation.remarks import late_doubts

    _tell_timing(timing)
    print_scores(read_evaluation(plan.store.root), baseline)
    for doubt in late_doubts(plan):
        typer.echo(f"Warning: {doubt}.", err=True)
    typer.echo(f"Rows: {plan.store.root}")
    if not plan.store.root.startswith("memory:"):
        typer.echo(f"A page of them: scuff report {shlex.quote(plan.store.root)}")
