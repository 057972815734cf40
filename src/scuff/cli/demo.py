"""`scuff demo`: the main jobs from end to end, without data of your own."""

from __future__ import annotations

import shlex
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

DATA, RECIPE = "fashion-32", "fashion"  # at the size that the suite was made for
SUITE = "cifar10-c"  # the suite for small images
TEST_IMAGES = 1000  # enough to see the differences, few enough for a minute
EVALUATED = (
    "gaussian_noise",
    "impulse_noise",
    "defocus_blur",
    "zoom_blur",
    "snow",
    "fog",
    "brightness",
    "contrast",
)  # of all four families
COMPARED = ("gaussian_noise", "shot_noise", "defocus_blur", "motion_blur", "fog", "contrast")  # three similar pairs


def demo_command(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Output folder.")] = Path("scuff-demo"),
    overlap: Annotated[bool, typer.Option("--overlap", help="Also measure how far corruptions overlap.")] = False,
    train: Annotated[
        bool, typer.Option("--train", help="Train the networks here instead of using the weights in the package.")
    ] = False,
) -> None:
    """Measure how robust a small network is, and write the report, in seconds.

    Needs no data: a part of Fashion-MNIST comes with the package, and so do the weights of the networks. One was
    trained on clean images; it is evaluated on eight corruptions of CIFAR-10-C, each at five severities. With
    --overlap, six more networks, each trained with one of six corruptions, are tested on all of them; the report then
    shows which corruptions overlap. With --train, all of them are trained here, in a minute or so each. Run it again,
    and existing results are reused. The last line printed is the name of the report.

    \b
    Examples:
      scuff demo --out out/demo
      scuff demo --out out/demo --overlap
      scuff demo --out out/trained --overlap --train
    """
    from scuff.cli.jobs import resumable_job
    from scuff.cli.scores import print_scores
    from scuff.evaluation import plan_evaluation, read_evaluation, run_plan
    from scuff.report.page import need_drawing_packages
    from scuff.report.write import read_page, write_page
    from scuff.studies import OverlapStudy
    from scuff.training import train as train_network
    from scuff.training.images import fingerprint_of, open_training_source
    from scuff.training.recipes import find_recipe
    from scuff.training.run import describe

    need_drawing_packages()
    model, rows, pairs, recipe = out / "small-cnn.safetensors", out / "evaluation", out / "overlap", find_recipe(RECIPE)
    origin = describe(fingerprint_of(open_training_source(DATA), recipe), recipe, None, None, seed=0)
    command = f"scuff train --data {DATA} --recipe {recipe.name}"
    with resumable_job() as advance:
        if not train and _bring_weights("standard", origin, model):
            typer.echo(f"The network comes with the package; it was trained on clean images by {command}.")
        elif model.exists():
            typer.echo(f"The network in {model} is used; it was trained on clean images.")
        else:
            typer.echo(f"The network is trained on clean images, by {command}.")
        train_network(DATA, recipe, model, progress=lambda done, total: advance("training", done, total))
        typer.echo(f"Evaluating it: clean, and on {len(EVALUATED)} corruptions of {SUITE} at five severities.")
        run_plan(
            plan_evaluation({"small-cnn": model}, SUITE, DATA, rows, only=EVALUATED, limit=TEST_IMAGES),
            progress=advance,
        )
        if overlap:
            plan = OverlapStudy(SUITE, DATA, pairs, recipe=recipe, only=COMPARED, limit=TEST_IMAGES).plan()
            cells = [] if train else plan.work.cells
            brought = [cell for cell in cells if _bring_weights(Path(cell.out).stem, cell.origin(), cell.out)]
            left = len(plan.work.cells) - len(brought)
            what = "come with the package, trained by scuff overlap" if not left else f"of which {left} are trained now"
            typer.echo(f"Seven networks: clean, and with {', '.join(COMPARED)}; they {what}. Testing each on all.")
            plan.run(advance)
    print_scores(read_evaluation(rows), baseline="none")
    page = read_page(str(rows), overlap=pairs if overlap else None)
    if not overlap:
        further = shlex.join(["scuff", "demo", "--out", str(out), "--overlap"])
        page = replace(page, verdicts=[*page.verdicts, ("Next", f"Which corruptions overlap? Run {further}.")])
        typer.echo(f"Which corruptions overlap? {further}")
    report = write_page(page, str(rows), out / "report.html", title="A small network on eight corruptions")
    typer.echo(f"Report: {report}")


def _bring_weights(name: str, origin: dict[str, Any], out: Path | str) -> bool:
    """Put weights of the package in their place, if they are those that a training would make; say whether they are."""
    from scuff.models import read_origin
    from scuff.store import find_file

    with resources.as_file(resources.files("scuff.assets") / "demo" / f"{name}.safetensors") as shipped:
        if not shipped.exists() or read_origin(shipped) != origin:
            return False
        store, file = find_file(out)
        if not store.exists(file):
            store.write(file, shipped.read_bytes())
    return True
