"""`scuff separation`: how far apart the classes of a dataset are."""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scuff.cli.options import Device, Resize, decimals

if TYPE_CHECKING:
    import pandas as pd

    from scuff.data import Points
    from scuff.metrics import Neighbours, Separation

QUANTILES = "0.001,0.01,0.05,0.5"
SHOWN = 20  # pairs of classes that are printed, and points that were left out


def separation_command(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA", help="FILE.csv, FILE.npz, or images: fashion, cifar10:DIR, folder:DIR, hf:DIR, ..."
        ),
    ],
    norm: Annotated[str, typer.Option(metavar="P", help="inf, 2, 1, or any other p of at least 1.")] = "inf",
    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Where a table has its classes. Default: label, class, target or y, else the last."
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(metavar="minmax|none", help="Numbers outside of 0..1: rescale each feature, or leave them."),
    ] = None,
    resize: Resize = None,
    crop: Annotated[int | None, typer.Option(metavar="PIXELS", help="Then cut out the middle square.")] = None,
    drop_duplicates: Annotated[
        bool, typer.Option("--drop-duplicates", help="Leave out points that coincide with points of another class.")
    ] = False,
    per_class: Annotated[
        bool, typer.Option("--per-class", help="Also the separation of every two classes, in pairs.csv.")
    ] = False,
    per_point: Annotated[
        bool, typer.Option("--per-point", help="Also the nearest point of another class for each, in nearest.npz.")
    ] = False,
    quantiles: Annotated[
        str | None,
        typer.Option(metavar="SHARES", help=f"Of these distances, as in 0.001,0.01. Default: {QUANTILES}."),
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="DIR", help="A folder for the results.")] = None,
    device: Device = None,
) -> None:
    """Find how far apart classes are: the smallest distance between two points of different classes, exactly.

    Half of it, epsilon_min, is the noise that a classifier can bear without a single mistake, because balls of that
    radius around points of different classes do not overlap. scuff mscr measures whether your model does.

    Tables need a first line with the names of the columns, and numbers from 0 to 1 (or --scale). An .npz holds points
    under x and labels under y. Of images with two splits both are taken; their pixels count from 0 to 1.

    Points that coincide but have different labels make the separation 0: they are named, and --drop-duplicates leaves
    them out. If wrong labels are likely, take a quantile of --per-point instead of the smallest distance.

    \b
    Examples:
      scuff separation points.csv
      scuff separation table.csv --label species --scale minmax --per-class
      scuff separation B_sep.npz --quantiles 0.001,0.01 --out runs/B
      scuff separation cifar10:data --norm 2
      scuff separation folder:photos --resize 64 --crop 64 --drop-duplicates

    \b
    Exit codes:
        0  all done
        1  the disk is full, or memory ran out
        2  the command makes no sense, or the data do not
      130  interrupted
    """
    shares = _shares(quantiles or QUANTILES)
    per_point = per_point or quantiles is not None

    from scuff.cli.jobs import resumable_job
    from scuff.data import open_points
    from scuff.studies.separation.distances import measure_separation

    with resumable_job(goes_on=False) as advance:
        points = open_points(data, label=label, scale=scale, resize=resize, crop=crop)
        found = measure_separation(
            points,
            out,
            norm=norm,
            drop_duplicates=drop_duplicates,
            per_class=per_class,
            per_point=per_point,
            device=device,
            progress=advance,
        )
    _print_separation(points, found.separation)
    if found.pairs is not None:
        _print_pairs(found.pairs, points.class_names, out)
    if found.neighbours is not None:
        _print_quantiles(found.neighbours, shares)
    if out is not None:
        typer.echo(f"Results: {out}; a page about them: scuff report {shlex.quote(out)}")
    typer.echo(f"Next: {_next(points, norm, drop_duplicates)}")


def _shares(text: str) -> list[float]:
    shares = decimals(text, "--quantiles")
    if not shares or not all(0 <= share <= 1 for share in shares):
        raise ValueError(f"--quantiles takes numbers from 0 to 1, as in {QUANTILES}; got {text!r}")
    return sorted(shares)


def _print_separation(points: Points, found: Separation) -> None:
    from scuff.metrics.norms import norm_name

    names, is_image = points.class_names, points.x.dtype == "uint8"
    shape = " x ".join(map(str, points.x.shape[1:]))
    classes = len({*points.labels.tolist()})
    typer.echo(f"Data: {points.name}, {len(points)} points ({shape}), {classes} classes")
    if points.label_column is not None and points.origin["label"] is None:
        typer.echo(f"Classes: column {points.label_column}")
    in_steps = is_image and math.isinf(found.norm)
    distance, radius = (
        f"{255 * value:g}/255 = {value:.8g}" if in_steps else f"{value:.8g}"
        for value in (found.distance, found.epsilon_min)
    )
    typer.echo(f"Separation 2r = {distance} ({norm_name(found.norm)})")
    typer.echo(f"epsilon_min = r = {radius}")
    first, second = (f"row {row} (class {names[k]})" for row, k in zip(found.rows, found.labels, strict=True))
    typer.echo(f"Nearest points: {first} and {second}; they differ most in {_difference(points, *found.rows)}")
    if found.dropped:
        more = ", ..." if len(found.dropped) > SHOWN else ""
        rows = ", ".join(map(str, found.dropped[:SHOWN]))
        typer.echo(
            f"Left out: {len(found.dropped)} points that coincide with points of another class: rows {rows}{more}"
        )


def _difference(points: Points, first: int, second: int) -> str:
    """Where two points differ most, and their values there."""
    import numpy as np

    a, b = (points.x[row].astype(np.float64) for row in (first, second))
    place = tuple(int(k) for k in np.unravel_index(np.abs(a - b).argmax(), a.shape))
    if points.features:
        name = points.features[place[0]]
    else:
        name = f"feature {place[0]}" if len(place) == 1 else f"pixel ({', '.join(map(str, place))})"
    return f"{name}: {a[place]:g} and {b[place]:g}"


def _print_pairs(pairs: pd.DataFrame, class_names: tuple[str, ...], out: str | None) -> None:
    """The classes that are nearest to each other first."""
    nearest = pairs.sort_values("distance", kind="stable").head(SHOWN)
    lines = [
        (class_names[pair.label_a], class_names[pair.label_b], f"{pair.distance:.6g}", f"{pair.row_a}", f"{pair.row_b}")
        for pair in nearest.itertuples()
    ]
    _print_table(("class", "and class", "distance", "row", "and row"), lines, texts=2)
    if len(pairs) > SHOWN:
        where = "with --out DIR they come into pairs.csv" if out is None else f"all are in {out}/pairs.csv"
        typer.echo(f"The {SHOWN} nearest of {len(pairs)} pairs of classes; {where}")


def _print_quantiles(neighbours: Neighbours, shares: list[float]) -> None:
    rows = [("smallest", 0.0), *((f"{share:g} quantile", share) for share in shares), ("largest", 1.0)]
    found = [(name, neighbours.quantile(share)) for name, share in rows]
    found.append(("mean", float(neighbours.distances.mean())))
    lines = [(name, f"{distance:.6g}", f"{distance / 2:.6g}") for name, distance in found]
    _print_table(("nearest point of another class", "distance", "half of it"), lines, texts=1)


def _print_table(headings: tuple[str, ...], lines: list[tuple[str, ...]], texts: int) -> None:
    from rich import box
    from rich.table import Table

    from scuff.cli.console import open_console

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for k, heading in enumerate(headings):
        table.add_column(heading, justify="left" if k < texts else "right", no_wrap=True)
    for line in lines:
        table.add_row(*line)
    open_console().print(table)


def _next(points: Points, norm: str, drop_duplicates: bool) -> str:
    """The command that measures a model with this separation."""
    origin: dict[str, Any] = {"norm": None if norm == "inf" else norm, **points.origin}
    options = [f"--{name}={value}" for name, value in origin.items() if value is not None and name != "data"]
    options += ["--drop-duplicates"] if drop_duplicates else []
    model = "MODEL" if points.x.dtype == "uint8" else "random-forest"
    place = f"runs/{points.name}"
    return shlex.join(["scuff", "mscr", "--model", model, "--data", origin["data"], *options, "--out", place])
