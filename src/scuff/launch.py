"""Start the processes that train one network together on this machine, by torch's own launcher."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence

import torch
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from scuff.environment import find_device
from scuff.files import Stopped

SECONDS_TO_END = 5  # of a process that was asked to end, before it is killed


def check_gpus(processes: int) -> None:
    """Refuse more processes on this machine than it has GPUs."""
    available = torch.cuda.device_count()
    if processes > available:
        raise ValueError(
            f"{processes} processes need as many GPUs, but torch finds {available} on this machine; start fewer, or "
            "use the device cpu"
        )


def check_processes(processes: int, device: str | torch.device | None) -> None:
    """Refuse a number of processes that this machine cannot run on this device.

    >>> check_processes(0, "cpu")
    Traceback (most recent call last):
    ValueError: expected at least 1 process, got 0
    """
    if processes < 1:
        raise ValueError(f"expected at least 1 process, got {processes}")
    chosen = find_device(device)
    if processes > 1 and chosen.type == "cuda":
        if chosen.index is not None:
            raise ValueError(f"{processes} processes need a GPU each, so not {chosen} for all; ask for the device cuda")
        check_gpus(processes)


@contextlib.contextmanager
def _without_log() -> Iterator[None]:
    """Silence the launcher: the processes themselves tell what is wrong."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def launch(processes: int, arguments: Sequence[str]) -> int:
    """Run `python -m scuff ARGUMENTS` in that many processes, each of which knows its number, and return an exit code.

    They write to the same terminal. If one fails, or Ctrl-C comes, all of them end; the code is that of the first to
    fail, 130 after Ctrl-C.
    """
    # Each has an equal share of the processors. Without this, all of them would take all.
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, torch.get_num_threads() // processes)))
    os.environ.setdefault("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", str(SECONDS_TO_END))
    with tempfile.TemporaryDirectory() as folder, _without_log():
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=processes,
            run_id=uuid.uuid4().hex,
            rdzv_backend="c10d",
            rdzv_endpoint="localhost:0",
            local_addr="localhost",
            max_restarts=0,
            logs_specs=DefaultLogsSpecs(folder),
        )
        try:
            elastic_launch(config, sys.executable)("-m", "scuff", *arguments)
        except SignalException as interrupt:
            return 128 + interrupt.sigval
        except ChildFailedError as failed:
            rank, failure = failed.get_first_failure()
            if failure.exitcode < 0:
                word = signal.Signals(-failure.exitcode).name
                raise Stopped(
                    f"process {rank} of this training was ended by {word}; run the same again to go on"
                ) from failed
            return failure.exitcode
    return 0
