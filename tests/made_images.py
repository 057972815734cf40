"""Small labelled images that a network learns at once."""

import numpy as np

from scuff.data import Source
from scuff.data.source import array_source


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
