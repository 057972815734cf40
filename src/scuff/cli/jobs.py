"""Long jobs: where they run, their progress bar, and how they end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import typer

from scuff.cli.console import open_progress
from scuff.cli.display import Display
from scuff.files import DISK_FULL, Stopped

if TYPE_CHECKING:
    from scuff.engine import Engine

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
