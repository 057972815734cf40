"""What a study costs: pieces of work, the seconds and bytes of each, and how these were found out.

A study says which cells are left, how large their files are, and how to try one of them. Everything else is here:
finished cells say best how long the others take, so their journals are believed first; only where there are none,
something is tried.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

import torch

from scuff.engine.journal import read_journals
from scuff.environment import environment
from scuff.pool import threads_limited
from scuff.store import Store

NOW = "measured now on a few images"
TIMED_SECONDS = 0.05  # for which something short is repeated
IN_MEMORY = "memory://scuff-cost"  # where files are made whose size is asked for


@dataclass(frozen=True)
class CellCost:
    """What some cells of a kind cost, each: seconds (NaN: not known), bytes that it leaves, and on what.

    While it runs, a cell keeps that many `units` busy: GPUs (`device` "gpu") or processors ("cpu").
    """

    kind: str
    cells: int
    seconds_per_cell: float
    bytes_per_cell: float
    device: str
    how: str = NOW
    name: str = ""
    units: float = 1

    @property
    def seconds(self) -> float:
        """Of units, for all of them; nothing takes nothing, even where a cell's time is not known."""
        return self.cells * self.seconds_per_cell * self.units if self.cells else 0.0

    @property
    def bytes(self) -> float:
        """Of all of them."""
        return self.cells * self.bytes_per_cell


@dataclass(frozen=True)
class StudyCost:
    """What is left of a study, as costs of its cells. A kind of cells may have several of them, one per corruption say.

    `machine` says where it was measured; `warm_up` are the seconds that each worker needs once, to compile above all.

    >>> train = CellCost("train", 10, 720.0, 45e6, "gpu")
    >>> test = CellCost("test", 80, 9.0, 1e5, "gpu")
    >>> cost = StudyCost((train, test), "a GPU")
    >>> cost.gpu_hours, cost.cpu_hours, cost.bytes
    (2.2, 0.0, 458000000.0)
    >>> cost.wall_seconds(8) / 3600
    0.275
    """

    parts: tuple[CellCost, ...]
    machine: str
    warm_up: float = 0.0

    def __add__(self, other: StudyCost) -> StudyCost:
        return StudyCost(self.parts + other.parts, self.machine or other.machine, self.warm_up + other.warm_up)

    def hours(self, device: str) -> float:
        """Hours of all units of a device; NaN where some are not known."""
        return sum(part.seconds for part in self.parts if part.device == device) / 3600

    @property
    def gpu_hours(self) -> float:
        """Hours of GPUs, all together."""
        return self.hours("gpu")

    @property
    def cpu_hours(self) -> float:
        """Hours of processors, of cells that need no GPU."""
        return self.hours("cpu")

    @property
    def bytes(self) -> float:
        """Bytes of all files."""
        return sum(part.bytes for part in self.parts)

    @property
    def cells(self) -> int:
        """Cells that are left."""
        return sum(part.cells for part in self.parts)

    def kinds(self) -> dict[str, tuple[CellCost, ...]]:
        """The costs of each kind, in the order in which kinds are done."""
        names = dict.fromkeys(part.kind for part in self.parts)
        return {name: tuple(part for part in self.parts if part.kind == name) for name in names}

    def wall_seconds(self, workers: int) -> float:
        """How long that many workers take, each with a GPU, or with the processors of the cell that needs most.

        One kind of cells waits for the other; cells cannot be divided, so that none is done before its longest cell.
        """
        processors = max((part.units for part in self.parts if part.device == "cpu"), default=1)
        total = self.warm_up if self.cells else 0.0
        for parts in self.kinds().values():
            longest = max((part.seconds_per_cell for part in parts if part.cells), default=0.0)
            units = sum(part.seconds / (processors if part.device == "cpu" else 1) for part in parts)
            total += max(units / workers, longest)
        return total


@dataclass(eq=False)
class Estimate:
    """A cost on its way: cells are added, and timed on the way unless the journals of the study tell.

    `threads` are those that a cell has on processors; None: all of them.
    """

    device: torch.device
    journals: Store | None = None
    threads: int | None = None
    parts: list[CellCost] = field(default_factory=list, repr=False)
    _timed: dict[Hashable, tuple[float, float]] = field(default_factory=dict, repr=False)  # as `time_warm` tells
    _used: set[Hashable] = field(default_factory=set, repr=False)

    def add(
        self,
        kind: str,
        seconds: Callable[[], float | tuple[float, str]],
        size: float,
        name: str = "",
        *,
        cells: int = 1,
        pieces: int = 1,
        done: int | None = None,
        device: torch.device | None = None,
    ) -> None:
        """Cells of a kind that leave `size` bytes each; `seconds` tries what one takes, and may say how it did.

        A cell may have several `pieces`, of which `done` are finished; without them, the cells of journals count.
        """
        device = device or self.device
        before = seconds_before(self.journals, kind) if self.journals is not None and done != 0 else None
        if before is not None:
            each = before[0] / (done or before[1]) * pieces
            how = f"measured in this folder: {before[1]} cell{'' if before[1] == 1 else 's'}"
        elif device.type == "cuda" and not torch.cuda.is_available():  # a cluster's GPUs may all be elsewhere
            each, how = math.nan, f"not measured: there is no {device.type} here"
        else:
            with threads_limited(self.threads if device.type == "cpu" else None):
                measured = seconds()
            each, how = measured if isinstance(measured, tuple) else (measured, NOW)
        units = 1 if device.type == "cuda" else self.threads or torch.get_num_threads()
        part = CellCost(kind, cells, each, size, "gpu" if device.type == "cuda" else "cpu", how, name, units)
        self.parts.append(part)

    def time(self, key: Hashable, prepare: Callable[[], Callable[[], object]]) -> float:
        """Seconds of an act once everything is warm, measured once for each key; `prepare` makes the act."""
        if key not in self._timed:
            self._timed[key] = time_warm(prepare(), self.device)
        self._used.add(key)
        return self._timed[key][0]

    def total(self) -> StudyCost:
        """All that was added."""
        warm_up = sum(self._timed[key][1] for key in self._used)
        return StudyCost(tuple(self.parts), environment(self.device)["device"], warm_up)

    def begin_another(self) -> None:
        """Forget what was added. What was timed is not timed again."""
        self.parts.clear()
        self._used.clear()


def seconds_before(store: Store, kind: str) -> tuple[float, int] | None:
    """Seconds of all cells of a kind that the study in a store has finished, and their number; None without any."""
    counts = [journal["cells"][kind] for journal in read_journals(store) if kind in journal["cells"]]
    done = sum(count["done"] for count in counts)
    return (sum(count["seconds"] for count in counts), done) if done else None


def size_in_memory(name: str, write: Callable[[Store, str], object]) -> int:
    """Bytes of a file, which is made in memory."""
    store = Store(IN_MEMORY)
    write(store, name)
    size = len(store.read(name))
    store.remove(name)
    return size


def time_once(act: Callable[[], object], device: torch.device) -> float:
    """Seconds until a GPU has done all of it."""
    wait = (lambda: torch.cuda.synchronize(device)) if device.type == "cuda" else (lambda: None)
    wait()
    began = time.perf_counter()
    act()
    wait()
    return time.perf_counter() - began


def time_warm(act: Callable[[], object], device: torch.device) -> tuple[float, float]:
    """Seconds of an act once everything is warm, and those that the first time took longer.

    What is short is repeated, in rounds twice as long as the one before.
    """

    def repeat() -> None:
        for _ in range(rounds):
            act()

    first, rounds = time_once(act, device), 1
    while (seconds := time_once(repeat, device)) < TIMED_SECONDS:
        rounds *= 2
    return seconds / rounds, max(first - seconds / rounds, 0.0)
