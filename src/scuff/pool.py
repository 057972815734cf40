"""Run tasks in this process or in several, and stop them all promptly and cleanly.

Python's process pool has three habits that a long export cannot live with. Ctrl-C in a terminal reaches the workers
too, which then print tracebacks: here they ignore it, and hear from the main process when to stop. A cancelled pool
still finishes the tasks that have begun: here they ask `raise_if_stopping` between files, and a worker that does not
get there in time ends anyway. And workers outlive a main process that was killed.

The means is a lifeline: a pipe whose other end only the main process holds. When it is let go, on purpose or by death,
every worker notices. (A multiprocessing.Event would do as well, until a worker dies while waiting for it: then setting
it blocks for ever.) Torch is imported late, so that a worker can be stopped while it is still starting.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing.connection import Connection
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

GRACE = 1.0  # seconds that a task has to reach the end of its file

_stopping = threading.Event()  # in a worker: set when the main process wants to end, or has ended


class Stopping(Exception):
    """Raised inside a task whose result nobody waits for any more."""


def raise_if_stopping() -> None:
    """Leave the task if the run is to end. Tasks call this between files; it costs next to nothing."""
    if _stopping.is_set():
        raise Stopping


def run_tasks(work: Callable[[Task], Result], tasks: Iterable[Task], workers: int) -> Iterator[tuple[Task, Result]]:
    """Yield each task with its result, in the order of completion; with 0 workers, run them here, one by one.

    The first exception of a task ends the run. Each process computes on one thread, for two reasons: there are as many
    processes as processors, and sums that are split over threads may round differently.
    """
    if workers == 0:
        with _one_thread():
            for task in tasks:
                yield task, work(task)
    else:
        yield from _run_in_processes(work, iter(tasks), workers)


def _run_in_processes(work, tasks: Iterator[Task], workers: int) -> Iterator[tuple[Task, Result]]:
    context = multiprocessing.get_context("spawn")  # a forked child inherits torch's threads in an unknown state
    lifeline, our_end = context.Pipe(duplex=False)
    executor = ProcessPoolExecutor(workers, context, initializer=_start_worker, initargs=(lifeline,))
    running = {}
    try:
        with interrupts_held():
            running = {executor.submit(work, task): task for task in islice(tasks, 2 * workers)}
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                task = running.pop(future)
                yield task, future.result()
                for following in islice(tasks, 1):
                    running[executor.submit(work, following)] = following
    finally:
        our_end.close()
        executor.shutdown(wait=True, cancel_futures=True)
        lifeline.close()


def _start_worker(lifeline: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, args=(lifeline,), daemon=True).start()
    sys.path.append(os.getcwd())  # a model may be of a module there

    import torch

    torch.set_num_threads(1)


def _follow(lifeline: Connection) -> None:
    """End this worker soon after the main process has let go."""
    lifeline.poll(None)
    _stopping.set()
    time.sleep(GRACE)
    os._exit(1)  # nothing to tidy: a file without its final name does not count


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back until the block ends. Processes started inside inherit this, and are never bothered by it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
