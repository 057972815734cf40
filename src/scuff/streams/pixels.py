"""The pixels of a stream: read, seen through its view, and corrupted step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from scuff.data import CorruptedSource, Source, load_pixels
from scuff.door import PUBLISHED_QUALITY, corrupt
from scuff.ops.jpeg import jpeg
from scuff.pictures import Cut
from scuff.streams.orders import shuffled
from scuff.streams.recipe import Recipe
from scuff.streams.segments import Steps
from scuff.streams.views import random_views
from scuff.suites import Suite

CENTRE = Cut(256, 224)  # as ImageNet-C was made
VIEW = 224  # pixels of a random view of a picture; those of arrays keep their size
SUITES = ((48, "cifar10-c"), (96, "tiny-imagenet-c"), (1 << 30, "imagenet-c"))  # for images up to so many pixels
WALKS = ((64, "cifar10-ccc"), (1 << 30, "imagenet-ccc"))


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
        is_walk = recipe.walk is not None and recipe.draws == "position"
        default = "none" if not whole.has_pictures or whole.cut is not None else "random" if is_walk else "centre"
        view = recipe.view or default
        if view == "centre" and not whole.has_pictures:
            raise ValueError(f"the view centre is for pictures; {whole.name} is an array: set view: none")
        self.view, self.cut = view, CENTRE if view == "centre" else None
        first = np.zeros(1, np.int64)
        self.shape = tuple(
            (self._view(first, first) if view == "random" else self._read(self.example, first)).shape[1:]
        )
        self._kept: Tensor | None = None

    def default_suite(self) -> str:
        """The suite of published files, or the one for the size of images."""
        if self.published is not None:
            return self.published.suite
        return suite_for(min(self.shape[1:]), WALKS if self.recipe.walk else SUITES)

    def check(self, suite: Suite, domains: Iterable[Steps]) -> None:
        """Refuse what published files do not have."""
        if self.published is None:
            return
        if suite.name != self.published.suite:
            raise ValueError(f"{self.published.name} holds images of {self.published.suite}, not of {suite.name}")
        if self.recipe.draws == "position" or self.recipe.as_published or self.view == "random":
            raise ValueError("published files are read as they are: leave out draws, view and as_published")
        for together in domains:
            if len(together) != 1:
                raise ValueError("published files hold one corruption per image: leave out clean and together")
            self.published.cell(*together[0])  # type: ignore[arg-type]

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
        images = self._view(positions, indices).to(device) if self.view == "random" else self._clean(indices, device)
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
        return self._kept[send(indices, self._kept.device)].contiguous().to(device)

    def _view(self, positions: np.ndarray, indices: np.ndarray) -> Tensor:
        size = VIEW if self.example.has_pictures else self.example.images.array.shape[1]
        return random_views(self.example, indices, positions, size, self.seed)

    def _read(self, source: Source, indices: np.ndarray) -> Tensor:
        return source.read(indices, self.cut).contiguous()

    def _read_published(self, steps: Steps, indices: np.ndarray) -> Tensor:
        assert self.published is not None
        return self._read(self.published.cell(*steps[0]), self.places[indices])  # type: ignore[arg-type]


def suite_for(side: int, suites: Sequence[tuple[int, str]]) -> str:
    """The suite for images of so many pixels."""
    return next(name for most, name in suites if side <= most)


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
