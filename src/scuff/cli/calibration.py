"""`scuff design calibrate`: severity ranges for a model and images of your own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import typer

from scuff.cli.study import study_command
from scuff.studies.calibration.study import CalibrationStudy

if TYPE_CHECKING:
    import pandas as pd


@study_command(CalibrationStudy)
def calibrate_command(plan: Any, result: Any) -> None:
    """Find severity ranges for your model and your images.

    A range that is right for photographs of 224 pixels may do nothing to small images, or ruin them. Here, every
    corruption gets a range from where the model keeps 0.95 of its clean accuracy (R = 0.95) to where it keeps half of
    it. Use a model that was trained on clean images: its ranges then serve for all others.

    It takes six to eight passes over the images per corruption. Where R = 0.5 cannot be reached (a hue can turn by half
    a circle, and no more), the range ends at the limit, and a note says so. A corruption that does nothing to these
    images is left out. Interrupt it whenever you like: the same command resumes with the corruption it was at.

    \b
    Examples:
      scuff design calibrate net.safetensors --data cifar10:data --limit 2000 --out cifar10-noc.yaml
      scuff design calibrate torchvision:resnet18 --data folder:val --only rain,hue,shear --out mine.yaml
      scuff evaluate net.safetensors --suite cifar10-noc.yaml --data cifar10:data --out runs/noc
    """
    suite, table = result
    typer.echo(suite.about)
    _print_table(table)
    size = f"{len(suite.entries)} of {len(table)} entries, for images of {suite.size} pixels"
    typer.echo(f"Suite: {plan.work.file}, {size}")


def _print_table(table: pd.DataFrame) -> None:
    """A line per entry, and below the notes on some."""
    from scuff.cli.console import print_table
    from scuff.tables import Column, Table
    from scuff.words import hundredths

    def severity(end: str) -> Column:
        return Column(end, lambda row: None if math.isnan(row[f"robustness_{end}"]) else row[end], "{:g}".format)

    def robustness(end: str) -> Column:
        return Column("R there", f"robustness_{end}", hundredths, interval=True)

    columns = [Column("", "entry"), Column("parameter", "parameter"), Column("before", "before", str)]
    columns += [make(end) for end in ("mildest", "severest") for make in (severity, robustness)]
    print_table(Table.of("", table, [*columns, Column("passes", "evaluations", str)]))
    typer.echo("R = accuracy / clean accuracy. In brackets: 95 % intervals by bootstrap over images.")
    for _, row in table[table["note"] != ""].iterrows():
        typer.echo(f"  {row['entry']}: {row['note']}")
