"""`scuff separation` and `scuff mscr`: how far apart classes are, and what noise within that distance costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scuff.cli.study import study_command
from scuff.options import numbers
from scuff.studies.separation.study import MscrStudy, SeparationStudy
from scuff.tables import Table

if TYPE_CHECKING:
    import pandas as pd

    from scuff.data import Points
    from scuff.metrics import Neighbours, RobustAccuracies, Separation

DEFAULT_QUANTILES = "0.001,0.01,0.05,0.5"
MOST_LISTED = 20  # pairs of classes that are printed, and rows that were left out

Quantiles = Annotated[
    str | None,
    typer.Option(
        "--quantiles",
        metavar="SHARES",
        help=f"Quantiles of the distances to print, as in 0.001,0.01; implies --per-point (default "
        f"{DEFAULT_QUANTILES}).",
    ),
]
ProtocolName = Annotated[
    str | None,
    typer.Option(
        "--protocol",
        metavar="NAME",
        help="Experiment of the paper: paper-2d, paper-copies or paper-cifar10; other options override it.",
    ),
]
AsPaper = Annotated[
    bool, typer.Option("--as-paper", help="Print ratios of means, and intervals as in the paper's tables.")
]


# --- separation -------------------------------------------------------------------------------------------------------


def _ask_for_quantiles(options: dict[str, Any], extra: dict[str, Any]) -> None:
    """Quantiles are those of the distances of all points."""
    text = extra["quantiles"]
    shares = numbers(text or DEFAULT_QUANTILES, "--quantiles", float, DEFAULT_QUANTILES)
    if not shares or not all(0 <= share <= 1 for share in shares):
        raise ValueError(f"--quantiles takes numbers from 0 to 1, as in {DEFAULT_QUANTILES}; got {text!r}")
    extra["quantiles"] = sorted(shares)
    options["per_point"] = options["per_point"] or text is not None


@study_command(SeparationStudy, prepare=_ask_for_quantiles)
def separation_command(plan: Any, separation: Any, *, quantiles: Quantiles = None) -> None:
    """Find how far apart classes are: the smallest distance between two points of different classes, exactly.

    Half of it, epsilon_min, is the radius of noise that a classifier can bear without a single mistake, because balls
    of that radius around points of different classes do not overlap. scuff mscr measures whether your model does.

    Tables need a first line with the names of the columns, and numbers from 0 to 1 (or --scale). An .npz holds points
    under x and labels under y. If images have two splits, both are used; their pixels count from 0 to 1.

    Points that coincide but have different labels make the separation 0: they are named, and --drop-duplicates leaves
    them out. If wrong labels are likely, take a quantile of --per-point instead of the smallest distance.

    \b
    Examples:
      scuff separation points.csv
      scuff separation table.csv --label species --scale minmax --per-class
      scuff separation B_sep.npz --quantiles 0.001,0.01 --out runs/B
      scuff separation cifar10:data --norm 2
      scuff separation folder:photos --resize 64 --crop 64 --drop-duplicates
    """
    work = plan.work
    _print_separation(work.points, separation)
    if work.pairs is not None:
        _print_pairs(work.pairs, work.points.class_names, plan.store)
    if work.neighbours is not None:
        _print_quantiles(work.neighbours, quantiles)  # type: ignore[arg-type]
    typer.echo(f"Next: {_mscr_line(plan.study, work.points)}")


def _print_separation(points: Points, separation: Separation) -> None:
    from scuff.metrics.norms import norm_name

    names, in_steps = points.class_names, points.x.dtype == "uint8" and math.isinf(separation.norm)
    distance, radius = (
        f"{255 * value:g}/255 = {value:.8g}" if in_steps else f"{value:.8g}"
        for value in (separation.distance, separation.epsilon_min)
    )
    typer.echo(f"Separation 2r = {distance} ({norm_name(separation.norm)})")
    typer.echo(f"epsilon_min = r = {radius}")
    pair = zip(separation.rows, separation.labels, strict=True)
    first, second = (f"row {row} (class {names[label]})" for row, label in pair)
    typer.echo(f"Nearest points: {first} and {second}; they differ most in {_difference(points, *separation.rows)}")
    if separation.dropped:
        rows = ", ".join(map(str, separation.dropped[:MOST_LISTED]))
        more = ", ..." if len(separation.dropped) > MOST_LISTED else ""
        count = len(separation.dropped)
        typer.echo(f"Left out: {count} points that coincide with points of another class: rows {rows}{more}")


def _difference(points: Points, first: int, second: int) -> str:
    """The feature in which two points differ most, and their values there."""
    import numpy as np

    a, b = (points.x[row].astype(np.float64) for row in (first, second))
    place = tuple(int(k) for k in np.unravel_index(np.abs(a - b).argmax(), a.shape))
    if points.features:
        name = points.features[place[0]]
    else:
        name = f"feature {place[0]}" if len(place) == 1 else f"pixel ({', '.join(map(str, place))})"
    return f"{name}: {a[place]:g} and {b[place]:g}"


def _print_pairs(pairs: pd.DataFrame, class_names: Sequence[str], store: Any) -> None:
    """The classes that are nearest to each other first."""
    from scuff.cli.console import print_table

    lines = [
        (class_names[pair.label_a], class_names[pair.label_b], f"{pair.distance:.6g}", f"{pair.row_a}", f"{pair.row_b}")
        for pair in pairs.sort_values("distance", kind="stable").head(MOST_LISTED).itertuples()
    ]
    print_table(Table.of_texts(("class", "and class", "distance", "row", "and row"), lines, texts=(0, 1)))
    if len(pairs) > MOST_LISTED:
        where = "--out DIR keeps all of them in pairs.csv" if store is None else f"all are in {store.root}/pairs.csv"
        typer.echo(f"The {MOST_LISTED} nearest of {len(pairs)} pairs of classes; {where}")


def _print_quantiles(neighbours: Neighbours, shares: Sequence[float]) -> None:
    from scuff.cli.console import print_table

    rows = [("smallest", 0.0), *((f"{share:g} quantile", share) for share in shares), ("largest", 1.0)]
    values = [(name, neighbours.quantile(share)) for name, share in rows]
    values.append(("mean", float(neighbours.distances.mean())))
    lines = [(name, f"{distance:.6g}", f"{distance / 2:.6g}") for name, distance in values]
    print_table(Table.of_texts(("nearest point of another class", "distance", "half of it"), lines))


def _mscr_line(study: SeparationStudy, points: Points) -> str:
    """The command that measures a model with this separation."""
    from scuff.studies.base import again

    model = "MODEL" if points.x.dtype == "uint8" else "random-forest"
    return again(MscrStudy, {**study.options(), "models": [model]}, f"runs/{points.name}").words


# --- MSCR -------------------------------------------------------------------------------------------------------------


def _follow_protocol(options: dict[str, Any], extra: dict[str, Any]) -> None:
    """Options that are not given are those of the protocol."""
    from scuff.studies.separation.study import find_protocol

    name = extra.pop("protocol")
    for key, value in ({} if name is None else find_protocol(name)).items():
        options[key] = value if options[key] is None else options[key]
    if options["models"] is None:
        raise ValueError("no model is given; as in --model random-forest, or --protocol paper-2d")


@study_command(MscrStudy, prepare=_follow_protocol, fills_in=["models"])
def mscr_command(plan: Any, accuracies: Any, *, protocol: ProtocolName = None, as_paper: AsPaper = False) -> None:
    """Measure minimal separation corruption robustness (MSCR).

    Noise of up to half the distance between the nearest points of different classes, epsilon_min, need not cost any
    accuracy. MSCR is what it costs: (accuracy with such noise - accuracy without) / accuracy without, in per cent.
    Below 0: avoidable loss. 0: as robust as the data permit. Above 0: noise even corrects mistakes.

    Models are trained on points with several levels of noise, and tested with several levels: the matrix shows what
    robustness costs in accuracy. A model that is trained already is tested as it is. No knowledge of corruptions is
    needed; tables work as well as images. --dry-run computes the separation, and nothing else.

    \b
    Examples:
      scuff mscr --model random-forest --model 1-nn --data points.csv --out runs/points
      scuff mscr --model sklearn.svm:SVC --data table.csv --label species --scale minmax --out runs/svm
      scuff mscr --model recipe:fashion --data fashion --runs 3 --out runs/fashion
      scuff mscr --model recipe:cifar-fast --data cifar10:data --copies 1 --runs 3 --out runs/cifar
      scuff mscr --model net.safetensors --data cifar10:data --out runs/net
      scuff mscr --protocol paper-2d --data B_sep.npz --runs 100 --out runs/paper
    """
    interval = "student"
    if as_paper:
        interval = "paper-images" if plan.work.protocol.points.x.dtype == "uint8" else "paper"
    _print_matrices(accuracies, interval)
    _print_comparisons(accuracies)
    planned = plan.settings
    if len(accuracies.runs) < len(planned["runs"]) or len(accuracies.models) < len(planned["models"]):
        typer.echo(
            f"Shown: {len(accuracies.runs)} of {len(planned['runs'])} runs of this folder, those that are finished for "
            f"all of {', '.join(accuracies.models)}"
        )
    typer.echo(f"Accuracies: {plan.store.root}/accuracies.csv")


def _print_matrices(accuracies: RobustAccuracies, interval: str) -> None:
    """Accuracies by test noise, down, and training noise, across; the last line is the MSCR."""
    from scuff.cli.console import print_table
    from scuff.metrics import accuracy_table, mscr_scores

    average = "ratios" if interval == "student" else "means"
    scores = mscr_scores(accuracies, average=average, interval=interval)  # type: ignore[arg-type]
    for model, copies in product(accuracies.models, accuracies.copies):
        line = scores[(scores["model"] == model) & (scores["copies"] == copies)]
        heading = model if len(accuracies.copies) == 1 else f"{model}, {copies} copies"
        typer.echo(f"{heading}: accuracy % by test noise (down) and training noise (across); * best of its line")
        table = accuracy_table(accuracies, model, copies, interval=interval)  # type: ignore[arg-type]
        lines = [
            (f"{radius:.4g}", *(_accuracy(row) + ("*" if row.best else " ") for row in cells.itertuples()))
            for radius, cells in table.groupby("test_noise")
        ]
        lines.append(("MSCR %", *(_mscr(row) + " " for row in line.itertuples())))
        print_table(Table.of_texts(("", *(f"{radius:.4g}" for radius in accuracies.train_noise)), lines))
    typer.echo(f"Intervals: {scores['interval'].iloc[0]}.")


def _print_comparisons(accuracies: RobustAccuracies) -> None:
    """What every training noise changes against the smallest, and how many pairs of them differ."""
    from scuff.cli.console import print_table
    from scuff.report.separation.comparisons import ABOUT_RUNS, changes_table, comparison_words
    from scuff.report.separation.scores import measure_mscr

    scores = measure_mscr(accuracies)
    if not scores.has_comparisons:
        return
    for model in scores.models:
        print_table(changes_table(scores, model))
        typer.echo(comparison_words(scores, model))
    typer.echo(ABOUT_RUNS)


def _accuracy(row: Any) -> str:
    half = "" if row.low != row.low else f" ±{100 * max(row.high - row.value, row.value - row.low):.2f}"  # ends at 1
    return f"{100 * row.value:.2f}{half}"


def _mscr(row: Any) -> str:
    half = "" if row.mscr_low != row.mscr_low else f" ±{50 * (row.mscr_high - row.mscr_low):.3f}"
    return f"{100 * row.mscr:.3f}{half}"
