"""What runs in the processes of a Ray cluster."""

from __future__ import annotations

import os
import pickle
import socket
import sys
import time
from typing import Any

import torch

from scuff.engine.cells import Cell
from scuff.failures import is_out_of_memory, leaves_sound
from scuff.plugins import import_modules


class Worker:
    """A process that has been given its work, and does one cell after the other."""

    def __init__(self, work: bytes, threads: int, folder: str, paths: list[str], modules: list[str]) -> None:
        """Compute on that many threads, and find addresses and modules where our user does, if they are there."""
        from ray import cloudpickle

        torch.set_num_threads(threads)
        if os.path.isdir(folder):
            os.chdir(folder)
        sys.path.extend(path for path in (*paths, folder) if path not in sys.path and os.path.isdir(path))
        import_modules(modules)
        self._work = cloudpickle.loads(work)

    def where(self) -> str:
        """The machine: two nodes of a cluster may be on one, and count as two."""
        import ray

        return f"{socket.gethostname()} {ray.get_runtime_context().get_node_id()[:8]}"

    def do(self, cell: Cell) -> tuple[Any, bytes | None, bool, float]:
        """The result and no error, or the pickled error; whether the process is sound; the seconds that it took."""
        began, result, error, is_sound = time.perf_counter(), None, None, True
        try:
            result = self._work(cell, lambda done, total: None)
        except Exception as raised:
            error = _pickled(raised)
            # After other errors than those of Python, those of a GPU above all, the next cell had better begin afresh.
            is_sound = leaves_sound(raised)
        return result, error, is_sound, time.perf_counter() - began


def _pickled(error: Exception) -> bytes:
    """An error that may travel; what cannot be pickled travels as its words."""
    if is_out_of_memory(error) and not isinstance(error, MemoryError):
        error = MemoryError(f"out of memory: {error}")
    try:
        pickle.loads(pickle.dumps(error))
        return pickle.dumps(error)
    except Exception:
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
