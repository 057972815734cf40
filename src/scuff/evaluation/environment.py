"""The machine and the versions that rows were computed with."""

from __future__ import annotations

import platform

import numpy
import torch

import scuff


def environment(device: torch.device) -> dict[str, str]:
    """Versions, and the processor that models run on."""
    on_gpu = device.type == "cuda"
    return {
        "scuff": scuff.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "platform": platform.platform(),
        "device": torch.cuda.get_device_name(device) if on_gpu else f"{device.type} ({platform.machine()})",
    }
