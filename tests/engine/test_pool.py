"""Workers stop when they are told to, and save what they have."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import FIRST_COMPLETED, wait
from functools import partial
from pathlib import Path

import pytest

from scuff.pool import Pool, Stopping, if_cut_short, raise_if_stopping


def work(task: tuple[str, Path], advance) -> str:
    """Return at once, or stay for ten minutes: ready to leave, or deaf, or deaf and slow to save what is there."""
    kind, folder = task
    (folder / f"{kind}-began").touch()
    with if_cut_short(partial(save, kind, folder)):
        for _ in range(0 if kind == "quick" else 6000):
            time.sleep(0.1)
            try:
                raise_if_stopping()
            except Stopping:
                if kind == "ready":
                    raise
    return kind


def save(kind: str, folder: Path) -> None:
    time.sleep(1 if kind == "slow" else 0)
    (folder / f"{kind}-saved").touch()


def wait_until_begun(folder: Path, *kinds: str) -> None:
    while not all((folder / f"{kind}-began").exists() for kind in kinds):
        time.sleep(0.05)


def test_tasks_that_have_begun_are_stopped(tmp_path):
    pool = Pool(work, 2)
    futures = [pool.submit((kind, tmp_path)) for kind in ("quick", "ready", "deaf")]
    done, _ = wait(futures, return_when=FIRST_COMPLETED)
    assert done.pop().result()[0] == "quick"
    wait_until_begun(tmp_path, "ready", "deaf")
    began = time.monotonic()
    pool.close()
    assert time.monotonic() - began < 60  # it takes a second, or a little more on a busy machine
    assert {file.name for file in tmp_path.glob("*-saved")} == {"ready-saved", "deaf-saved"}


def test_a_worker_that_ends_first_leaves_others_the_time_to_save(tmp_path):
    """When one ends, Python's pool tells all others to terminate."""
    pool = Pool(work, 2)
    for kind in ("deaf", "slow"):
        pool.submit((kind, tmp_path))
    wait_until_begun(tmp_path, "deaf", "slow")
    pool.close()
    assert {file.name for file in tmp_path.glob("*-saved")} == {"deaf-saved", "slow-saved"}


def terminate_a_child(kind: str, advance) -> int:
    """How a process ends that a worker has started, once it runs, and then terminates."""
    if kind == "spawned":
        process = subprocess.Popen([sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"], stdout=-1)
        process.stdout.readline()
        process.terminate()
        return process.wait()
    end, start = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(start, b"!")
        time.sleep(60)
        os._exit(0)
    os.read(end, 1)
    os.kill(child, signal.SIGTERM)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("kind", ["forked", "spawned"])
def test_processes_that_a_worker_starts_can_be_terminated(kind):
    pool = Pool(terminate_a_child, 1)
    end, _ = pool.submit(kind).result(timeout=120)
    pool.close()
    assert end == -signal.SIGTERM
