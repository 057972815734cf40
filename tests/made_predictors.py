"""Linear networks that tests evaluate on noise, and the files that this leaves."""

from pathlib import Path

import torch
from torch import nn

from scuff.models import Classifier

FEW = {"only": ["contrast", "gaussian_noise"], "severities": [1, 5]}


def linear(seed=0, pixels=12 * 10 * 3, classes=7, name="net"):
    """A network whose predictions spread over its classes: on centred pixels, random directions win equally often."""
    torch.manual_seed(seed)
    return Classifier(
        nn.Sequential(nn.Flatten(), nn.Linear(pixels, classes)), name=name, mean=(0.5,) * 3, std=(0.1,) * 3
    )


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*.parquet"))}
