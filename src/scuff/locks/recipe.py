"""The recipe of a lock: how clean images become those of a cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff.ahead import count_processors
from scuff.batches import CHUNK
from scuff.corruptions import get
from scuff.data import Source, known_by_stems
from scuff.data.stored import StoredPictures
from scuff.door import corrupt
from scuff.pictures import Cut
from scuff.sequences import sequence
from scuff.suites import Suite

Cell = tuple[str, int | None]  # an entry and its level
PICTURES = {"cpu": 64, "cuda": 256}  # that are decoded at a time
MOST_AT_ONCE = 4096  # images of an array


@dataclass(frozen=True)
class Recipe:
    """How images become those of a cell. `cut` is None for arrays; `suite_file` is that of a suite of one's own."""

    suite: Suite
    seed: int = 0
    as_published: bool = False
    cut: Cut | None = None
    severities: tuple[int, ...] | None = None
    suite_file: str | None = None

    @property
    def has_films(self) -> bool:
        """Whether entries are sequences of frames."""
        return any(get(self.suite.corruption(entry)).sequence for entry in self.suite.entries)

    @property
    def pixels_cut(self) -> Cut | None:
        """How pictures are cut before they are corrupted."""
        return film_cut(self.cut) if self.has_films else self.cut

    def make(self, images: Tensor, cell: Cell, ids: Sequence[int] | np.ndarray) -> Tensor:
        """The images (N, C, H, W) of a cell, or films (N, T, C, H, W)."""
        entry, level = cell
        options: dict[str, Any] = {"suite": self.suite, "seed": self.seed, "ids": ids, "check": False}
        if self.has_films:
            crop = None if self.cut is None else self.cut.crop
            return sequence(images, entry, level or 1, crop=crop, **options)
        return corrupt(images, entry, level, as_published=self.as_published, **options)


def film_cut(cut: Cut | None) -> Cut | None:
    """Sequences move the view: their pictures keep a margin around the crop, as far as it is square."""
    return cut if cut is None or cut.resize is None else replace(cut, crop=cut.resize)


def knows_names(source: Source) -> bool:
    """Whether images are pictures with paths; otherwise they are known by their places."""
    return isinstance(source.images, StoredPictures)


def known_ids(source: Source) -> np.ndarray:
    """What a lock knows images by: their places, or their paths without suffix."""
    return known_by_stems(source).ids


def read_images(source: Source, cut: Cut | None, device: torch.device) -> Iterator[tuple[np.ndarray, Tensor]]:
    """All images of a source in order, as many at a time as suit the device: positions, and uint8 (n, C, H, W).

    Those of one batch have one size.
    """
    positions = np.arange(len(source))
    if not source.has_pictures:
        values = source.read(positions[:1]).numel()
        step = max(1, min(MOST_AT_ONCE, CHUNK.get(device.type, CHUNK["cpu"]) // values))
        for start in range(0, len(source), step):
            yield positions[start : start + step], source.read(positions[start : start + step]).to(device)
        return
    step = PICTURES.get(device.type, PICTURES["cpu"])
    with ThreadPoolExecutor(count_processors()) as pool:
        for start in range(0, len(source), step):
            some = positions[start : start + step]
            by_size: dict[tuple[int, ...], list[tuple[int, Tensor]]] = {}
            for position, image in zip(some, pool.map(lambda k: source.read([k], cut), some), strict=True):
                by_size.setdefault(tuple(image.shape), []).append((position, image))
            for alike in by_size.values():
                yield np.array([k for k, _ in alike]), torch.cat([image for _, image in alike]).to(device)
