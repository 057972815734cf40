"""The search on a GPU: tiles of bounds for many points at once, then sharper bounds of the pairs that are left.

The few pairs that may be the nearest are measured once more by the arithmetic of the CPU, which alone decides: a GPU
adds up real numbers in an order of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from scuff.metrics.separation.neighbours.exact import pair_powers
from scuff.metrics.separation.neighbours.prepare import Prepared
from scuff.metrics.separation.neighbours.search import Best, Competition, Task, make_bars, offer_all

ROWS = 4096  # of a tile
TILE = 1 << 26  # its values: 256 MiB
VALUES = 1 << 27  # that are gathered at once from sums or points
ROUNDING = 1e-9  # powers of distances that differ by less, in proportion, are told apart on the CPU


class Device:
    """One GPU, or what else torch can compute on."""

    def __init__(self, prepared: Prepared, device: str | torch.device) -> None:
        points, bounds = prepared.points, prepared.bounds
        self.prepared, self.device = prepared, torch.device(device)
        self.x, self.rows = self._move(points.x), self._move(points.rows)
        self.columns, self.fine = self._move(bounds.columns), self._move(bounds.fine)
        self.labels = self._move(np.repeat(np.arange(len(prepared.starts) - 1), np.diff(prepared.starts)))

    def _move(self, values: np.ndarray) -> Tensor:
        return torch.tensor(values, device=self.device)

    def tasks(self) -> list[Task]:
        """Classes, in parts of equal size."""
        tasks = []
        for label, (start, stop) in enumerate(pairwise(self.prepared.starts.tolist())):
            edges = np.linspace(start, stop, math.ceil((stop - start) / ROWS) + 1).astype(int).tolist()
            tasks += [Task(label, a, b) for a, b in pairwise(edges)]
        return tasks

    def run(self, work: Callable[[Task], Best], tasks: list[Task]) -> Iterator[tuple[Task, Best]]:
        return ((task, work(task)) for task in tasks)

    def scan(self, task: Task, others: np.ndarray, competition: Competition, best: Best) -> None:
        """Compare the points of a task with all points of some other classes, and keep the nearest pairs."""
        starts, step = self.prepared.starts, TILE // (task.stop - task.start)
        for run in np.split(others, np.flatnonzero(np.diff(others) > 1) + 1):
            if len(run):
                start, stop = int(starts[run[0]]), int(starts[run[-1] + 1])
                for first in range(start, stop, step):
                    self._scan_tile(task, first, min(first + step, stop), competition, best)

    def _scan_tile(self, task: Task, start: int, stop: int, competition: Competition, best: Best) -> None:
        """Compare the points of a task with those from start to stop."""
        apart = self._bound(task, start, stop)

        def places(i: Tensor, j: Tensor) -> Tensor:
            return competition.by_row * (i - task.start) + competition.by_class * self.labels[j]

        i = torch.arange(task.start, task.stop, device=self.device)
        j = start + apart.argmin(dim=1)  # what looks nearest is measured first: then few others are left
        self._measure(i, j, places(i, j), best)
        bars = self._move(make_bars(best.powers, self.prepared.points.p, self.prepared.bounds))
        if competition.by_row:
            bar = bars[:, :1]
        else:
            bar = bars[self.labels[start:stop], 0] if competition.by_class else bars[0, 0]
        i, j = (apart <= bar).nonzero().unbind(1)
        del apart
        i, j = i + task.start, j + start
        for level in range(1, len(self.prepared.bounds.widths)):
            i, j = self._keep_near(i, j, level, bars, places)
        self._measure(i, j, places(i, j), best)

    def _bound(self, task: Task, start: int, stop: int) -> Tensor:
        """The bounds of the first level between the points of a task and those from start to stop."""
        q = self.prepared.bounds.q
        total = torch.zeros(task.stop - task.start, stop - start, device=self.device)
        gap = torch.empty_like(total)
        for a, b in zip(self.columns[:, task.start : task.stop], self.columns[:, start:stop], strict=True):
            torch.sub(a[:, None], b, out=gap)
            if q == math.inf:
                torch.maximum(total, gap.abs_(), out=total)
            elif q == 1:
                total.add_(gap.abs_())
            else:
                total.addcmul_(gap, gap)
        return total

    def _keep_near(self, i: Tensor, j: Tensor, level: int, bars: Tensor, places: Callable) -> tuple[Tensor, Tensor]:
        """Those pairs that are not too far apart by the bounds of a further level."""
        bounds, kept = self.prepared.bounds, []
        start, width = int(bounds.starts[level]), int(bounds.widths[level])
        sums = self.fine[start : start + len(self.rows) * width].view(-1, width)
        for a, b in zip(i.split(VALUES // width), j.split(VALUES // width), strict=True):
            near = _power((sums[a] - sums[b]).abs_(), bounds.q) <= bars[places(a, b), level]
            kept.append((a[near], b[near]))
        return tuple(map(torch.cat, zip(*kept, strict=True)))  # type: ignore[return-value]

    def _measure(self, i: Tensor, j: Tensor, places: Tensor, best: Best) -> None:
        """Measure pairs, and keep the nearest."""
        step = max(1, VALUES // self.x.shape[1])
        for a, b, place in zip(i.split(step), j.split(step), places.split(step), strict=True):
            powers = self._exact(a, b)
            lowest = self._move(best.powers).scatter_reduce(0, place, powers, "amin")
            near = (powers <= lowest[place] * (1 + ROUNDING)).nonzero()[:, 0]
            first, second = (self.rows[part[near]].cpu().numpy() for part in (a, b))
            offer_all(best, place[near].cpu().numpy(), pair_powers(self.prepared.points, first, second), first, second)

    def _exact(self, i: Tensor, j: Tensor) -> Tensor:
        """The distances of pairs before the root is taken: float64, of bytes without any rounding."""
        a, b = self.x[self.rows[i]], self.x[self.rows[j]]
        p = self.prepared.points.p
        if self.x.dtype == torch.uint8:
            gap = (a.to(torch.int32) - b.to(torch.int32)).abs_()
            return _power(gap if p in (1, 2, math.inf) else gap.double(), p).double()
        return _power((a.double() - b.double()).abs_().mul_(self.prepared.points.scale), p)


def _power(gap: Tensor, p: float) -> Tensor:
    """The p-norm of each row before the root is taken."""
    if p == math.inf:
        return gap.amax(dim=1)
    return (gap if p == 1 else gap.square_() if p == 2 else gap.pow_(p)).sum(dim=1)
