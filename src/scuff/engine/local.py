"""Run cells on this machine: in this process, or in several."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

import torch

from scuff.engine.cells import Cell, Ended, Needs, Work, WorkerLost, Workers
from scuff.environment import find_device
from scuff.failures import causes, leaves_sound
from scuff.memory import available_memory
from scuff.pool import Pool, threads_limited
from scuff.store import Unreachable

NEEDED = 1 << 30  # bytes of memory for a process that trains a small network: torch alone takes a third of it
THIS_MACHINE = "this machine"

KILLED = (
    "a process was killed, perhaps for want of memory; what is finished is valid: run the same again, with fewer "
    "processes. If none could even start: a script that runs cells in several processes must do so under "
    "if __name__ == '__main__'"
)


@dataclass(frozen=True)
class LocalEngine:
    """This machine. By default as many processes as suit the cells; one process is this one.

    >>> from scuff.engine import Run
    >>> with Run(LocalEngine(processes=1)) as run:
    ...     print(list(run.cells("square", lambda cell, advance: cell**2, [2, 3])))
    [(2, 4), (3, 9)]
    """

    processes: int | None = None
    share: int = 1
    attempts: int = 3
    name: str = "local"
    doubles_slow_cells: bool = False

    def __post_init__(self) -> None:
        if self.processes is not None and self.processes < 1:
            raise ValueError(f"processes must be at least 1, got {self.processes}")

    def is_worth_retrying(self, error: Exception) -> bool:
        """Whether the process died, or the store did not answer. A cell that raises anything else would do so again."""
        return isinstance(error, (WorkerLost, Unreachable))

    def find_device(self, device: str | torch.device | None) -> torch.device:
        """The device that is asked for, or the GPU if there is one."""
        return find_device(device)

    def count(self, needs: Needs, most: int) -> int:
        """How many processes: as many as asked for, or as fit, and no more than there are cells."""
        if needs.gpus:
            fit = int((torch.cuda.device_count() if needs.gpu is None else 1) / needs.gpus)
            return max(1, min(self.processes or fit, fit, most))
        if needs.cpus is None:
            return 1
        fit = min(int(_processors() / needs.cpus), available_memory() // max(needs.memory, NEEDED))
        return max(1, min(self.processes or fit, most))

    def open(self, work: Work, needs: Needs, most: int, advance: Callable[[int, int, int], None]) -> Workers:
        """Processes for cells, or this one."""
        count = self.count(needs, most)
        if count == 1:
            return _ThisProcess(work, needs, advance)
        return _Processes(work, count, torch.cuda.device_count() if needs.gpus and needs.gpu is None else 0)


class _ThisProcess:
    """A single worker: us. A cell runs while we wait for it."""

    def __init__(self, work: Work, needs: Needs, advance: Callable[[int, int, int], None]) -> None:
        self._work, self._advance = work, advance
        self._threads = None if needs.cpus is None else max(1, int(needs.cpus))
        self._given: tuple[int, Cell] | None = None

    def count(self) -> int:
        return 1

    def room(self) -> int:
        return 0 if self._given else 1

    def places(self) -> set[str]:
        return {THIS_MACHINE}

    def start(self, ticket: int, cell: Cell, avoid: frozenset[str]) -> str | None:
        self._given = ticket, cell
        return THIS_MACHINE

    def wait(self, seconds: float) -> list[Ended]:
        assert self._given is not None
        (ticket, cell), self._given = self._given, None
        began = time.perf_counter()
        result, error = None, None
        try:
            with threads_limited(self._threads):
                result = self._work(cell, lambda *at: self._advance(ticket, *at))
        except Exception as raised:
            error = raised
            for one in causes(raised):  # let go of what their frames hold: a network, or a GPU's memory
                traceback.clear_frames(one.__traceback__)
        return [Ended(ticket, result, error, time.perf_counter() - began, THIS_MACHINE)]

    def cancel(self, ticket: int) -> None:
        self._given = None

    def close(self) -> None:
        self._given = None


class _Processes:
    """Spawned processes, with a thread each."""

    def __init__(self, work: Work, count: int, gpus: int) -> None:
        self._work, self._count, self._gpus = work, count, gpus
        self._pool: Pool | None = None
        self._running: dict[Future, int] = {}
        self._suspects = 0  # cells of a pool that broke, by one of them
        self._is_ill = False

    def count(self) -> int:
        return self._count

    def room(self) -> int:
        """After a pool broke, those that ran in it run one by one: so the guilty one takes nobody with it."""
        if self._is_ill and self._running:
            return 0
        return (1 if self._suspects else self._count) - len(self._running)

    def places(self) -> set[str]:
        return {THIS_MACHINE}

    def start(self, ticket: int, cell: Cell, avoid: frozenset[str]) -> str | None:
        if self._is_ill:
            self.close()
        if self._pool is None:
            self._pool = Pool(self._work, self._count, self._gpus)
        self._running[self._pool.submit(cell)] = ticket
        return THIS_MACHINE

    def wait(self, seconds: float) -> list[Ended]:
        done, _ = wait(self._running, seconds, FIRST_COMPLETED)
        ended = list(self._end(done))
        self._suspects = max(0, self._suspects - len(ended))
        self._is_ill = self._is_ill or not all(end.error is None or leaves_sound(end.error) for end in ended)
        if any(isinstance(end.error, WorkerLost) for end in ended):  # and with one of them, the pool
            ended += self._end(list(self._running))
            self.close()
            self._suspects += len(ended)
        return ended

    def _end(self, futures: Iterable[Future]) -> Iterator[Ended]:
        for future in futures:
            ticket = self._running.pop(future)
            try:
                result, seconds = future.result()
                yield Ended(ticket, result, None, seconds, THIS_MACHINE)
            except BrokenProcessPool:
                yield Ended(ticket, None, WorkerLost(KILLED), 0.0, THIS_MACHINE)
            except Exception as error:
                yield Ended(ticket, None, error, 0.0, THIS_MACHINE)

    def cancel(self, ticket: int) -> None:
        """Cells here have no doubles."""

    def close(self) -> None:
        pool, self._pool, self._is_ill = self._pool, None, False
        self._running.clear()
        if pool is not None:
            pool.close()


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
