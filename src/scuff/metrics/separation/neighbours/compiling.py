"""How the loops of the search are compiled, and how they share the cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import chain, islice
from typing import TypeVar

from numba import config, njit

Task = TypeVar("Task")
Result = TypeVar("Result")


def compiled(function: Callable) -> Callable:
    """Compile on first call, and keep the result beside the source or in the user's cache, where one can be written.

    Sums are taken in the order in which they are written, so that every machine finds the same distances. What is kept
    is used until the file of the function itself changes: after a change in a file that others build on, touch these.
    """
    return _compiled(function)


def compiled_loosely(function: Callable) -> Callable:
    """The same, but sums may be taken in any order, which is faster: for bounds, which allow for that."""
    return _compiled(function, fastmath={"reassoc", "contract", "nsz", "nnan"})


def _compiled(function: Callable, **options) -> Callable:
    options |= {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:
        return njit(**options)(function)


inlined = njit(inline="always")  # for parts of a compiled loop


def in_threads(work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[tuple[Task, Result]]:
    """Yield each task with its result, in the order of completion. A task begins when a core is free for it.

    Plain threads: compiled loops release the GIL, and numba's own threads break in processes that were forked.
    """
    tasks, threads = iter(tasks), config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    begun = list(islice(tasks, threads))
    if len(begun) < 2:
        yield from ((task, work(task)) for task in chain(begun, tasks))
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="scuff") as pool:
        running = {pool.submit(work, task): task for task in begun}
        while running:
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                ended = running.pop(done)
                running |= {pool.submit(work, task): task for task in islice(tasks, 1)}
                yield ended, done.result()
