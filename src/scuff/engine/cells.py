"""Cells: what they need, how they end, and what a place to run them must be able to do.

A cell is a piece of work whose result is a file, whole or absent, in a store. So it may be interrupted at any time, it
may run twice, here or elsewhere, and of a run that is started again only the cells whose files are missing are left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch

from scuff.files import Stopped

Cell = Any  # small: names and numbers
Advance = Callable[[int, int], None]  # of one cell: parts done, parts to do
Work = Callable[[Cell, Advance], Any]  # sent to every worker once; what it opens on the way, it may keep

MAX_FAILURES_LISTED = 20  # failures that a message names
MAX_REASON_LENGTH = 200  # letters of a reason in it


@dataclass(frozen=True)
class Needs:
    """What a cell needs while it runs.

    `cpus` None: all processors of this machine, one cell at a time; one processor on a cluster. `gpus` 0.5 lets two
    cells share a GPU. `memory` in bytes.
    """

    cpus: float | None = 1
    gpus: float = 0
    memory: int = 0
    gpu: int | None = None  # the only one that will do, of this machine


def needs_of(device: torch.device, cpus: float | None = 1, share: int = 1, memory: int = 0) -> Needs:
    """What a cell that computes on a device needs, where `share` cells share that device.

    >>> needs_of(torch.device("cuda"), share=3)
    Needs(cpus=1, gpus=0.3333, memory=0, gpu=None)
    """
    if device.type != "cuda":
        return Needs(cpus, memory=memory)
    return Needs(cpus, math.floor(1e4 / share) / 1e4, memory, device.index)  # rounded down: Ray counts in 1/10000


@dataclass(frozen=True)
class Ended:
    """An attempt that has come to an end: with a result, with an error, or with the death of its worker."""

    ticket: int
    result: Any = None
    error: Exception | None = None
    seconds: float = 0.0
    where: str = ""


class WorkerLost(Stopped):
    """A worker died before its cell was done; another one may do it."""


@dataclass(frozen=True)
class Failure:
    """A cell that was given up, or an attempt that was: the last reason, the number of attempts, and the last place."""

    kind: str
    cell: str
    reason: str
    attempts: int
    where: str

    def __str__(self) -> str:
        tried = "" if self.attempts <= 1 else f" (after {self.attempts} attempts)"
        return f"{self.kind} {self.cell}: {self.reason}{tried}"


class CellsFailed(Stopped):
    """Some cells could not be done. All others are, and what they left is valid. `journal` is a file with all of it."""

    def __init__(self, failures: Sequence[Failure], journal: str = "") -> None:
        self.failures = tuple(failures)
        shown = [f"  {_shortened(failure)}" for failure in self.failures[:MAX_FAILURES_LISTED]]
        if len(self.failures) > MAX_FAILURES_LISTED:
            shown.append(f"  and {len(self.failures) - MAX_FAILURES_LISTED} more")
        if journal:
            shown.append(f"More is on the page of scuff report, and in {journal}")
        count, these = (f"{len(self.failures)} cells", "these") if len(self.failures) > 1 else ("a cell", "this one")
        lines = "\n".join(shown)
        super().__init__(
            f"{count} failed; all others are done and kept. Run the same again to try only {these} once more:\n{lines}"
        )


def _shortened(failure: Failure) -> Failure:
    """The same with the beginning and the end of a reason that is long: what went wrong often stands last."""
    if len(failure.reason) <= MAX_REASON_LENGTH:
        return failure
    half = MAX_REASON_LENGTH // 2
    return replace(failure, reason=f"{failure.reason[:half].rstrip()} ... {failure.reason[-half:].lstrip()}")


class Workers(Protocol):
    """Processes that hold one `work`, and do cells with it, one each at a time."""

    def count(self) -> int:
        """How many there are now."""

    def room(self) -> int:
        """How many of them wait for a cell."""

    def places(self) -> set[str]:
        """The machines that they are on."""

    def start(self, ticket: int, cell: Cell, avoid: frozenset[str]) -> str | None:
        """Give a cell to a worker that waits, on none of these machines, and say on which; None if there is none."""

    def wait(self, seconds: float) -> list[Ended]:
        """What has ended; nothing if nothing ends within `seconds`."""

    def cancel(self, ticket: int) -> None:
        """Stop an attempt whose result nobody waits for any more."""

    def close(self) -> None:
        """Stop everything."""


class Engine(Protocol):
    """A place where cells run."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def attempts(self) -> int:
        """Attempts at a cell that is worth retrying, before it is given up."""

    @property
    def share(self) -> int:
        """Trainings on one GPU at once."""

    @property
    def doubles_slow_cells(self) -> bool:
        """Whether a cell that takes far too long is also tried elsewhere."""

    def is_worth_retrying(self, error: Exception) -> bool:
        """Whether another attempt at a cell that ended so might end better."""

    def find_device(self, device: str | torch.device | None) -> torch.device:
        """The device that cells will compute on: the one that is asked for, or a GPU if there is one."""

    def open(self, work: Work, needs: Needs, most: int, advance: Callable[[int, int, int], None]) -> Workers:
        """Workers for at most `most` cells. `advance` may be called with a ticket, parts done and parts to do."""
