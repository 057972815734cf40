"""Long jobs: what they cost, where they run, their progress bar, and how they end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import typer

from scuff.cli.console import Display, open_progress
from scuff.files import DISK_FULL, Stopped
from scuff.tables import Table
from scuff.words import show_duration

if TYPE_CHECKING:
    from scuff.engine import Engine
    from scuff.engine.cost import CellCost, StudyCost

Advance = Callable[[str, int, int], None]  # what is being done, how much is done, how much there is to do


def chosen_engine(
    name: str, address: str | None, processes: int | None, option: str = "--processes", share: int = 1
) -> Engine:
    """The engine chosen by the options; `option` is the one for the number of processes."""
    from scuff.engine import open_engine

    if processes is not None and processes < 1:
        raise ValueError(f"{option} must be at least 1, got {processes}")
    if share < 1:
        raise ValueError(f"--share must be at least 1, got {share}")
    if name == "local" and address is not None:
        raise ValueError("--address is that of a Ray cluster; add --engine ray")
    return open_engine(name, address=address, workers=processes, share=share)


def tell_unreadable(failures: Mapping[str, str] | None) -> None:
    """List the pictures that are left out because they cannot be read, if there are any."""
    if failures:
        from scuff.pictures import list_unreadable

        typer.echo(f"Left out, because they cannot be read: {len(failures)} pictures\n{list_unreadable(failures)}")


def remove_damaged_cells(out: str | None, only_look: bool) -> None:
    """What `--repair` does before a run is planned: cells that are gone are made again."""
    from scuff.store import remove_damaged

    for name in [] if out is None else remove_damaged(out, only_look):
        typer.echo(f"Damaged, {'to be made' if only_look else 'removed and made'} again: {out}/{name}")


@contextlib.contextmanager
def resumable_job(*, goes_on: bool = True) -> Iterator[Advance]:
    """Show the progress of the block, and report failures in one line.

    Exit code 1 if cells failed, the disk is full or memory ran out, 130 after Ctrl-C. Finished cells are kept, so that
    the same command resumes; `goes_on` is False where that cannot be promised.
    """
    try:
        with open_progress() as progress:
            yield Display(progress)
    except KeyboardInterrupt as interrupt:
        typer.echo(f"Interrupted.{' Run the same command again to go on from here.' if goes_on else ''}", err=True)
        raise typer.Exit(130) from interrupt
    except (Stopped, MemoryError) as stopped:
        typer.echo(f"Error: {stopped}", err=True)
        raise typer.Exit(1) from stopped
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        typer.echo(
            "Error: the disk is full; finished results are valid: make room and run the same command again", err=True
        )
        raise typer.Exit(1) from error


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
