"""Split a batch of images over as many threads as torch itself would use.

Compiled loops and torch release the GIL, so plain threads are enough. Numba's own thread pools are not used: they break
in processes that were forked, which is what a DataLoader does. Inside a DataLoader worker torch allows one thread, and
so do we.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import lru_cache
from itertools import pairwise

import torch

_this_thread = threading.local()


def thread_count() -> int:
    """How many threads a call may use: one if it runs in a thread of ours, which are as many as there should be."""
    return 1 if hasattr(_this_thread, "is_ours") else torch.get_num_threads()


@lru_cache(maxsize=8)
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="scuff", initializer=_begin)


def _begin() -> None:
    from threadpoolctl import threadpool_limits

    _this_thread.is_ours = True
    torch.get_num_threads()  # on first use in a thread, torch allows it as many as others: the limit comes afterwards
    threadpool_limits(1, user_api="openmp")  # of this thread alone, for operations of torch


def over_pieces(work: Callable[[slice], object], pieces: Sequence[slice], threads: int) -> None:
    """Call `work(piece)` for each of the pieces; a thread takes the next one as soon as it is done with one."""
    if min(threads, len(pieces)) <= 1:
        for piece in pieces:
            work(piece)
        return
    infers = torch.is_inference_mode_enabled()  # which belongs to a thread

    def call(piece: slice) -> None:
        with torch.inference_mode(infers):
            work(piece)

    pool = _pool(os.getpid(), threads)  # a forked child must not reuse its parent's threads
    tasks = [pool.submit(copy_context().run, call, piece) for piece in pieces]
    try:
        for task in tasks:
            task.result()
    finally:
        for task in tasks:  # after an error or Ctrl-C, the rest is not begun
            task.cancel()


def over_images(work: Callable[[int, int], None], count: int) -> None:
    """Call `work(start, stop)` on disjoint ranges that cover range(count)."""
    threads = min(thread_count(), count)
    if threads <= 1:
        work(0, count)
        return
    edges = [count * t // threads for t in range(threads + 1)]
    over_pieces(lambda piece: work(piece.start, piece.stop), [slice(a, b) for a, b in pairwise(edges)], threads)
