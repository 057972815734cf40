"""Batches for image operations: pictures of several kinds, and every value that an operation may meet."""

from __future__ import annotations

import numpy as np
import torch

from scuff.augment.operations import OPERATIONS

SIZES = [(32, 32), (17, 23), (2, 5), (1, 1)]
FILL = (7, 100, 200)
WARPS = ("shear_x", "shear_y", "translate_x", "translate_y", "rotate")
FACTORS = [*np.arange(-5, 31) / 10, 0.123, 1.77, 1e-9, 1 - 1e-9, 1e6]
SHEARS = [*np.arange(-10, 11) / 20, 0.003, 0.123, -0.09]
# The last ones put reads a hair beside pixel centres and edges, where the floor of a coordinate decides.
SHIFTS = [*range(-11, 12), 0.5, -0.5, 3.7, -7.25, 100.0, 2.0**-53, -(2.0**-54), -(2.0**-50), 0.5 - 2.0**-54, 1e-15]
VALUES = {
    "identity": [0.0], "invert": [0.0], "autocontrast": [0.0], "equalize": [0.0],
    "solarize": [*range(257), 0.5, 128.5, -3.0, 1000.0], "posterize": range(1, 9),
    "brightness": FACTORS, "contrast": FACTORS, "color": FACTORS, "sharpness": FACTORS,
    "shear_x": SHEARS, "shear_y": SHEARS, "translate_x": SHIFTS, "translate_y": SHIFTS,
    "rotate": [*range(-30, 361), 0.5, -7.3, 12.345, 400.0, -1e-20],
}  # fmt: skip


def pictures(height: int, width: int) -> list[np.ndarray]:
    """Noise, one level, two levels, a ramp and low contrast: uint8 (H, W, 3)."""
    chance = np.random.default_rng(height)
    shape = (height, width, 3)
    ramp = np.arange(width)[:, None] * [3, 5, 7] % 256
    made = [
        chance.integers(0, 256, shape), np.full(shape, 77), chance.integers(0, 2, shape) * 200 + 20,
        np.broadcast_to(ramp, shape), chance.integers(100, 140, shape),
    ]  # fmt: skip
    return [picture.astype(np.uint8) for picture in made]


def batch(picture: np.ndarray, count: int) -> torch.Tensor:
    return torch.from_numpy(picture).permute(2, 0, 1).expand(count, -1, -1, -1)


def mixture(count: int, height: int, width: int, channels: int = 3) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Images of all kinds, each with an operation and a value of its own."""
    chance = np.random.default_rng(count + height)
    kinds = pictures(height, width)
    pixels = torch.stack([batch(kinds[k % 5][..., :channels], 1)[0] for k in range(count)])
    which = torch.from_numpy(chance.integers(0, len(OPERATIONS), count))
    values = [float(chance.choice(list(VALUES[OPERATIONS[k]]))) for k in which.tolist()]
    return pixels, which, torch.tensor(values, dtype=torch.float64)
