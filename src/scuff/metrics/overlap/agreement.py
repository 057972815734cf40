"""Agreement: do two ways of measuring overlaps, such as two seeds, recipes or networks, come to the same matrix?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from scuff.metrics.overlap.scores import OverlapTable, read_overlaps


@dataclass(frozen=True)
class Agreement:
    """How far two matrices of overlaps agree, over the pairs of corruptions for which both have a score.

    >>> print(Agreement(28, 0.98, 0.95, 0.01, 0.07, ("fog", "snow"), 0.964, 0.1))
    28 pairs: Pearson 0.98, Spearman 0.95; mean difference 0.01, largest 0.07 (fog, snow); 96 % on the same side of 0.1
    """

    pairs: int
    pearson: float
    spearman: float
    mean_difference: float  # of absolute values
    largest_difference: float
    largest_pair: tuple[str, str]
    same_side: float  # the share of pairs that are below the threshold in both, or in neither
    threshold: float

    def __str__(self) -> str:
        return (
            f"{self.pairs} pairs: Pearson {self.pearson:.2f}, Spearman {self.spearman:.2f}; mean difference "
            f"{self.mean_difference:.2f}, largest {self.largest_difference:.2f} ({', '.join(self.largest_pair)}); "
            f"{100 * self.same_side:.0f} % on the same side of {self.threshold:g}"
        )


def agreement(a: OverlapTable, b: OverlapTable, threshold: float = 0.1) -> Agreement:
    """Compare two matrices pair by pair. Correlations are NaN where all scores of a matrix are the same.

    The threshold is that of a design: pairs on the same side of it make the same graph, and so the same benchmark.

    >>> names = ["fog", "snow", "rain"]
    >>> first = pd.DataFrame([[1, 0.5, 0], [0.5, 1, 0.2], [0, 0.2, 1]], names, names)
    >>> second = pd.DataFrame([[1, 0.6, 0], [0.6, 1, 0.2], [0, 0.2, 1]], names, names)
    >>> print(agreement(first, second))
    3 pairs: Pearson 1.00, Spearman 1.00; mean difference 0.03, largest 0.10 (fog, snow); 100 % on the same side of 0.1
    """
    a, b = read_overlaps(a).defined(), read_overlaps(b).defined()
    names = [name for name in a.names if name in b.names]
    if len(names) < 2:
        raise ValueError(f"two matrices are compared on the corruptions of both, at least two; they share {len(names)}")
    rows, columns = np.triu_indices(len(names), 1)
    x, y = (matrix.take(names).values[rows, columns] for matrix in (a, b))
    off = np.abs(x - y)
    worst = int(off.argmax())
    return Agreement(
        pairs=len(x),
        pearson=_correlate(x, y),
        spearman=_correlate(*(pd.Series(v).rank().to_numpy() for v in (x, y))),
        mean_difference=float(off.mean()),
        largest_difference=float(off[worst]),
        largest_pair=(names[rows[worst]], names[columns[worst]]),
        same_side=float(np.mean((x < threshold) == (y < threshold))),
        threshold=threshold,
    )


def _correlate(x: np.ndarray, y: np.ndarray) -> float:
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan
    return float(np.corrcoef(x, y)[0, 1])
