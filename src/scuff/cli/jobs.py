"""Long jobs: a progress bar while they run, and the ends that they can come to."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import typer

from scuff.cli.console import open_progress
from scuff.files import DISK_FULL, Stopped

Advance = Callable[[str, int, int], None]  # what is being done, how much is done, how much there is to do

WIDTH = 28  # of what is being done


@contextlib.contextmanager
def resumable_job(*, goes_on: bool = True) -> Iterator[Advance]:
    """Show the progress of the block, and let it end in one line.

    Exit code 1 if the disk is full or memory ran out, 130 after Ctrl-C. Whatever was finished is kept, so that the same
    command goes on from there; `goes_on` is False where there is too little of it to promise that.
    """
    try:
        with open_progress() as progress:
            bar = progress.add_task("starting", total=None)

            def advance(what: str, done: int, total: int) -> None:
                shown = what if len(what) <= WIDTH else f"{what[: WIDTH - 3]}..."
                progress.update(bar, description=f"{shown:<{WIDTH}}", completed=done, total=total)

            yield advance
    except KeyboardInterrupt as interrupt:
        typer.echo(f"Interrupted.{' Run the same command again to go on from here.' if goes_on else ''}", err=True)
        raise typer.Exit(130) from interrupt
    except (Stopped, MemoryError) as stopped:
        typer.echo(f"Error: {stopped}", err=True)
        raise typer.Exit(1) from stopped
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        typer.echo("Error: the disk is full; what is finished is valid: make room and run the same again", err=True)
        raise typer.Exit(1) from error
