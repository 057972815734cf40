"""Work that other processes do ahead: they begin before anybody asks, and results come in order.

Unlike those of `pool.py`, they are forked where the machine can do that: they start at once and see all that is there.
They run Pillow and copy or hash bytes, and touch neither torch's threads nor a GPU.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import warnings
from collections.abc import Iterator
from typing import Any, Protocol

from scuff.pool import interrupts_held

MOST_WORKERS = 16


class Items(Protocol):
    """What is worked out by its number; a result must go through a pipe."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int) -> Any: ...


def count_processors() -> int:
    """As many as work at once."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, MOST_WORKERS)


def can_fork() -> bool:
    """Whether other processes start in no time. Those that work ahead may not start others in turn."""
    method = multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
    return method == "fork" and not multiprocessing.current_process().daemon


def work_ahead(items: Items, workers: int, pinned: bool = False) -> Iterator[Any]:
    """The items in order, by that many processes that end with the iterator, and with us; by this one if it is 0."""
    if not workers:
        return map(items.__getitem__, range(len(items)))
    import torch
    from torch.utils.data import DataLoader

    with warnings.catch_warnings():
        # More workers than processors are the caller's wish. And Python warns of forking a process that has threads,
        # which these workers leave alone.
        warnings.filterwarnings("ignore", message="This DataLoader will create")
        warnings.filterwarnings("ignore", message=".*use of fork", category=DeprecationWarning)
        loader: DataLoader = DataLoader(
            items,  # type: ignore[arg-type]
            batch_size=None,
            num_workers=workers,
            prefetch_factor=2,
            pin_memory=pinned,
            worker_init_fn=_ignore_interrupts,
            generator=torch.Generator(),  # or it would move the global one
        )
        with interrupts_held():  # while processes start: one that is interrupted half-way hangs or complains
            return iter(loader)


def _ignore_interrupts(worker: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the main process, which ends the workers
