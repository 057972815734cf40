"""The sixteen pictures of the golden statistics, cut from what scikit-image and scikit-learn install."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import skimage.data
from sklearn.datasets import load_sample_images

WINDOWS = (
    ("astronaut", 0, 110), ("astronaut", 200, 20), ("chelsea", 40, 110), ("coffee", 60, 150),
    ("coffee", 150, 320), ("rocket", 60, 200), ("rocket", 180, 400), ("motorcycle_left", 100, 100),
    ("motorcycle_left", 150, 400), ("hubble_deep_field", 300, 300), ("immunohistochemistry", 100, 200),
    ("china", 20, 50), ("china", 120, 380), ("flower", 50, 150), ("flower", 180, 380), ("astronaut", 280, 280),
)  # fmt: skip


@lru_cache
def pictures_224() -> np.ndarray:
    """(16, 224, 224, 3) uint8."""
    china, flower = load_sample_images().images
    sources = {"china": china, "flower": flower, "motorcycle_left": skimage.data.stereo_motorcycle()[0]}
    for name, _, _ in WINDOWS:
        if name not in sources:
            sources[name] = getattr(skimage.data, name)()
    return np.stack([sources[name][top : top + 224, left : left + 224, :3] for name, top, left in WINDOWS])


@lru_cache
def pictures_32() -> np.ndarray:
    """(64, 32, 32, 3) uint8: 3 x 3 block means of four windows of all sixteen."""
    parts = []
    for top, left in ((0, 0), (0, 112), (112, 0), (112, 112)):
        window = pictures_224()[:, top : top + 96, left : left + 96].astype(np.float64)
        means = window.reshape(16, 32, 3, 32, 3, 3).mean((2, 4))
        parts.append(np.floor(means + 0.5).astype(np.uint8))
    return np.concatenate(parts)
