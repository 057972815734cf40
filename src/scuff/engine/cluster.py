"""Run cells on a Ray cluster.

Every worker is an actor: a process that keeps what it needs (a processor, a GPU or a share of one) for as long as there
are cells, so that models, images and compiled code are loaded once. Cells go to it one at a time. Ray itself retries
nothing here: what is tried again, and where, is decided by the schedule, which also keeps the reasons.
"""

from __future__ import annotations

import os
import pickle
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from scuff.engine.cells import Cell, Ended, Needs, Work, WorkerLost, Workers
from scuff.engine.worker import Worker
from scuff.files import Stopped
from scuff.packages import need
from scuff.plugins import own_modules

SECONDS_BETWEEN = 5.0  # two looks at which machines there are
WORKER_START_SECONDS = 60.0  # seconds in which a worker starts, if there is room for it
UNWILLING = 5  # workers in a row that do not even start: then none will

# How a client of gRPC greets: by the preface of HTTP/2, and a frame without settings. A server answers with its own.
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
SETTINGS_FRAME = 4


@dataclass(frozen=True)
class RayEngine:
    """A Ray cluster: at an address ("auto" finds the one of this machine), or started here for as long as we live.

    Every machine needs scuff, and must see data and results under the addresses that we use. `workers` limits how many
    cells run at once; by default there are as many as fit, and more when machines join. With a number, workers for
    which there is no room yet are asked for too, so that a cluster that grows on demand does.
    """

    address: str | None = None
    workers: int | None = None
    share: int = 1
    attempts: int = 3
    name: str = "ray"
    doubles_slow_cells: bool = True

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"workers must be at least 1, got {self.workers}")
        need("the engine ray", "ray")
        _check_address(self.address)

    def is_worth_retrying(self, error: Exception) -> bool:
        """Always: another machine may have what this one lacks."""
        return True

    def find_device(self, device: str | torch.device | None) -> torch.device:
        """A GPU if any machine of the cluster has one."""
        gpus = int(self.connect().cluster_resources().get("GPU", 0))
        chosen = torch.device(device or ("cuda" if gpus else "cpu"))
        if chosen.index is not None:
            raise ValueError(f"device {device} was asked for, but a cluster chooses the GPU itself; use {chosen.type}")
        if chosen.type == "cuda" and not gpus and self.workers is None:  # else some may be on their way
            raise ValueError("device cuda was asked for, but no machine of the cluster has a GPU; use cpu")
        return chosen

    def connect(self) -> Any:
        """The module ray, connected to the cluster."""
        import ray

        if not ray.is_initialized():
            _check_address(self.address)
            try:
                ray.init(self.address or "local", log_to_driver=False, include_dashboard=False, configure_logging=False)
            except (ConnectionError, ValueError, RuntimeError) as error:
                reason = " ".join(str(error).split())
                raise ValueError(f"cannot reach a Ray cluster at {self.address or 'local'}: {reason}") from error
        return ray

    def open(self, work: Work, needs: Needs, most: int, advance: Callable[[int, int, int], None]) -> Workers:
        """Actors for cells."""
        return _Actors(self.connect(), work, needs, most, self.workers)


@dataclass
class _Hired:
    """A worker, since when it is, and where; unknown until it has started."""

    actor: Any = field(repr=False)
    since: float
    where: str = ""


class _Actors:
    """As many workers as fit into the cluster; when one is lost, another one takes its place."""

    def __init__(self, ray: Any, work: Work, needs: Needs, most: int, wanted: int | None) -> None:
        self._ray, self._most, self._wanted = ray, most, wanted
        self._needs = {"CPU": 1 if needs.cpus is None else needs.cpus, "GPU": needs.gpus, "memory": needs.memory}
        self._work = ray.put(ray.cloudpickle.dumps(work))  # read by a worker that knows our paths
        self._class = ray.remote(max_restarts=0, max_task_retries=0)(Worker).options(
            num_cpus=self._needs["CPU"], num_gpus=needs.gpus, memory=needs.memory or None
        )
        self._coming: dict[Any, _Hired] = {}  # by what tells that they are there
        self._idle: list[_Hired] = []
        self._busy: dict[Any, tuple[int, _Hired, float]] = {}  # by their results to come
        self._looked, self._slots, self._had_room = -SECONDS_BETWEEN, 0, False
        self._unwilling, self._refused = 0, 0.0

    # --- workers ----------------------------------------------------------------------------------------------------

    def count(self) -> int:
        return len(self._idle) + len(self._busy)

    def places(self) -> set[str]:
        """Where workers are; those that are about to start may be anywhere."""
        latest = time.monotonic() - WORKER_START_SECONDS
        coming = {one.where for one in self._coming.values() if one.since > latest and not self._unwilling}
        return coming | {one.where for one in self._idle} | {one.where for _, one, _ in self._busy.values()}

    def room(self) -> int:
        if time.monotonic() - self._looked >= SECONDS_BETWEEN:
            self._looked, self._slots = time.monotonic(), self._wanted or self._count_slots()
        if self._unwilling >= UNWILLING and time.monotonic() - self._refused < WORKER_START_SECONDS:
            return len(self._idle)
        for _ in range(min(self._slots, self._most) - self.count() - len(self._coming)):
            actor = self._class.remote(
                self._work, max(1, int(self._needs["CPU"])), os.getcwd(), list(sys.path), own_modules()
            )
            self._coming[actor.where.remote()] = _Hired(actor, time.monotonic())
        return len(self._idle)

    def _count_slots(self) -> int:
        """How many workers the machines have room for, were they empty."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        wanted = {name: amount for name, amount in self._needs.items() if amount}
        fit = sum(
            min((int(node.get(name, 0) / amount) for name, amount in wanted.items()), default=0) for node in nodes
        )
        self._had_room = self._had_room or fit > 0
        if not self._had_room:  # else a machine that is gone may come back
            has = ", ".join(f"{name} {amount:g}" for name, amount in wanted.items())
            raise Stopped(f"no machine of the cluster has what a cell needs ({has})")
        return fit

    # --- cells ------------------------------------------------------------------------------------------------------

    def start(self, ticket: int, cell: Cell, avoid: frozenset[str]) -> str | None:
        place = next((k for k, one in enumerate(self._idle) if one.where not in avoid), None)
        if place is None:
            return None
        worker = self._idle.pop(place)
        self._busy[worker.actor.do.remote(cell)] = ticket, worker, time.monotonic()
        return worker.where

    def wait(self, seconds: float) -> list[Ended]:
        awaited = [*self._coming, *self._busy]
        if not awaited:
            time.sleep(min(seconds, 0.1))
            return []
        self._ray.wait(awaited, num_returns=1, timeout=seconds, fetch_local=False)
        done, _ = self._ray.wait(awaited, num_returns=len(awaited), timeout=0, fetch_local=False)
        for reference in [one for one in done if one in self._coming]:
            self._welcome(reference)
        return [self._end(reference) for reference in done if reference in self._busy]

    def _welcome(self, reference: Any) -> None:
        worker = self._coming.pop(reference)
        try:
            worker.where = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            self._unwilling, self._refused = self._unwilling + 1, time.monotonic()
            if self._unwilling >= UNWILLING and not self.count():
                raise Stopped(f"no worker of the cluster starts: {_lines(error)[-1]}") from error
            return
        self._unwilling = 0
        self._idle.append(worker)

    def _end(self, reference: Any) -> Ended:
        ticket, worker, began = self._busy.pop(reference)
        try:
            result, error, is_sound, seconds = self._ray.get(reference)
        except self._ray.exceptions.RayError as lost:
            self._ray.kill(worker.actor)  # it may be cut off, but alive
            gone = WorkerLost(f"the worker was lost: {_lines(lost)[0]}")
            return Ended(ticket, None, gone, time.monotonic() - began, worker.where)
        if is_sound:
            self._idle.append(worker)
        else:
            self._ray.kill(worker.actor)
        return Ended(ticket, result, error and pickle.loads(error), seconds, worker.where)

    def cancel(self, ticket: int) -> None:
        busy = next((one for one in self._busy.items() if one[1][0] == ticket), None)
        if busy is not None:
            del self._busy[busy[0]]
            self._ray.kill(busy[1][1].actor)

    def close(self) -> None:
        workers = [*self._coming.values(), *self._idle, *(worker for _, worker, _ in self._busy.values())]
        for worker in workers:
            self._ray.kill(worker.actor)
        self._coming.clear()
        self._idle.clear()
        self._busy.clear()


def _check_address(address: str | None) -> None:
    """Refuse a machine that does not answer as Ray does: Ray itself would go on trying for minutes, deaf to Ctrl-C."""
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS")
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit() or "/" in host:
        return
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS_BETWEEN) as link:
            if os.environ.get("RAY_USE_TLS", "0").lower() in ("0", "false", ""):  # else it waits for a greeting of TLS
                link.sendall(GREETING)
                answer = link.recv(9)
                if len(answer) < 4 or answer[3] != SETTINGS_FRAME:
                    raise OSError("what answers there is not Ray; its port is 6379 unless ray start was told otherwise")
    except (OSError, OverflowError) as error:
        raise ValueError(
            f"cannot reach a Ray cluster at {address}: {error}; without an address, one is started on this machine"
        ) from error


def _lines(error: Exception) -> list[str]:
    """What Ray says, which may go on for pages: of a loss, the first line tells most, of an exception the last."""
    return [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
