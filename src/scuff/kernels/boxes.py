"""Which input pixels a BOX-filtered output pixel averages, by Pillow's rule."""

from __future__ import annotations

from functools import lru_cache

import numpy as np


@lru_cache(maxsize=256)
def box_windows(length: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """First and one-past-last input index for each of `size` outputs when `length` pixels shrink to `size`.

    Input t belongs to output k if -1/2 < (t + 1/2 - centre) / scale <= 1/2 with centre (k + 1/2) * scale: whole pixels,
    equal weights, no fractional coverage. In integers: size * (2 t + 1) lies in (2 k length, 2 (k + 1) length].

    >>> [w.tolist() for w in box_windows(5, 2)]
    [[0, 3], [3, 5]]
    """
    k = np.arange(size, dtype=np.int64)
    start = (2 * k * length // size + 1) // 2
    stop = (2 * (k + 1) * length // size + 1) // 2
    return start, stop
