"""How much memory there is to be had, on this machine and on a GPU."""

from __future__ import annotations

import os
from pathlib import Path

import torch

CGROUP = Path("/sys/fs/cgroup")  # version 2: what a container may use


def available_memory() -> int:
    """Bytes that this process may still take without anybody swapping: of the machine, or of the container it is in."""
    return min(_of_machine(), _of_container())


def _of_machine() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):  # not Linux
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):  # not even Unix
        return 4 << 30


def _of_container() -> int:
    try:
        limit = int((CGROUP / "memory.max").read_text(encoding="utf-8"))  # the word "max" is no number
        used = int((CGROUP / "memory.current").read_text(encoding="utf-8"))
        stat = dict(line.split() for line in (CGROUP / "memory.stat").read_text(encoding="utf-8").splitlines())
        return limit - used + int(stat["inactive_file"])  # files that were read count as used, and give way
    except (OSError, ValueError, KeyError):
        return 1 << 62


def available_on(device: torch.device) -> int:
    """Bytes to be had on a CUDA device; 0 on any other, where pixels rather stay in memory."""
    if device.type != "cuda":
        return 0
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)  # by torch, for whoever asks next
    return torch.cuda.mem_get_info(device)[0] + kept
