"""The exact search for nearest neighbours in another class, in any norm and any dimension.

Almost all pairs are passed over, and none wrongly: a pair is measured only if no lower bound of its distance exceeds
the smallest distance so far.

- `given`: points are checked.
- `blocks`, `prepare`: sums over blocks of features, which bound distances from below; few first, then more. By these
  sums, points are sorted into boxes, so that many pairs are passed over at once: in low dimension, where the sums are
  the features themselves, this is a KD-tree.
- `exact`: distances, in the one arithmetic that decides.
- `search`: the nearest pairs so far, and the search itself, in tasks.
- `scan`: a task on the CPU. `device`: a task on a GPU.

The result depends neither on the size of tasks, nor on their order, nor on where they run.
"""

from scuff.metrics.separation.neighbours.given import Given
from scuff.metrics.separation.neighbours.prepare import Prepared
from scuff.metrics.separation.neighbours.scan import Cores
from scuff.metrics.separation.neighbours.search import ALL, CLASSES, POINTS, Best, Competition, Searcher, search

__all__ = ["ALL", "CLASSES", "POINTS", "Best", "Competition", "Given", "open_searcher", "search"]


def open_searcher(prepared: Prepared, device: str | None = None) -> Searcher:
    """All cores, unless another device is asked for."""
    if device in (None, "cpu"):
        return Cores(prepared)
    from scuff.environment import find_device
    from scuff.metrics.separation.neighbours.device import Device

    return Device(prepared, find_device(device))
