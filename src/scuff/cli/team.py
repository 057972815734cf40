"""Several processes that train one network: how a command starts them, and how each of them behaves.

Only the first prints, unless another one fails for a reason of its own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Sequence

import typer

from scuff.cli.jobs import Advance, resumable_job

SECONDS_FOR_THE_REASON = 20  # that a process waits for the one that failed to explain itself

_was_interrupted = False


def started_processes(nproc: int | None, device: str | None, arguments: Sequence[str]) -> bool:
    """Start `nproc` processes with these arguments and wait for them; False if this process is to do the work itself,
    as one of several or the only one.
    """
    if nproc is None:
        return False
    if "RANK" in os.environ:
        started = os.environ.get("LOCAL_WORLD_SIZE", os.environ.get("WORLD_SIZE"))
        if started != str(nproc):
            raise ValueError(
                f"{started} processes were started on this machine; leave out --nproc {nproc}, or start as many"
            )
        return False
    from scuff.files import Stopped
    from scuff.launch import check_processes, launch

    check_processes(nproc, device)
    if nproc == 1:
        return False
    try:
        code = launch(nproc, arguments)
    except Stopped as stopped:
        typer.echo(f"Error: {stopped}", err=True)
        raise typer.Exit(1) from stopped
    if code:
        raise typer.Exit(code)
    return True


@contextlib.contextmanager
def training_job(rank: int) -> Iterator[Advance]:
    """`resumable_job` for one process of a team. A mistake that all share is reported by the first.

    A process that has lost another waits to be ended by whoever started it: the other one reports the reason.
    """
    from scuff.training.distributed import LostPeer

    with _silent(rank) if rank else resumable_job() as advance:
        try:
            yield advance
        except LostPeer:
            if not _was_interrupted:
                time.sleep(SECONDS_FOR_THE_REASON)
            raise


@contextlib.contextmanager
def _silent(rank: int) -> Iterator[Advance]:
    """No bar, and no messages but those that the first process cannot know.

    Ctrl-C is handled by the first process, which stops after a step; this one follows it.
    """
    import torch.distributed as dist

    from scuff.files import Stopped

    signal.signal(signal.SIGINT, _note_interrupt)
    try:
        yield lambda what, done, total: None
    except (ValueError, KeyError, OSError) as error:
        if not dist.is_initialized():
            raise
        raise typer.Exit(2) from error
    except (Stopped, MemoryError) as stopped:
        if _was_interrupted:
            raise typer.Exit(130) from stopped
        typer.echo(f"Error: process {rank}: {stopped}", err=True)
        raise typer.Exit(1) from stopped


def _note_interrupt(number: int, frame: object) -> None:
    global _was_interrupted
    _was_interrupted = True
