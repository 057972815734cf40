"""The search for the nearest pairs of different classes: of all points, of each two classes, or for each point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scuff.metrics.neighbours.best import ALL, CLASSES, POINTS, Best, Competition, Task, no_pairs, offer_all
from scuff.metrics.neighbours.cores import Cores
from scuff.metrics.neighbours.prepare import Prepared

Progress = Callable[[int, int], None]


def search(prepared: Prepared, competition: Competition, searcher=None, progress: Progress | None = None) -> Best:
    """The nearest pairs: one of ALL; one for each position of POINTS; or a row for each class of CLASSES, in which the
    places of later classes are filled.

    It does not matter in what order tasks end, nor what one knew of the others: pairs as near as the best so far are
    never passed over, and of these the same one is kept in the end.
    """
    searcher = searcher or Cores(prepared)
    sizes = np.diff(prepared.starts)
    classes = np.arange(len(sizes))
    best = no_pairs(np.full({ALL: 1, POINTS: sizes.sum(), CLASSES: len(sizes) ** 2}[competition], np.inf))

    def places_of(task: Task) -> np.ndarray:
        if competition == POINTS:
            return np.arange(task.start, task.stop)
        return classes + len(classes) * task.label if competition == CLASSES else np.array([0])

    def others_of(task: Task) -> np.ndarray:
        return classes[classes != task.label] if competition == POINTS else classes[task.label + 1 :]

    def work(task: Task) -> Best:
        own = no_pairs(best.powers[places_of(task)])
        searcher.scan(task, others_of(task), competition, own)
        return own

    tasks = searcher.tasks()
    pairs = {task: (task.stop - task.start) * int(sizes[others_of(task)].sum()) for task in tasks}
    done, total = 0, sum(pairs.values())
    for task, own in searcher.run(work, tasks):
        offer_all(best, places_of(task), *own)
        done += pairs[task]
        if progress is not None:
            progress(done, total)
    return best
