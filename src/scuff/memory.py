"""How much memory there is to be had, on this machine and on a GPU."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import torch

MOST_KEPT = 32 << 20  # bytes of a block that may set glibc's limit, its header among them
CGROUP = Path("/sys/fs/cgroup")  # version 2: what a container may use


def available_memory() -> int:
    """Bytes that this process may still take without anybody swapping: of the machine, or of the container it is in."""
    return min(_of_machine(), _of_container())


@lru_cache
def keep_freed_memory() -> None:
    """Let the C library keep what is freed, up to 64 MiB a thread, for whoever asks next.

    glibc returns memory to the system beyond twice the largest block that was freed so far, if that was of at most 32
    MiB. What comes back from the system is cleared page by page, which took a batch in pieces a fourth of its time. So
    such a block is freed once; nobody writes into it, so it takes no memory. Other C libraries take no notice.
    """
    torch.empty(MOST_KEPT - 65536, dtype=torch.uint8)


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
