"""What a study costs: cells, the seconds and bytes of each, and how these were found out.

Cells that a study has finished say best how long the others take: their journals are believed first. Only where there
are none, a few images are tried.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from scuff.engine.journal import read_journals
from scuff.store import Store

HOUR = 3600.0
NOW = "measured now on a few images"
MIN_TIMED_SECONDS = {"cpu": 0.05, "cuda": 0.05}  # seconds for which something short is repeated


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
        return StudyCost(self.parts + other.parts, self.machine, self.warm_up + other.warm_up)

    @property
    def gpu_hours(self) -> float:
        """Hours of GPUs, all together; NaN where some are not known."""
        return sum(part.seconds for part in self.parts if part.device == "gpu") / HOUR

    @property
    def cpu_hours(self) -> float:
        """Hours of processors, of cells that need no GPU."""
        return sum(part.seconds for part in self.parts if part.device == "cpu") / HOUR

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


def seconds_before(store: Store, kind: str) -> tuple[float, int] | None:
    """Seconds of all cells of a kind that the study in a store has finished, and their number; None without any."""
    journalled = [journal["cells"][kind] for journal in read_journals(store) if kind in journal["cells"]]
    done = sum(its["done"] for its in journalled)
    return (sum(its["seconds"] for its in journalled), done) if done else None


def in_this_folder(cells: int) -> str:
    """How a figure was obtained that journals tell."""
    return f"measured in this folder: {cells} cell{'' if cells == 1 else 's'}"


def is_here(device: torch.device) -> bool:
    """Whether something can be tried on a device: a cluster's GPUs may all be elsewhere."""
    return device.type == "cpu" or torch.cuda.is_available()


def kind_of(device: torch.device) -> str:
    """What costs call a device."""
    return "gpu" if device.type == "cuda" else "cpu"


def time_once(act: Callable[[], object], device: torch.device) -> float:
    """Seconds until a GPU has done all of it."""
    on_gpu = device.type == "cuda"
    if on_gpu:
        torch.cuda.synchronize(device)
    began = time.perf_counter()
    act()
    if on_gpu:
        torch.cuda.synchronize(device)
    return time.perf_counter() - began


def time_warm(act: Callable[[], object], device: torch.device) -> tuple[float, float]:
    """Seconds of an act once everything is warm, and those that the first time took longer.

    What is short is repeated, in rounds twice as long as the one before.
    """
    first, rounds = time_once(act, device), 1
    least = MIN_TIMED_SECONDS.get(device.type, MIN_TIMED_SECONDS["cpu"])
    while True:

        def repeat(count: int = rounds) -> None:
            for _ in range(count):
                act()

        seconds = time_once(repeat, device)
        if seconds >= least:
            return seconds / rounds, max(first - seconds / rounds, 0.0)
        rounds *= 2
