"""What a dry run says about costs: a table of kinds of cells, and how long they take on one GPU and on several."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from scuff.tables import Table
from scuff.words import show_duration

if TYPE_CHECKING:
    from scuff.engine.cost import CellCost, StudyCost

EXAMPLE_WORKERS = 8
HEADINGS = ("kind", "cells left", "s per cell", "hours", "bytes", "how")


def print_costs(cost: StudyCost, engine: str = "local") -> None:
    """Print what is left of each kind of cells, and in total.

    Cells may be faster or slower on a cluster than measured on this machine, unless the study's journals tell.
    """
    if not cost.cells:
        typer.echo("To compute: nothing; all results exist.")
        return
    from scuff.cli.console import print_table

    kinds = cost.kinds()
    rows = [_row(kind, parts) for kind, parts in kinds.items()]
    if len(kinds) > 1:
        rows.append(["total", str(cost.cells), "", _hours(cost.parts), show_bytes(cost.bytes), ""])
    print_table(Table.of_texts(HEADINGS, rows, texts=(0, len(HEADINGS) - 1)))
    typer.echo(f"To compute: {_hours(cost.parts, ' hours')}; {show_bytes(cost.bytes)} of files.")
    if any(part.how.startswith("measured now") for part in cost.parts):
        cluster = ", which may not be like those of the cluster" if engine != "local" else ""
        typer.echo(f"Measured on this machine: {cost.machine}{cluster}.")
    if cost.warm_up >= 1:
        typer.echo(f"Before its first cells, every worker compiles and warms up: about {show_duration(cost.warm_up)}.")
    for workers in (1, EXAMPLE_WORKERS) if cost.cells > 1 else (1,):
        seconds = cost.wall_seconds(workers)
        if seconds == seconds:
            typer.echo(f"On {_workers(workers, cost.parts)}: about {show_duration(seconds)}.")


def _row(kind: str, parts: tuple[CellCost, ...]) -> list[str]:
    each = [part.seconds_per_cell for part in parts if part.cells]
    low, high = min(each, default=0.0), max(each, default=0.0)
    seconds = _number(low) if high - low < 0.05 * high or high != high else f"{_number(low)} to {_number(high)}"
    cells, size = sum(part.cells for part in parts), sum(part.bytes for part in parts)
    how = "; ".join(dict.fromkeys(part.how for part in parts))
    return [kind, str(cells), seconds, _hours(parts), show_bytes(size), how]


def _hours(parts: tuple[CellCost, ...], unit: str = "") -> str:
    """Hours of GPUs and of processors, as far as cells need them."""
    seconds = {device: [part.seconds for part in parts if part.device == device] for device in ("gpu", "cpu")}
    return ", ".join(f"{_number(sum(each) / 3600)} {name.upper()}{unit}" for name, each in seconds.items() if each)


def _workers(workers: int, parts: tuple[CellCost, ...]) -> str:
    plural = "" if workers == 1 else "s"
    if any(part.device == "gpu" for part in parts):
        return f"{workers} GPU{plural}"
    most = max(part.units for part in parts)
    return f"{workers} processor{plural}" if most == 1 else f"{workers} machine{plural} of {most:.0f} processors"


def _number(value: float) -> str:
    """Two significant digits, and no more.

    >>> _number(0.0123), _number(4.56), _number(1234.6), _number(float("nan"))
    ('0.012', '4.6', '1235', '?')
    """
    if value != value:
        return "?"
    return f"{value:.0f}" if value >= 100 else f"{value:.2g}" if value >= 0.001 or value == 0 else f"{value:.1g}"


def show_bytes(count: float) -> str:
    """Bytes in words.

    >>> show_bytes(950), show_bytes(12_345_678), show_bytes(3.2e12)
    ('950 bytes', '12 MB', '3.2 TB')
    """
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{count / size:.2g} {unit}" if count < 99.5 * size else f"{count / size:.0f} {unit}"
    return f"{count:.0f} bytes"
