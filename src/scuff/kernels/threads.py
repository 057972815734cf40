"""Split a batch of images over as many threads as torch itself would use.

Compiled loops release the GIL, so plain threads are enough. Numba's own thread pools are not used: they break in
processes that were forked, which is what a DataLoader does. Inside a DataLoader worker torch allows one thread, and so
do we.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise

import torch


@lru_cache(maxsize=8)
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="scuff")


def over_images(work: Callable[[int, int], None], count: int) -> None:
    """Call `work(start, stop)` on disjoint ranges that cover range(count)."""
    threads = min(torch.get_num_threads(), count)
    if threads <= 1:
        work(0, count)
        return
    edges = [count * t // threads for t in range(threads + 1)]
    pool = _pool(os.getpid(), threads)  # a forked child must not reuse its parent's threads
    for done in [pool.submit(work, a, b) for a, b in pairwise(edges)]:
        done.result()


def each_image(work: Callable[[int], object], count: int) -> None:
    """Call `work(i)` for every i in range(count)."""

    def several(start: int, stop: int) -> None:
        for i in range(start, stop):
            work(i)

    over_images(several, count)
