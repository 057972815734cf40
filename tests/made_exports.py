"""Pictures to export, what exports have left, and an end in the middle."""

from pathlib import Path

import numpy as np
from PIL import Image

from scuff.engine import LocalEngine

FEW = {"only": ["gaussian_noise", "contrast"], "severities": [2, 5], "engine": LocalEngine(1)}


def make_picture(height: int, width: int, seed: int = 0) -> Image.Image:
    """Smooth colours with some noise."""
    noise = np.random.default_rng(seed).integers(0, 60, (height, width, 3))
    slope = np.linspace(0, 190, width)[None, :, None] * np.array([1.0, 0.7, 0.3])
    return Image.fromarray((slope + noise).astype(np.uint8))


def load(path: Path) -> Image.Image:
    with Image.open(path) as picture:
        return picture.copy()


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content, but for journals, which tell of times."""
    found = (p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    return {p.as_posix(): (folder / p).read_bytes() for p in found if p.parts[0] != "progress"}


class StopAfter:
    """A progress callback that presses Ctrl-C."""

    def __init__(self, calls: int):
        self.calls = calls

    def __call__(self, done: int, total: int) -> None:
        self.calls -= 1
        if self.calls == 0:
            raise KeyboardInterrupt
