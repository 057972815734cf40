"""Images in memory and in files, from which tests make sources."""

import numpy as np
from PIL import Image

from scuff.data import Source

IMAGENET = ("n01440764", "n01443537", "n01484850")  # classes 0, 1, 2


def random_images(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def save_picture(path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def pixels_of(source: Source) -> np.ndarray:
    """All images, channels last."""
    return source.read(range(len(source))).permute(0, 2, 3, 1).numpy()


def write_cifar_c(folder, entries, count: int, levels: int = 5) -> None:
    folder.mkdir()
    for k, entry in enumerate(entries):
        np.save(folder / f"{entry}.npy", random_images(levels * count, 32, 32, 3, seed=k))
    np.save(folder / "labels.npy", np.tile(np.arange(count) % 10, levels))
