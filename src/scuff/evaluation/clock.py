"""Where the time of a run goes, measured without making a GPU wait."""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Iterator

import torch


class Clock:
    """Seconds spent in named parts. On a GPU, events in its own stream are read when the work is long done."""

    def __init__(self, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._events: list[tuple[str, torch.cuda.Event, torch.cuda.Event]] = []

    @contextlib.contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count the block's time under `name`."""
        if not self._on_gpu:
            start = time.perf_counter()
            yield
            self._seconds[name] += time.perf_counter() - start
            return
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        yield
        last.record()
        self._events.append((name, first, last))

    def seconds(self) -> dict[str, float]:
        """What has been counted so far; on a GPU this waits for the last block."""
        for name, first, last in self._events:
            last.synchronize()
            self._seconds[name] += first.elapsed_time(last) / 1000
        self._events.clear()
        return dict(self._seconds)
