"""`scuff design calibrate`: severity ranges for a model and images of your own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scuff.cli.options import Address, Device, EngineName, Resize, Seed, decimals, words

if TYPE_CHECKING:
    import pandas as pd


def calibrate_command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="torchvision:NAME, timm:NAME, onnx:FILE, FILE.safetensors, FILE.pt, package.module:object.",
        ),
    ],
    data: Annotated[
        str,
        typer.Option(metavar="SOURCE", help="Clean images: fashion, cifar10:DIR, folder:DIR, npz:FILE, hf:DIR, ..."),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE.yaml", help="The suite to write.")],
    suite: Annotated[
        str, typer.Option(help="The suite whose ranges to begin with: its name (see scuff list), or its file.")
    ] = "noc-candidates",
    only: Annotated[
        str | None, typer.Option(metavar="NAMES", help="These entries, as in rain,hue. Default: all of the benchmark.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", help="So many images, evenly spread over the data. 2000 tell R to about 0.03."),
    ] = None,
    upper: Annotated[float, typer.Option(metavar="R", help="What is left of the accuracy at the mild end.")] = 0.95,
    lower: Annotated[float, typer.Option(metavar="R", help="What is left of it at the severe end.")] = 0.5,
    name: Annotated[str | None, typer.Option(help="The name of the new suite. Default: that of its file.")] = None,
    resize: Resize = None,
    crop: Annotated[
        int | None,
        typer.Option(metavar="PIXELS", help="Then cut out the middle square. Default: as the model wants it."),
    ] = None,
    seed: Seed = 0,
    mean: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Normalisation: (pixel - mean) / std, pixels in 0..1.")
    ] = None,
    std: Annotated[str | None, typer.Option(metavar="NUMBERS", help="As in 0.229,0.224,0.225.")] = None,
    device: Device = None,
    engine: EngineName = "local",
    address: Address = None,
    processes: Annotated[int | None, typer.Option(metavar="N", help="Cells at once. Default: as many as fit.")] = None,
) -> None:
    """Find severity ranges for your model and your images.

    A range that is right for photographs of 224 pixels may do nothing to small images, or ruin them. Here, every
    corruption gets a range from where the model keeps 0.95 of its clean accuracy (R = 0.95) to where it keeps half of
    it. Take a model that was trained on clean images: its ranges then serve for all others.

    It takes six to eight passes over the images per corruption. Where R = 0.5 cannot be reached (a hue can turn by half
    a circle, and no more), the range ends at the limit, and a note says so. A corruption that does nothing to these
    images is left out. Interrupt it whenever you like: the same command goes on with the corruption that it was at.

    \b
    Examples:
      scuff design calibrate net.safetensors --data cifar10:data --limit 2000 --out cifar10-noc.yaml
      scuff design calibrate torchvision:resnet18 --data folder:val --only rain,hue,shear --out mine.yaml
      scuff evaluate net.safetensors --suite cifar10-noc.yaml --data cifar10:data --out runs/noc
    """
    from scuff.cli.jobs import chosen_engine, resumable_job
    from scuff.studies.calibration.study import calibrate_suite

    with resumable_job() as advance:
        found, table = calibrate_suite(
            model,
            suite,
            data,
            name=name,
            only=words(only),
            limit=limit,
            upper=upper,
            lower=lower,
            seed=seed,
            resize=resize,
            crop=crop,
            mean=decimals(mean, "--mean"),
            std=decimals(std, "--std"),
            device=device,
            engine=chosen_engine(engine, address, processes),
            out=out,
            progress=advance,
        )
    typer.echo(found.about)
    _print_table(table)
    typer.echo(f"Suite: {out}, {len(found.entries)} of {len(table)} entries, for images of {found.size} pixels")


def _print_table(table: pd.DataFrame) -> None:
    """A line per entry, and below what is to be said of some."""
    from rich import box
    from rich.table import Table

    from scuff.cli.console import open_console

    lines = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("", "parameter", "before", "mildest", "R there", "severest", "R there", "passes"):
        lines.add_column(heading, justify="left" if heading in ("", "parameter") else "right", no_wrap=True)
    for _, row in table.iterrows():
        ends = [_end(row, end) for end in ("mildest", "severest")]
        lines.add_row(row["entry"], row["parameter"], row["before"], *ends[0], *ends[1], str(row["evaluations"]))
    console = open_console()
    console.print(lines)
    console.print("R = accuracy / clean accuracy. In brackets: 95 % intervals by bootstrap over images.")
    for _, row in table[table["note"] != ""].iterrows():
        console.print(f"  {row['entry']}: {row['note']}")


def _end(row: pd.Series, end: str) -> tuple[str, str]:
    """A severity, and the robustness there; dashes if there is none."""
    value, low, high = (row[f"robustness_{end}{part}"] for part in ("", "_low", "_high"))
    if value != value:
        return "-", "-"
    return f"{row[end]:g}", f"{value:.2f} [{low:.2f}, {high:.2f}]"
