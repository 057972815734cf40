"""The search for the nearest pairs of different classes: of all points, of each two classes, or for each point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np

from scuff.metrics.separation.neighbours.best import ALL, CLASSES, POINTS, Best, Competition, Task, no_pairs, offer_all
from scuff.metrics.separation.neighbours.prepare import Prepared
from scuff.metrics.separation.neighbours.scan import Cores

Progress = Callable[[int, int], None]


class Searcher(Protocol):
    """Where tasks run."""

    prepared: Prepared

    def tasks(self) -> list[Task]:
        """All points, in parts."""

    def run(self, work: Callable[[Task], Best], tasks: list[Task]) -> Iterator[tuple[Task, Best]]:
        """Each task with its result, as they end."""

    def scan(self, task: Task, others: np.ndarray, competition: Competition, best: Best) -> None:
        """Compare the points of a task with all points of some other classes, and keep the nearest pairs."""


def search(searcher: Searcher, competition: Competition, progress: Progress | None = None) -> Best:
    """The nearest pairs: one of ALL; one for each position of POINTS; and of CLASSES one for each two, the earlier
    class times their number plus the later one.

    It does not matter in what order tasks end, nor what one knew of the others: pairs as near as the best so far are
    never passed over, and of these the same one is kept in the end.
    """
    sizes = np.diff(searcher.prepared.starts)
    classes = np.arange(len(sizes))
    best = no_pairs(np.full({ALL: 1, POINTS: sizes.sum(), CLASSES: len(sizes) ** 2}[competition], np.inf))

    def places_of(task: Task) -> np.ndarray:
        if competition == POINTS:
            return np.arange(task.start, task.stop)
        return classes + len(classes) * task.label if competition == CLASSES else np.zeros(1, np.int64)

    def others_of(task: Task) -> np.ndarray:
        return classes[classes != task.label] if competition == POINTS else classes[task.label + 1 :]

    def work(task: Task) -> Best:
        local = no_pairs(best.powers[places_of(task)])
        searcher.scan(task, others_of(task), competition, local)
        return local

    tasks = searcher.tasks()
    pairs = {task: (task.stop - task.start) * int(sizes[others_of(task)].sum()) for task in tasks}
    done, total = 0, sum(pairs.values())
    for task, local in searcher.run(work, tasks):
        offer_all(best, places_of(task), *local)
        done += pairs[task]
        if progress is not None:
            progress(done, total)
    return best


def open_searcher(prepared: Prepared, device: str | None = None) -> Searcher:
    """All cores, unless another device is asked for."""
    if device in (None, "cpu"):
        return Cores(prepared)
    from scuff.environment import find_device
    from scuff.metrics.separation.neighbours.device import Device

    return Device(prepared, find_device(device))
