"""Images that are decoded anew in every epoch: they are cropped at random, or too many for the memory.

Other processes decode, crop and resize them with Pillow, whose resampling is arithmetic of whole numbers, so that all
pictures of a batch have one size and the same bytes whoever made them. Mirroring, corruptions and augmentations come
after that, on the device. A crop depends on the seed, the epoch and the image's id; the order of an epoch is known
before it begins, so that any step of it can be gone on with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from scuff import kernels
from scuff.data import Source, load_pixels
from scuff.pictures import Cut
from scuff.random import image_keys, sent, uniform

TRIES = 10  # rectangles that are drawn for a picture; if none fits into it, its middle is taken
WIDEST = 4 / 3  # ratio of width to height; the inverse is the tallest


@dataclass(frozen=True, eq=False)
class Stream:
    """Images of a source, of which an epoch sees random rectangles of a share of their area in the range `area`.

    Without a range they are cut as they are in tests; `shape` is (N, C, H, W) in that case. `workers` processes decode
    them, as many as there are processors if it is None; what comes out does not depend on it.
    """

    source: Source
    cut: Cut | None
    area: tuple[float, ...]
    shape: tuple[int, int, int, int]
    workers: int | None = None

    def __len__(self) -> int:
        return len(self.source)


def shape_of(images: Tensor | Stream, side: int) -> tuple[int, ...]:
    """Channels, height and width of an image in an epoch whose crops have that side."""
    is_cropped = isinstance(images, Stream) and images.area
    return (images.shape[1], side, side) if is_cropped else tuple(images.shape[1:])


def fetch(
    images: Tensor | Stream, places: Tensor, ids: Tensor, seed: int, side: int, count: int, device: torch.device
) -> Iterator[Tensor]:
    """The images at some places, `count` at a time, on the device; crops of `side` pixels are drawn by the seed.

    `places` and the `ids` of these images are on the CPU.
    """
    if isinstance(images, Tensor):
        for chosen in sent(places, images.device).split(count):
            yield sent(images[chosen], device)
        return
    shown = images.source.take(places.numpy())
    if images.area:
        shown = replace(shown, images=Cropped(shown.images, draw_crops(ids, seed, images.area, side)))
    pixels = load_pixels(shown, images.cut, device, images.workers, keep=False)
    for _, batch in pixels.batches(count):
        yield batch


@dataclass(frozen=True, eq=False)
class Cropped:
    """Images of a source, each of which is decoded as its rectangle says."""

    images: Any
    crops: Crops

    def __len__(self) -> int:
        return len(self.images)

    def name(self, position: int) -> str:
        """What to call a picture in a message."""
        return self.images.name(position)

    def decode(self, position: int, cut: Cut | None) -> np.ndarray:
        """The rectangle of one picture, as (side, side, C)."""
        return self.images.decode(position, lambda picture: self.crops.crop(position, picture))


@dataclass(frozen=True, eq=False)
class Crops:
    """A random rectangle of each of N pictures, whatever their sizes, and the side that it is brought to.

    `areas` and `ratios` (N, TRIES) are tried in turn; `corners` (N, 2) say where it is, from 0, left and top, to 1.
    """

    areas: np.ndarray
    ratios: np.ndarray
    corners: np.ndarray
    side: int

    def box(self, number: int, width: int, height: int) -> tuple[int, int, int, int]:
        """The rectangle of one picture of a certain size: left, upper, right, lower."""
        for area, ratio in zip(self.areas[number].tolist(), self.ratios[number].tolist(), strict=True):
            pixels = width * height * area
            w, h = round(math.sqrt(pixels * ratio)), round(math.sqrt(pixels / ratio))
            if 0 < w <= width and 0 < h <= height:
                free = (width - w, height - h)
                left, top = (min(int(c * (n + 1)), n) for c, n in zip(self.corners[number].tolist(), free, strict=True))
                return left, top, left + w, top + h
        w, h = min(width, round(height * WIDEST)), min(height, round(width * WIDEST))
        left, top = (width - w) // 2, (height - h) // 2
        return left, top, left + w, top + h

    def crop(self, number: int, picture: Image.Image) -> Image.Image:
        """The rectangle of one picture, at its side."""
        box = self.box(number, *picture.size)
        return picture.crop(box).resize((self.side, self.side), Image.Resampling.BILINEAR)


def draw_crops(ids: Tensor, seed: int, area: tuple[float, ...], side: int) -> Crops:
    """A rectangle for each image: shares of the area are uniform, logarithms of the ratio of sides are too.

    >>> crops = draw_crops(torch.arange(3), seed=0, area=(0.08, 1.0), side=224)
    >>> crops.box(1, 500, 375) == draw_crops(torch.tensor([1]), 0, (0.08, 1.0), 224).box(0, 500, 375)
    True
    """
    keys = image_keys("training/crop", None, ids, seed)
    areas, exponents = uniform(keys, "area", (TRIES,), *area), uniform(keys, "ratio", (TRIES,), -1.0, 1.0)
    ratios = kernels.power(torch.full_like(exponents, WIDEST), exponents)
    return Crops(areas.numpy(), ratios.numpy(), uniform(keys, "corner", (2,)).numpy(), side)
