"""Small datasets for locks: photo-like pictures that nobody has taken, as arrays and as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image


def make_pictures(count: int, height: int, width: int, seed: int = 0) -> np.ndarray:
    """(n, height, width, 3) uint8: a horizon, soft light, round things with edges, and texture, other in each."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width] / min(height, width)
    pictures = []
    for _ in range(count):
        sky, ground = random.integers(60, 250, (2, 3))
        level, slope = random.uniform(0.3, 0.7), random.uniform(-0.2, 0.2)
        picture = np.where(
            (y < level + slope * x)[..., None], sky * (1 - 0.3 * y[..., None]), ground * (0.6 + 0.4 * x[..., None])
        )
        for _ in range(4):
            centre, radius, colour = random.uniform(0, 1.2, 2), random.uniform(0.08, 0.3), random.integers(0, 256, 3)
            inside = (y - centre[0]) ** 2 + (x - centre[1]) ** 2 < radius**2
            shade = 1 - 0.6 * np.hypot(y - centre[0] + radius / 2, x - centre[1] + radius / 2) / (2 * radius)
            picture = np.where(inside[..., None], colour * shade[..., None].clip(0.2, 1), picture)
        pictures.append(picture + random.normal(0, 6, (height, width, 3)))
    return np.stack(pictures).clip(0, 255).astype(np.uint8)


def write_pictures(folder: Path, pictures: np.ndarray, classes: int = 2) -> Path:
    """The same as files, in a folder per class: folder/class-0/000.png, ..."""
    for number, picture in enumerate(pictures):
        path = folder / f"class-{number % classes}" / f"{number:03d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(path)
    return folder
