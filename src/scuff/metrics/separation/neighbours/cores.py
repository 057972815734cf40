"""The search on the CPU, in tasks for all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from scuff.metrics.separation.neighbours.best import Best, Competition, Task
from scuff.metrics.separation.neighbours.compiling import in_threads
from scuff.metrics.separation.neighbours.prepare import Prepared
from scuff.metrics.separation.neighbours.scan import scan

TASKS = 1000  # about as many are made, if there are as many leaves


class Cores:
    """All cores of this machine."""

    def __init__(self, prepared: Prepared) -> None:
        tree = prepared.tree
        self.prepared = prepared
        self.leaves = np.flatnonzero(tree.skip == np.arange(len(tree.skip)) + 1)
        self.starts = tree.start[self.leaves]

    def tasks(self) -> list[Task]:
        """Leaves that follow each other. Those in the middle come first: there the nearest pairs are to be expected."""
        edges = np.union1d(self.starts[:: max(1, len(self.leaves) // TASKS)], self.prepared.starts)
        labels = np.searchsorted(self.prepared.starts, edges[:-1], side="right") - 1
        middles = np.add.reduceat(self.prepared.bounds.coarse, edges[:-1]) / np.diff(edges)[:, None]
        order = np.argsort(np.square(middles).sum(axis=1), kind="stable")
        return [Task(int(labels[k]), int(edges[k]), int(edges[k + 1])) for k in order]

    def run(self, work: Callable[[Task], Best], tasks: list[Task]) -> Iterator[tuple[Task, Best]]:
        return in_threads(work, tasks)

    def scan(self, task: Task, others: np.ndarray, competition: Competition, best: Best) -> None:
        """Compare the points of a task with all points of some other classes, and keep the nearest pairs."""
        first, last = np.searchsorted(self.starts, [task.start, task.stop])
        known = self.prepared
        scan(self.leaves[first:last], others, *competition, best, known.points, known.bounds, known.tree)
