"""Several processes that train one network together: who they are, what each has of the images, how they agree.

Every process has a copy of the network and its own share of the images. In every step each computes the gradient of its
part of the batch, and all of them go on with the mean (torch's DistributedDataParallel). Whoever starts the processes,
torchrun or `scuff train --nproc`, tells each its number in the environment; `joined` reads it.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import hashlib
import importlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from scuff.environment import find_device
from scuff.files import Stopped
from scuff.launch import check_gpus

Value = TypeVar("Value")

# A process waits so long for the others, who may have more pictures to decode. One that has died is noticed by whoever
# started it, not by waiting.
COLLECTIVE_TIMEOUT = timedelta(hours=2)


class LostPeer(Stopped):
    """Another process of the training is not there any more; why is known to it, not here."""


@dataclass(frozen=True)
class Team:
    """The processes of one training, seen from one of them: its number, how many there are, how many on its machine.

    >>> Team(rank=1, size=2).is_first, Team().is_first
    (False, True)
    """

    rank: int = 0
    size: int = 1
    neighbours: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes files and shows progress."""
        return self.rank == 0

    def everyones(self, value: Value) -> list[Value]:
        """What each process has given, in order."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        with translated():
            dist.all_gather_object(values, value)
        return values

    @contextlib.contextmanager
    def agreeing(self) -> Iterator[None]:
        """Let an error of one process be raised in all of them. Within the block, processes must not wait for others.

        Without this, those without the error would wait for the one that has left.
        """
        if self.size == 1:
            yield
            return
        error = None
        try:
            yield
        except Exception as found:
            error = found
        told = self.everyones(None if error is None else _in_words(error))
        if error is not None:
            raise error
        for kind, text in filter(None, told):
            raise kind(text)

    def decide(self, act: Callable[[], Value]) -> Value:
        """What the first process gets by `act`, in all of them; the others do not call it."""
        result: Any = None
        with self.agreeing():
            if self.is_first:
                result = act()
        return self.everyones(result)[0]

    def copy_from_first(self, tensors: Iterable[Tensor]) -> None:
        """Overwrite tensors by those of the first process."""
        if self.size > 1:
            with translated(), torch.no_grad():
                for tensor in tensors:
                    dist.broadcast(tensor, 0)

    def wrap(self, network: nn.Module) -> nn.Module:
        """A network that is called like this one, and whose gradients are the mean over all processes."""
        if self.size == 1:
            return network
        device = next(network.parameters()).device
        return nn.parallel.DistributedDataParallel(network, device_ids=[device] if device.type == "cuda" else None)


ALONE = Team()


@dataclass(frozen=True)
class Part:
    """The share of one process in the images: those at places rank, rank + size, ... of the whole.

    Images draw by their ids, if `known_by` holds those of the whole, else by their places.

    >>> part = Part(Team(rank=1, size=2), total=7)
    >>> part.places().tolist(), part.batches(4)
    ([1, 3, 5], 1)
    """

    team: Team
    total: int
    known_by: Tensor | None = field(default=None, compare=False, repr=False)

    def places(self) -> Tensor:
        """Where its images are in the whole."""
        return torch.arange(self.team.rank, self.total, self.team.size)

    def ids(self) -> Tensor:
        """What its images draw by, on the CPU."""
        return self.places() if self.known_by is None else self.known_by[self.places()]

    def batches(self, batch_size: int) -> int:
        """How many whole batches there are in an epoch: as many for every process."""
        return self.total // batch_size

    def batch_of(self, batch_size: int) -> int:
        """How many images of every batch are this process's."""
        return batch_size // self.team.size


def check_batch(batch_size: int, team: Team) -> None:
    """Refuse a batch that cannot be shared out equally."""
    if team.size > 1 and (batch_size % team.size or batch_size < 2 * team.size):
        raise ValueError(
            f"a batch of {batch_size} cannot be shared out equally among {team.size} processes, with at least 2 images "
            "for each; take another number of processes, or another batch_size"
        )


def check_alike(team: Team, what: str, *values: Any) -> None:
    """Refuse to go on if processes have different values: bytes, or anything that is written the same if it is."""
    if team.size == 1:
        return
    state = hashlib.blake2b(digest_size=8)
    for value in values:
        state.update(value if isinstance(value, bytes) else repr(value).encode())
    if len(set(team.everyones(state.hexdigest()))) > 1:
        raise ValueError(f"the processes do not have the same {what}; give all of them the same data and options")


# --- joining --------------------------------------------------------------------------------------------------------


def find_team() -> Team:
    """Who this process is, as told by whoever started it; alone, if nobody did.

    A group that a program has made by `torch.distributed.init_process_group` counts too.
    """
    neighbours = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    if dist.is_available() and dist.is_initialized():
        return Team(dist.get_rank(), dist.get_world_size(), neighbours)
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        return ALONE
    size = int(os.environ["WORLD_SIZE"])
    return ALONE if size == 1 else Team(int(os.environ["RANK"]), size, neighbours)


def device_of(team: Team, device: str | torch.device | None) -> torch.device:
    """The device of this process: on GPUs, one of its own."""
    chosen = find_device(device)
    if team.size == 1 or chosen.type == "cpu":
        return chosen
    if chosen.index is not None:
        raise ValueError(f"every process takes a GPU of its own, so {chosen} cannot serve all; ask for the device cuda")
    place = int(os.environ.get("LOCAL_RANK", 0))
    check_gpus(place + 1)
    return torch.device("cuda", place)


@contextlib.contextmanager
def joined(device: str | torch.device | None) -> Iterator[tuple[Team, torch.device]]:
    """The team of this process and the device it works on.

    Processes stay connected afterwards, because a program may train several networks; `leave` ends it.
    """
    team = find_team()
    device = device_of(team, device)
    if team.size > 1 and device.type == "cuda":
        torch.cuda.set_device(device)
    if team.size > 1 and not dist.is_initialized():
        # DistributedDataParallel imports it. Imported once a group exists, it keeps the group, and its threads with it,
        # until Python shuts down; a thread that lets go of exchanged tensors then aborts the process.
        importlib.import_module("torch._dynamo")
        with translated():
            dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=COLLECTIVE_TIMEOUT)
        atexit.register(leave)
        # The command line keeps the collector from looking at the end, where it has to find the group and its threads.
        atexit.unregister(gc.freeze)
    try:
        with translated():
            yield team, device
    except BaseException:
        atexit.unregister(leave)  # the others do not come along now: do not wait for them
        raise


def leave() -> None:
    """Part from the other processes; all of them do so at the same time."""
    atexit.unregister(leave)
    if dist.is_available() and dist.is_initialized():
        if dist.get_backend() == "gloo":
            with contextlib.suppress(RuntimeError):  # somebody has left already
                dist.barrier()
        dist.destroy_process_group()


# --- failures -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Say in our words that another process has gone."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, Stopped) or not _is_about_peers(error):
            raise
        raise LostPeer("another process of this training has ended; run the same again to go on") from error


def _is_about_peers(error: RuntimeError) -> bool:
    return isinstance(error, dist.DistError) or "gloo" in str(error).lower()


def _in_words(error: Exception) -> tuple[type[Exception], str]:
    """An error as something that can be sent: what to raise elsewhere, and its message."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    if isinstance(error, MemoryError):
        return MemoryError, text
    if isinstance(error, (ValueError, KeyError, OSError)):
        return ValueError, text
    return Stopped, f"another process has failed: {type(error).__name__}: {text}"
