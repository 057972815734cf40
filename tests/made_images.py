"""Small labelled images that a network learns at once."""

import itertools
from pathlib import Path

import numpy as np
from PIL import Image

from scuff.data import Source
from scuff.data.source import array_source
from scuff.pictures import bundled_picture


def bars(count: int = 512, channels: int = 1, side: int = 8, seed: int = 0) -> Source:
    """Images with noise, brighter in one of four corners, which is the class."""
    chance = np.random.default_rng(seed)
    labels = chance.integers(0, 4, count)
    images = chance.integers(0, 120, (count, side, side, channels), np.uint8)
    half = side // 2
    for image, label in zip(images, labels, strict=True):
        top, left = half * (label // 2), half * (label % 2)
        image[top : top + half, left : left + half] += 100
    return array_source("bars", images, labels, ("a", "b", "c", "d"))


def make_folder(root: Path, count: int = 48, seed: int = 0) -> Path:
    """Photos of many sizes in a folder for each of four classes: pieces of the cat of the package, in one tint each.

    They are upright or lying, PNG or JPEG, and a quarter of them is grey.
    """
    chance, cat = np.random.default_rng(seed), np.asarray(bundled_picture()).astype(float)
    tints = {"blue": (0.3, 0.5, 1.0), "green": (0.3, 1.0, 0.4), "grey": (0.9, 0.9, 0.9), "red": (1.0, 0.4, 0.3)}
    for number, name in zip(range(count), itertools.cycle(tints)):
        (root / name).mkdir(parents=True, exist_ok=True)
        height, width = chance.integers(30, 80, 2)
        top, left = chance.integers(0, 224 - 80, 2)
        piece = (cat[top : top + height, left : left + width] * tints[name]).astype(np.uint8)
        picture = Image.fromarray(piece).convert("L" if name == "grey" else "RGB")
        picture.save(root / name / f"{number:03}.{'png' if number % 3 else 'jpg'}")
    return root
