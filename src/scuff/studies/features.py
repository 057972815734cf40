"""What transforms look like to a network: the mean of its features over a fixed set of images.

A transform has random parameters. Of one draw of them, f is the mean of the features of all images, each transformed by
the same draw. Keyed randomness makes that easy: all images get the same id.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from scuff.data import Source, load_pixels
from scuff.door import CHUNK, corrupt
from scuff.environment import find_device
from scuff.evaluation.choices import open_models
from scuff.models import Classifier
from scuff.models.features import hidden_layer
from scuff.suites import Suite
from scuff.training.augment import shuffled
from scuff.training.images import open_training_source

Transform = Callable[[Tensor, Tensor], Tensor]  # uint8 images (N, C, H, W) and ids (N,) -> uint8, or float32 in 0..255

SAMPLINGS = ("independent", "joint")
LARGEST = {"cpu": 512, "cuda": 8192}  # images at a time: beyond that, small networks gain nothing


@dataclass(frozen=True, eq=False)
class Encoder:
    """A network that returns features, on its device, and the images (M, C, H, W), uint8, that transforms are shown by.

    `batch` images are encoded at a time.
    """

    extractor: Classifier
    images: Tensor
    batch: int

    def features(self, transform: Transform, draws: int, first: int = 0) -> Iterator[Tensor]:
        """f of the draws `first`, `first + 1`, ..., a few at a time: float32 (d, D). Nothing waits for the device."""
        pieces = math.ceil(draws / max(1, self.batch // len(self.images)))
        at_once = math.ceil(draws / pieces)
        for start in range(first, first + draws, at_once):
            # Pieces have one size, for which a network is compiled once; what is too much of the last is thrown away.
            numbers = torch.arange(start, start + at_once, device=self.images.device)
            yield self.encode(transform, numbers)[: first + draws - start]

    def encode(self, transform: Transform, numbers: Tensor) -> Tensor:
        """f of the draws with these numbers: float32 (d, D)."""
        count = len(self.images)
        images = self.images.repeat(len(numbers), 1, 1, 1)
        found = self._look(transform(images, numbers.repeat_interleave(count)))
        return found.view(len(numbers), count, -1).mean(1)

    def centre(self, transform: Transform, samples: int, sampling: str = "independent") -> Tensor:
        """The mean of f over draws, (D,): `samples` draws for all images, or for "joint" one for each image."""
        if sampling == "independent":
            return sum(piece.sum(0) for piece in self.features(transform, samples)) / samples
        ids = torch.arange(len(self.images), device=self.images.device)
        pieces = zip(self.images.split(self.batch), ids.split(self.batch), strict=True)
        return sum(self._look(transform(*piece)).sum(0) for piece in pieces) / len(self.images)

    def _look(self, images: Tensor) -> Tensor:
        found = [self.extractor(part if part.dtype == torch.uint8 else part / 255) for part in images.split(self.batch)]
        return torch.cat(found)


def open_encoder(
    model: Any,
    data: str | Source,
    *,
    images: int = 100,
    seed: int = 0,
    batch: int | None = None,
    precision: str = "float32",
    compile: bool = False,
    device: str | torch.device | None = None,
) -> Encoder:
    """The hidden layer of a model, and `images` of the training images, drawn without replacement by the seed."""
    device = find_device(device)
    opened = open_models(model, None, None)
    if len(opened) > 1:
        raise ValueError(f"expected one model for the features, got {', '.join(opened)}")
    classifier = next(iter(opened.values()))
    source = open_training_source(data)
    if not 1 <= images <= len(source):
        raise ValueError(f"images must be from 1 to {len(source)}, which {source.name} has, got {images!r}")
    chosen = source.take(shuffled(len(source), image_seed(seed))[:images].sort().values.numpy())
    cut = (classifier.cut or source.cut) if source.has_pictures else None
    pixels = next(iter(load_pixels(chosen, cut, device).batches(images)))[1]
    if batch is None:
        fits = CHUNK.get(device.type, CHUNK["cpu"]) // pixels[0].numel()
        batch = max(1, min(LARGEST[device.type], fits))
    return Encoder(hidden_layer(classifier).on(device, precision, compile), pixels, batch)


def image_seed(seed: int) -> int:
    """A seed for the choice of images, apart from those of corruptions and schemes."""
    return _digest(f"images|{seed}")


def resampling_seed(seed: int, resampling: int) -> int:
    """A seed for the images and all draws of one of several resamplings; the first has the seed itself."""
    return seed if resampling == 0 else _digest(f"resampling|{seed}|{resampling}")


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


def corruption_transform(suite: Suite, entry: str, severity: int | None, seed: int = 0) -> Transform:
    """An entry of a suite at a severity as a transform."""

    def transform(images: Tensor, ids: Tensor) -> Tensor:
        return corrupt(images, entry, severity, suite=suite, seed=seed, ids=ids, check=False)

    return transform


def scheme_transform(scheme: Callable[[Tensor, Tensor, int], Tensor], seed: int = 0) -> Transform:
    """An augmentation scheme as a transform."""
    return partial(scheme, seed=seed)
