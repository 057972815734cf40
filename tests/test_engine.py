"""Cells on this machine: how many at once, in which process, and what happens when a process dies."""

import os
import signal

import pytest
import torch

from scuff.engine import count_processes, local, run_cells
from scuff.files import Stopped

CPU, GPU = torch.device("cpu"), torch.device("cuda")


def where(cell):
    return cell, os.getpid(), torch.get_num_threads()


def die(cell):
    os.kill(os.getpid(), signal.SIGKILL)


def test_as_many_processes_as_fit_and_one_on_a_gpu(monkeypatch):
    monkeypatch.setattr(local, "_processors", lambda: 8)
    monkeypatch.setattr(local, "available_memory", lambda: 5 << 30)
    assert count_processes(CPU, cells=40) == 5  # memory is short
    assert count_processes(CPU, cells=3) == 3
    assert count_processes(CPU, cells=40, wanted=12) == 12
    assert count_processes(GPU, cells=40) == 1
    assert count_processes(CPU, cells=0) == 1
    with pytest.raises(ValueError, match="processes must be at least 1, got 0"):
        count_processes(CPU, 3, 0)


def test_one_process_is_this_one_and_several_are_others_with_a_thread_each():
    alone = dict(run_cells(where, ["a", "b"], 1))
    assert {result[1] for result in alone.values()} == {os.getpid()}
    several = dict(run_cells(where, ["a", "b", "c"], 2))
    assert sorted(several) == ["a", "b", "c"]
    assert os.getpid() not in {result[1] for result in several.values()}
    assert {result[2] for result in several.values()} == {1}


def test_a_killed_process_ends_the_run_with_advice():
    with pytest.raises(Stopped, match="a process was killed, perhaps for want of memory; what is finished is valid"):
        list(run_cells(die, ["a", "b", "c"], 2))
