"""Which input pixels a BOX-filtered output pixel averages, by Pillow's rule."""

from __future__ import annotations

from functools import lru_cache

import numpy as np


@lru_cache(maxsize=256)
def box_windows(length: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """First and one-past-last input index for each of `size` outputs when `length` pixels shrink to `size`.

    Input t belongs to output k if -1/2 < (t + 1/2 - centre) / scale <= 1/2 with centre (k + 1/2) * scale: whole pixels,
    equal weights, no fractional coverage. Evaluated in floating point, step by step as Pillow does it, because rounding
    decides where a pixel lies exactly on the edge.

    >>> [w.tolist() for w in box_windows(5, 2)]
    [[0, 3], [3, 5]]
    """
    scale = length / size
    centre = (np.arange(size) + 0.5) * scale
    lowest = np.maximum((centre - 0.5 * scale + 0.5).astype(np.int64), 0)
    highest = np.minimum((centre + 0.5 * scale + 0.5).astype(np.int64), length)
    at = lowest[:, None] + np.arange(int(scale) + 3)
    place = (at - centre[:, None] + 0.5) * (1.0 / scale)
    belongs = (at < highest[:, None]) & (place > -0.5) & (place <= 0.5)
    start = lowest + belongs.argmax(1)
    return start, start + belongs.sum(1)
