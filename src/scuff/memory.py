"""How much memory there is to be had, on this machine and on a GPU."""

from __future__ import annotations

import ctypes
import os
from functools import lru_cache
from pathlib import Path

import torch

LARGEST_KEPT = 32 << 20  # bytes of a block that glibc may keep; it takes no higher limit
MOST_KEPT = 96 << 20  # bytes that it keeps in all: three such blocks
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of malloc.h
CGROUP = Path("/sys/fs/cgroup")  # version 2: what a container may use


def available_memory() -> int:
    """Bytes that this process may still take without anybody swapping: of the machine, or of the container it is in."""
    return min(_of_machine(), _of_container())


@lru_cache
def keep_freed_memory() -> None:
    """Let the C library keep what is freed, up to 96 MiB, for whoever asks next.

    glibc gives larger blocks back to the system, and what it then gets is cleared page by page, which took a batch in
    pieces a fourth of its time. Other C libraries have no such settings.
    """
    if os.name == "posix" and hasattr(library := ctypes.CDLL(None), "mallopt"):
        library.mallopt(MMAP_THRESHOLD, LARGEST_KEPT)
        library.mallopt(TRIM_THRESHOLD, MOST_KEPT)


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
