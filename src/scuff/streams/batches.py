"""Which positions make up which batch, and a DataLoader of batches."""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

if TYPE_CHECKING:
    from scuff.streams.stream import Stream, StreamBatch


class Grid:
    """Batch number -> its first position and the one after its last; found without counting up to it.

    Batches are cut inside of parts, the segments or the whole stream. The short batch at the end of a part is left out
    if it has fewer than `least` images.
    """

    def __init__(self, starts: Sequence[int], total: int, size: int, least: int = 1) -> None:
        if size < 1:
            raise ValueError(f"a batch needs at least 1 image, got {size}")
        self.size, self.starts = size, np.asarray(starts, np.int64)
        self.stops = np.append(self.starts[1:], total)
        lengths = self.stops - self.starts
        self.counts = lengths // size + (lengths % size >= np.maximum(1, min(least, size)))
        self.firsts = np.concatenate([[0], np.cumsum(self.counts)])

    def __len__(self) -> int:
        return int(self.firsts[-1])

    def __getitem__(self, number: int) -> tuple[int, int]:
        if not 0 <= number < len(self):
            raise IndexError(f"there are {len(self)} batches, got number {number}")
        part = int(np.searchsorted(self.firsts, number, side="right")) - 1
        start = int(self.starts[part] + (number - self.firsts[part]) * self.size)
        return start, int(min(start + self.size, self.stops[part]))

    def find(self, position: int) -> int:
        """The number of the first batch that ends after a position."""
        part = bisect_right(self.starts, position) - 1
        if part < 0:
            return 0
        return int(self.firsts[part] + min((position - self.starts[part]) // self.size, self.counts[part]))


class LoaderDataset(IterableDataset):
    """Whole batches for a DataLoader: worker w of W makes every W-th of them, and the loader returns them in order."""

    def __init__(self, stream: Stream, size: int, rank: int, ranks: int) -> None:
        if not 0 <= rank < ranks:
            raise ValueError(f"rank must be from 0 to {ranks - 1}, got {rank}")
        self.stream, self.size, self.rank, self.ranks = stream, size, rank, ranks

    def __len__(self) -> int:
        return len(range(self.rank, len(self.stream.grid(self.size)), self.ranks))

    def __iter__(self) -> Iterator[StreamBatch]:
        worker = get_worker_info()
        number, workers = (0, 1) if worker is None else (worker.id, worker.num_workers)
        grid = self.stream.grid(self.size)
        numbers = range(self.rank + number * self.ranks, len(grid), workers * self.ranks)
        return self.stream.make(map(grid.__getitem__, numbers), keep=worker is None)


class StreamLoader(DataLoader):
    """A DataLoader of whole batches, which does not move torch's global generator."""

    def __init__(self, batches: LoaderDataset, workers: int) -> None:
        with _as_many_as_wanted():
            super().__init__(batches, batch_size=None, num_workers=workers, generator=torch.Generator())

    def __iter__(self) -> Any:
        with _as_many_as_wanted():
            return super().__iter__()


@contextmanager
def _as_many_as_wanted() -> Iterator[None]:
    """More workers than processors are the caller's wish, and forking is safe: no thread of ours is in their way."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="This DataLoader will create")
        warnings.filterwarnings("ignore", message=".*use of fork", category=DeprecationWarning)
        yield
