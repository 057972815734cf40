"""The machine and the versions that rows were computed with."""

from __future__ import annotations

import platform

import numpy
import torch

import scuff


def find_device(device: str | torch.device | None) -> torch.device:
    """The device that is asked for, or the GPU if there is one."""
    try:
        chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    except RuntimeError as error:
        raise ValueError(f"no device is called {device!r}; expected cpu, cuda or cuda:1, say") from error
    if chosen.type not in ("cpu", "cuda"):
        raise ValueError(f"models run on cpu or cuda, not on {device!r}")
    count = torch.cuda.device_count()
    if chosen.type == "cuda" and (chosen.index or 0) >= count:
        raise ValueError(f"device {device!r} was asked for, but torch finds {count} CUDA devices; use cpu")
    return chosen


def environment(device: torch.device) -> dict[str, str]:
    """Versions, and the processor that models run on."""
    on_gpu = device.type == "cuda" and torch.cuda.is_available()  # it may be that of another machine
    return {
        "scuff": scuff.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "platform": platform.platform(),
        "device": torch.cuda.get_device_name(device) if on_gpu else f"{device.type} ({platform.machine()})",
    }
