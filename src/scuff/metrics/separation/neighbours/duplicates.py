"""Points that are identical and yet have different labels: no distance separates them."""

from __future__ import annotations

import numpy as np

from scuff.metrics.separation.neighbours.compiling import compiled, in_threads

ROWS = 1000  # that one thread looks at in one go


def find_conflicts(x: np.ndarray, labels: np.ndarray) -> list[np.ndarray]:
    """Groups of rows of x (n, features) that are identical but have different labels, each in order.

    >>> x = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0], [2.0, 0.0]])
    >>> [group.tolist() for group in find_conflicts(x, np.array([0, 1, 1, 1]))]
    [[0, 2]]
    """
    codes = np.empty(len(x), np.uint64)
    bits = x.view(f"u{x.itemsize}")
    for _ in in_threads(lambda start: _hash(bits, start, codes[start : start + ROWS]), range(0, len(x), ROWS)):
        pass
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(codes[order]) != 0))
    lowest, highest = (extreme.reduceat(labels[order], starts) for extreme in (np.minimum, np.maximum))
    stops = np.append(starts[1:], len(order))
    mixed = np.flatnonzero(lowest < highest)
    groups = [group for k in mixed for group in _identical(x, order[starts[k] : stops[k]])]
    return sorted((group for group in groups if len(set(labels[group].tolist())) > 1), key=lambda group: group[0])


@compiled
def _hash(bits, start, out):
    """A code for each row, the same for identical ones (FNV-1a). Zeros of both signs are the same."""
    negative_zero = np.uint64(1) << np.uint64(8 * bits.itemsize - 1)
    if bits.itemsize == 1:
        negative_zero = np.uint64(256)  # bytes have no sign
    for k in range(len(out)):
        code = np.uint64(14695981039346656037)
        for f in range(bits.shape[1]):
            value = np.uint64(bits[start + k, f])
            code = (code ^ (np.uint64(0) if value == negative_zero else value)) * np.uint64(1099511628211)
        out[k] = code


def _identical(x: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """Rows of the same code, grouped by what they hold: different rows may have the same code."""
    groups: dict[bytes, list[int]] = {}
    for row in rows:
        groups.setdefault((x[row] + 0).tobytes(), []).append(row)
    return [np.array(group) for group in groups.values()]
