"""Keep workers busy until every cell is done or given up."""

from __future__ import annotations

import itertools
import statistics
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from scuff.engine.cells import Cell, Ended, Engine, Needs, Work, WorkerLost, Workers
from scuff.files import DISK_FULL, Stopped

TICK = 1.0  # seconds between looks at what is running
SLOW = 4.0  # times the usual duration: then a cell is slow
SLOW_AT_LEAST = 60.0  # seconds
REMEMBERED = 1000  # durations, of which the usual one is the median
ELSEWHERE = 60.0  # seconds for which a cell that failed waits for another machine
HOPELESS = 3  # cells given up before any is done: then nothing will be


@dataclass
class Attempts:
    """A cell, how often it was tried, where, and what came of the last attempt."""

    cell: Cell
    count: int = 0
    avoid: frozenset[str] = frozenset()
    failed_at: float = 0.0
    last: Ended = field(default_factory=lambda: Ended(-1))  # none yet
    running: dict[int, tuple[float, str]] = field(default_factory=dict)  # tickets: when they began, and where

    @property
    def is_given_up(self) -> bool:
        """Whether it ended with an error."""
        return self.last.error is not None


def run_schedule(
    engine: Engine,
    work: Work,
    cells: Iterable[Cell],
    needs: Needs,
    most: int,
    *,
    others_are_done: bool = False,
    advance: Callable[[Cell, int, int], None],
    retried: Callable[[Attempts], None],
    tick: Callable[[int, int], None],
) -> Generator[Attempts, None, None]:
    """Yield every cell when it is done or given up, in the order in which that happens.

    An attempt that fails is repeated, on a cluster in another place, until the engine's number of `attempts`. A cell
    that takes far longer than usual is also given to a worker that has nothing to do, and the first result counts:
    cells may run twice. A full disk ends everything; and if the first cells are all given up, the error of the first is
    raised, unless `others_are_done`, in an earlier run, say. `tick` hears of the numbers of workers and running cells.
    """
    loop = _Loop(engine, iter(cells), retried, others_are_done)
    workers = engine.open(work, needs, most, lambda ticket, *at: loop.advance(ticket, at, advance))
    try:
        while loop.feed(workers):
            if engine.doubles_slow_cells:
                loop.double_slow(workers)
            tick(workers.count(), len(loop.running))
            for ended in workers.wait(TICK):
                attempts = loop.settle(ended, workers)
                if attempts is not None:
                    yield attempts
    finally:
        workers.close()


class _Loop:
    """What is waiting, what is running, what is known of durations."""

    def __init__(
        self, engine: Engine, cells: Iterator[Cell], retried: Callable[[Attempts], None], has_done: bool
    ) -> None:
        self._engine, self._cells, self._retried = engine, cells, retried
        self._waiting: deque[Attempts] = deque()
        self._tickets = itertools.count()
        self._durations: deque[float] = deque(maxlen=REMEMBERED)
        self._given_up: list[Attempts] = []
        self._has_done = has_done
        self.running: dict[int, Attempts] = {}

    def _first_error(self) -> Exception:
        error = self._given_up[0].last.error
        assert error is not None  # or it would not have been given up
        return error

    def advance(self, ticket: int, at: tuple[int, int], tell: Callable[[Cell, int, int], None]) -> None:
        if ticket in self.running:
            tell(self.running[ticket].cell, *at)

    def feed(self, workers: Workers) -> bool:
        """Give cells to all workers that wait; False when there is nothing left and nothing running."""
        held_back = []
        while workers.room():
            attempts = self._next()
            if attempts is None:
                break
            if not self._start(workers, attempts, self._elsewhere(workers, attempts)):
                held_back.append(attempts)
        self._waiting.extendleft(reversed(held_back))
        if self.running or self._waiting:
            return True
        following = self._next()  # there may be cells, and no worker yet
        if following is None:
            if self._given_up and not self._has_done:
                raise self._first_error()
            return False
        self._waiting.append(following)
        return True

    def _elsewhere(self, workers: Workers, attempts: Attempts) -> frozenset[str]:
        """The machines that a cell avoids: those where it failed, while there are others, and not for ever."""
        waits = time.monotonic() - attempts.failed_at < ELSEWHERE
        return attempts.avoid if waits and workers.places() - attempts.avoid else frozenset()

    def _next(self) -> Attempts | None:
        if self._waiting:
            return self._waiting.popleft()
        return next((Attempts(cell) for cell in self._cells), None)

    def _start(self, workers: Workers, attempts: Attempts, avoid: frozenset[str]) -> bool:
        ticket = next(self._tickets)
        where = workers.start(ticket, attempts.cell, avoid)
        if where is None:
            return False
        self.running[ticket] = attempts
        attempts.running[ticket] = time.monotonic(), where
        return True

    def settle(self, ended: Ended, workers: Workers) -> Attempts | None:
        """What follows from an end: the cell, if it is over with it; None if it goes on."""
        attempts = self.running.pop(ended.ticket, None)
        if attempts is None:  # the slower of two
            return None
        del attempts.running[ended.ticket]
        attempts.count += 1
        attempts.last = ended
        if ended.error is None:
            self._has_done = True
            self._durations.append(ended.seconds)
        else:
            _raise_if_final(ended.error)
            attempts.avoid |= {ended.where}
            attempts.failed_at = time.monotonic()
            if attempts.running:  # its double is still at work
                self._retried(attempts)
                return None
            if attempts.count < self._engine.attempts and self._engine.is_worth_retrying(ended.error):
                self._retried(attempts)
                self._waiting.append(attempts)
                return None
            self._given_up.append(attempts)
            if not self._has_done and len(self._given_up) >= HOPELESS:
                raise self._first_error()
        for ticket in attempts.running:
            self.running.pop(ticket, None)
            workers.cancel(ticket)
        return attempts

    def double_slow(self, workers: Workers) -> None:
        """Give a cell that takes far too long to a second worker, if one has nothing else to do."""
        if not self._durations or not workers.room():
            return
        limit = max(SLOW_AT_LEAST, SLOW * statistics.median(self._durations))
        now = time.monotonic()
        for ticket, attempts in list(self.running.items()):
            began, where = attempts.running[ticket]
            may_fail = attempts.count + 1 < self._engine.attempts
            if len(attempts.running) == 1 and may_fail and now - began > limit:
                self._start(workers, attempts, attempts.avoid | {where})


def _raise_if_final(error: Exception) -> None:
    """A full disk, and whatever else keeps a machine from going on, end the whole run."""
    is_stopped = isinstance(error, Stopped) and not isinstance(error, WorkerLost)
    if is_stopped or (isinstance(error, OSError) and error.errno in DISK_FULL):
        raise error


def describe_error(error: Any) -> str:
    """The reason in one line."""
    words = " ".join(str(error).split())
    return words if isinstance(error, ValueError) and words else f"{type(error).__name__}: {words}".rstrip(": ")
