"""Random resized crops of pictures, each drawn by the position that it has in a stream."""

from __future__ import annotations

import math

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from scuff import random
from scuff.data import Source
from scuff.data.stored import StoredArray

AREA = (0.08, 1.0)
RATIO = (3 / 4, 4 / 3)
TRIES = 10


def random_views(source: Source, indices: np.ndarray, positions: np.ndarray, size: int, seed: int) -> Tensor:
    """Images, half of them mirrored, cut anywhere and brought to `size` x `size`, antialiased: uint8 (N, C, H, W)."""
    keys = random.image_keys("stream/view", None, torch.from_numpy(positions), seed)
    mirrored = random.bernoulli(keys, "mirror", probability=0.5).tolist()
    numbers = [random.uniform(keys, name, (TRIES,)).double().numpy() for name in ("area", "ratio", "top", "left")]
    views = []
    for k, index in enumerate(indices):
        picture = Image.fromarray(_pixels(source, int(index)))
        if mirrored[k]:
            picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        cut = picture.crop(_box(*picture.size, *(drawn[k] for drawn in numbers)))
        views.append(np.asarray(cut.resize((size, size), Image.Resampling.BILINEAR)))
    stacked = torch.from_numpy(np.stack(views))
    return stacked[:, None] if stacked.ndim == 3 else stacked.permute(0, 3, 1, 2).contiguous()


def _pixels(source: Source, index: int) -> np.ndarray:
    if not isinstance(source.images, StoredArray):
        return source.images.decode(index, None)
    pixels = source.images.array[index]
    return pixels[..., 0] if pixels.shape[2:] == (1,) else pixels


def _box(width: int, height: int, areas: np.ndarray, ratios: np.ndarray, tops: np.ndarray, lefts: np.ndarray) -> tuple:
    """Where to cut: ten tries at an area and a ratio of sides, then the middle, as torchvision does it."""
    low, high = math.log(RATIO[0]), math.log(RATIO[1])
    for area, ratio, top, left in zip(areas, ratios, tops, lefts, strict=True):
        pixels = width * height * (AREA[0] + (AREA[1] - AREA[0]) * area)
        sides = math.exp(low + (high - low) * ratio)
        w, h = round(math.sqrt(pixels * sides)), round(math.sqrt(pixels / sides))
        if 0 < w <= width and 0 < h <= height:
            x, y = min(int(left * (width - w + 1)), width - w), min(int(top * (height - h + 1)), height - h)
            return x, y, x + w, y + h
    w = min(width, round(height * RATIO[1]))
    h = min(height, round(width / RATIO[0]))
    return (width - w) // 2, (height - h) // 2, (width - w) // 2 + w, (height - h) // 2 + h
