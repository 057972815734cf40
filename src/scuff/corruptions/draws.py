"""Draws that several corruptions share."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from scuff import random
from scuff.ranges import Range

Shape = tuple[int, int, int]  # channels, height, width


def pick(keys: Tensor, value: Range | float, stream: str = "severity", shape: tuple[int, ...] = ()) -> Tensor:
    """What each image draws from a range, float32 (N, *shape), or the one number for all of them."""
    if isinstance(value, Range):
        return random.uniform(keys, stream, shape, float(value.low), float(value.high))
    return torch.full((len(keys), *shape), value, dtype=torch.float32, device=keys.device)


def pick_whole(keys: Tensor, value: Range | int, stream: str = "severity", shape: tuple[int, ...] = ()) -> Tensor:
    """The same for whole numbers, with both ends of a range included: int32 (N, *shape)."""
    between = value if isinstance(value, Range) else Range(value, value)
    if not between.is_whole:
        raise ValueError(f"expected a whole number, or a range of them, got {value}")
    return random.integers(keys, stream, shape, low=int(between.low), high=int(between.high))


def largest(value: Range | float) -> Any:
    """The greatest value that `pick` can give."""
    return value.high if isinstance(value, Range) else value


def whole_position(keys: Tensor, stream: str, count: int, rows: tuple[int, int], columns: tuple[int, int]) -> Tensor:
    """`count` places (row, column) per image, int32 (N, count, 2), uniform with both ends included.

    Where a small image leaves no room, ends that have crossed meet in the middle.
    """
    drawn = []
    for axis, (low, high) in (("rows", rows), ("columns", columns)):
        if low > high:
            low = high = (low + high) // 2
        drawn.append(random.integers(keys, f"{stream} {axis}", (count,), low=low, high=high))
    return torch.stack(drawn, dim=2)


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
