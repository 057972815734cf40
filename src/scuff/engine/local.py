"""Run cells on this machine: one after the other on a GPU, one per processor without one.

A cell is a piece of work whose result is a file, whole or absent. So it may be interrupted at any time, and of a run
that is started again only the cells whose files are missing are left.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

import torch

from scuff.data.memory import available_memory
from scuff.files import Stopped
from scuff.pool import run_tasks

Cell = TypeVar("Cell")
Result = TypeVar("Result")

NEEDED = 1 << 30  # bytes of memory for a process that trains a small network: torch alone takes a third of it
PER_GPU = 1


def count_processes(device: torch.device, cells: int, wanted: int | None = None) -> int:
    """How many processes run cells at once: as many as asked for, or as fit.

    On a CPU, that is one per processor as far as memory allows. On a GPU it is one: a step that is recorded keeps the
    GPU busy by itself.
    """
    if wanted is not None and wanted < 1:
        raise ValueError(f"processes must be at least 1, got {wanted}")
    if wanted is None:
        wanted = PER_GPU if device.type == "cuda" else min(_processors(), max(1, available_memory() // NEEDED))
    return max(1, min(wanted, cells))


def run_cells(work: Callable[[Cell], Result], cells: Sequence[Cell], processes: int) -> Iterator[tuple[Cell, Result]]:
    """Yield every cell with its result, in the order in which they finish; a single process is this one.

    Ctrl-C, and the first error, end all processes within a second or two.
    """
    try:
        yield from run_tasks(work, cells, 0 if processes == 1 else processes)
    except BrokenProcessPool as error:
        raise Stopped(
            "a process was killed, perhaps for want of memory; what is finished is valid: run the same again, with "
            "fewer processes. If none could even start: a script that runs cells in several processes must do so under "
            "if __name__ == '__main__'"
        ) from error


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
