"""Draws that several corruptions share."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff import random

Shape = tuple[int, int, int]  # channels, height, width


def position(keys: Tensor, shape: Shape, low: float = 0.0, high: float = 1.0) -> Tensor:
    """A place (row, column) per image, (N, 2), each within [low, high] of its side."""
    u = random.uniform(keys, "centre", (2,), low, high)
    return torch.stack((u[:, 0] * shape[1], u[:, 1] * shape[2]), dim=1)


def fair_signs(keys: Tensor, stream: str, shape: tuple[int, ...] = ()) -> Tensor:
    """1.0 or -1.0 with equal chances."""
    return 1.0 - 2.0 * random.bernoulli(keys, stream, shape, probability=0.5).float()


def draw_caustics(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    """When and how large a pool's light net is seen."""
    return {
        "time": random.uniform(keys, "time", (), 0.5, 2.0),
        "size": random.uniform(keys, "size", (), 0.75, 1.25) * min(shape[1:]),
    }
