"""The exact search for nearest neighbours in another class, in any norm and any dimension.

Almost all pairs are passed over, and none wrongly: a pair is measured only if no lower bound of its distance exceeds
the smallest distance so far.

- `blocks`, `bounds`: sums over blocks of features, which bound distances from below; few first, then more.
- `tree`: points are sorted into boxes, so that many pairs are passed over at once. In low dimension, where the sums are
  the features themselves, this is a KD-tree.
- `exact`: distances, in the one arithmetic that decides.
- `given`, `prepare`: points are checked and made ready.
- `best`, `search`: the nearest pairs so far, and the search itself, in tasks.
- `scan`, `gaps`: a task on the CPU. `device`: a task on a GPU.

The result depends neither on the size of tasks, nor on their order, nor on where they run.
"""

from scuff.metrics.separation.neighbours.best import ALL, CLASSES, POINTS, Best, Competition
from scuff.metrics.separation.neighbours.given import Given
from scuff.metrics.separation.neighbours.search import open_searcher, search

__all__ = ["ALL", "CLASSES", "POINTS", "Best", "Competition", "Given", "open_searcher", "search"]
