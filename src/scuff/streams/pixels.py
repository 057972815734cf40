"""The pixels of a stream: read, seen through its view, and corrupted step by step."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.data import CorruptedSource, Source, load_pixels
from scuff.door import PUBLISHED_QUALITY, corrupt
from scuff.ops.jpeg import jpeg
from scuff.pictures import Cut
from scuff.streams.orders import shuffled
from scuff.streams.recipe import Recipe
from scuff.streams.segments import Step, Steps
from scuff.suites import Suite

CENTRE = Cut(256, 224)  # as ImageNet-C was made
SUITES = ((48, "cifar10-c"), (96, "tiny-imagenet-c"), (1 << 30, "imagenet-c"))  # for images up to so many pixels


class StreamPixels:
    """Where the images of a stream come from.

    `example` has labels and ids of the images that take part, `places` their numbers in the source. Published files
    have images of their own for every step.
    """

    def __init__(self, source: Source | CorruptedSource, recipe: Recipe, seed: int) -> None:
        self.source, self.recipe, self.seed = source, recipe, seed
        self.published = source if isinstance(source, CorruptedSource) else None
        whole = source if isinstance(source, Source) else _first_cell(source)
        self.places = _chosen(len(whole), recipe.limit, seed)
        self.example = whole if recipe.limit is None else whole.take(self.places)
        if not len(whole):
            raise ValueError(f"{whole.name} has no images")
        view = recipe.view or ("centre" if whole.has_pictures and whole.cut is None else "none")
        if view == "centre" and not whole.has_pictures:
            raise ValueError(f"the view centre is for pictures; {whole.name} is an array: set view: none")
        self.view, self.cut = view, CENTRE if view == "centre" else None
        self.shape = tuple(self._read(self.example, np.array([0])).shape[1:])
        self._kept: Tensor | None = None

    def default_suite(self) -> str:
        """The suite of published files, or the one for the size of images."""
        if self.published is not None:
            return self.published.suite
        return next(name for most, name in SUITES if min(self.shape[1:]) <= most)

    def check(self, suite: Suite, steps: set[Step]) -> None:
        """Refuse what published files do not have."""
        if self.published is None:
            return
        if suite.name != self.published.suite:
            raise ValueError(f"{self.published.name} holds images of {self.published.suite}, not of {suite.name}")
        if self.recipe.draws == "position" or self.recipe.as_published or self.view == "random":
            raise ValueError("published files are read as they are: leave out draws, view and as_published")
        for entry, level in steps:
            self.published.cell(entry, level)  # type: ignore[arg-type]

    def fingerprint(self) -> str:
        """A hash of the images that take part."""
        return self.source.fingerprint() if self.published is not None else self.example.fingerprint()

    def keep(self, device: torch.device) -> None:
        """Keep the pixels of clean images, on the device if they fit: streams come back to them."""
        if self._kept is None and self.published is None and self.view != "random":
            self._kept = load_pixels(self.example, self.cut, device).images

    def make(
        self, positions: np.ndarray, indices: np.ndarray, steps: Steps, suite: Suite, device: torch.device
    ) -> Tensor:
        """Images that go through the same steps: uint8 (N, C, H, W) on the device."""
        if self.published is not None:
            return self._read_published(steps, indices).to(device)
        images = self._clean(indices, device)
        as_published = self.recipe.as_published
        if not steps:
            return (
                jpeg(images.expand(-1, 3, -1, -1), PUBLISHED_QUALITY)[:, : images.shape[1]] if as_published else images
            )
        numbers = positions if self.recipe.draws == "position" else self.example.ids[indices]
        ids = send(numbers, device)
        for k, (entry, level) in enumerate(steps):
            last = as_published and k == len(steps) - 1
            images = corrupt(images, entry, level, seed=self.seed, ids=ids, suite=suite, as_published=last, check=False)
        return images

    def _clean(self, indices: np.ndarray, device: torch.device) -> Tensor:
        if self._kept is None:
            return self._read(self.example, indices).to(device)
        return self._kept[send(indices, self._kept.device)].to(device)

    def _read(self, source: Source, indices: np.ndarray) -> Tensor:
        return source.read(indices, self.cut).contiguous()

    def _read_published(self, steps: Steps, indices: np.ndarray) -> Tensor:
        assert self.published is not None
        if len(steps) != 1:
            raise ValueError("published files hold one corruption per image: leave out clean and together")
        entry, level = steps[0]
        return self._read(self.published.cell(entry, level), self.places[indices])  # type: ignore[arg-type]


def send(numbers: np.ndarray, device: torch.device) -> Tensor:
    """Whole numbers on a device, without waiting for it."""
    tensor = torch.from_numpy(np.ascontiguousarray(numbers))
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


def _chosen(total: int, limit: int | None, seed: int) -> np.ndarray:
    """The places of the images that take part, in the order of the source."""
    if limit is None:
        return np.arange(total)
    if limit > total:
        raise ValueError(f"the source has {total} images, fewer than the limit of {limit}")
    return np.sort(shuffled(total, "limit", 0, seed, limit))


def _first_cell(source: CorruptedSource) -> Source:
    entry, levels = next(iter(source.entries.items()))
    return source.cell(entry, levels[0])
