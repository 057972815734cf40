"""Loops on the threads of torch: every row once, in any process, by any number of threads, however they are had."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from scuff.kernels.numba_cpu import sharing
from scuff.kernels.numba_cpu.compiling import compiled
from scuff.kernels.numba_cpu.sharing import share, team


@pytest.fixture(autouse=True)
def torch_has_as_many_threads_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sharing, "LEAST_VALUES", 1)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=["OpenMP", "Python"])
def threads_of(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whose threads work: those of torch, or those that stand in for them where torch comes without OpenMP."""
    if request.param == "Python":
        monkeypatch.setattr(sharing, "team", lambda process: None)
    return request.param


@compiled
def _count(start, stop, seen, gain, pair, room, note):
    """`seen` counts the calls for each row; a thread's scratch `room` holds a row, and `note` the largest range."""
    note[0] = max(note[0], stop - start)
    for row in range(start, stop):
        for k in range(room.size):
            room[k] = row * gain
        for k in range(room.size):
            seen[row, k] += room[k] + pair[0][k] + pair[1]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 1000])
def test_every_row_is_worked_on_once(count: int, threads: int, threads_of: str) -> None:
    torch.set_num_threads(threads)
    seen, notes = np.zeros((count, 3), np.int64), []

    def scratch() -> tuple[np.ndarray, np.ndarray]:
        notes.append(np.zeros(1, np.int64))
        return np.empty(3, np.int64), notes[-1]

    share(_count, count, seen, 7, (np.array([1, 2, 3]), 10), scratch=scratch)
    assert np.array_equal(seen, 7 * np.arange(count)[:, None] + np.array([11, 12, 13]))
    assert len(notes) == (threads if count > 1 else 1)  # each thread has its own


@pytest.mark.parametrize("threads", [2, 3])
def test_rows_are_taken_several_at_a_time(threads: int, threads_of: str) -> None:
    torch.set_num_threads(threads)
    seen, note = np.zeros((100, 1), np.int64), np.zeros(1, np.int64)
    share(_count, 100, seen, 1, (np.array([0]), 0), np.empty(1, np.int64), note, least=50)
    assert note[0] == 50


def test_few_values_stay_on_the_thread_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "_run", lambda *_: pytest.fail("threads were called"))
    monkeypatch.setattr(sharing, "LEAST_VALUES", 1 << 15)
    torch.set_num_threads(2)
    share(_count, 8, np.zeros((8, 3), np.int64), 7, (np.zeros(3, np.int64), 0), np.zeros(3, int), np.zeros(1, int))


@compiled
def _fail(start, stop, out, bad):
    for row in range(start, stop):
        if row == bad:
            raise ValueError("a row that is bad")
        out[row] = 1


def test_what_fails_on_a_thread_is_an_error_here(threads_of: str) -> None:
    torch.set_num_threads(3)
    out = np.zeros(100)
    with pytest.raises(ValueError, match="a row that is bad"):
        share(_fail, 100, out, 40)
    share(_fail, 100, out, 100)
    assert out.all()


@compiled
def _fail_once(start, stop, out, failures):
    if failures[0] == 0:
        failures[0] += 1
        raise ValueError("not again")
    for row in range(start, stop):
        out[row] += 1


def test_what_fails_once_is_an_error_too(threads_of: str) -> None:
    """A loop that works in place would have worked twice on some rows."""
    torch.set_num_threads(2)
    with pytest.raises(MemoryError, match="failed on a thread, and not again"):
        share(_fail_once, 100, np.zeros(100), np.zeros(1, np.int64))


def _scratch() -> tuple[np.ndarray, np.ndarray]:
    return np.empty(3, np.int64), np.zeros(1, np.int64)


def test_threads_of_the_user_may_call_at_the_same_time(threads_of: str) -> None:
    """Each gets a team of its own."""
    torch.set_num_threads(2)
    results: list[np.ndarray] = []

    def work(gain: int) -> None:
        for _ in range(50):
            seen = np.zeros((64, 3), np.int64)
            share(_count, 64, seen, gain, (np.zeros(3, np.int64), 0), scratch=_scratch)
            results.append(seen - gain * np.arange(64)[:, None])

    users = [threading.Thread(target=work, args=(gain,)) for gain in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert len(results) == 200
    assert not any(result.any() for result in results)


FORKED = """
import os
import torch
from scuff import kernels
torch.set_num_threads(3)
x = torch.rand(64, 3, 32, 32)
made = kernels.salt_and_pepper(x, x, 0.3).numpy()  # OpenMP has threads now
child = os.fork()
if child == 0:  # where torch itself would wait forever, for all but small tensors
    os._exit(0 if torch.get_num_threads() == 3 and (kernels.salt_and_pepper(x, x, 0.3).numpy() == made).all() else 1)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
"""


def test_a_forked_process_does_not_wait_for_threads_of_its_parent() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "0"


def test_torch_comes_with_threads_that_can_be_called() -> None:
    """Where this fails, threads of Python stand in for them, and loops are slower."""
    assert team(-1) is not None


WITH_OTHERS = """
import os
import sklearn.cluster  # brings an OpenMP of its own
import torch
from scuff import kernels
torch.set_num_threads(3)
x = torch.rand(64, 3, 32, 32)
made = [torch.sin(x)]  # by torch's team
before = len(os.listdir("/proc/self/task"))
made.append(kernels.salt_and_pepper(x, x, 0.3))
print(len(os.listdir("/proc/self/task")) - before)
"""


def test_loops_run_on_the_very_threads_of_torch() -> None:
    """Two teams, each as large as the machine, would wait for each other's processors."""
    done = subprocess.run([sys.executable, "-c", WITH_OTHERS], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "0"
