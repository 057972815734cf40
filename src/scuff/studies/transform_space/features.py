"""The feature f of a transform: the mean of a network's features over a fixed set of images.

A transform has random parameters; f belongs to one draw of them, by which all images are transformed. Keyed randomness
makes that easy: all images get the same id.
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

from scuff.batches import CHUNK
from scuff.data import Source, load_pixels
from scuff.door import corrupt
from scuff.evaluation.choices import open_models
from scuff.models import Classifier
from scuff.models.features import hidden_layer
from scuff.pictures import Cut
from scuff.suites import Levels, Suite
from scuff.training.augment import shuffled

Transform = Callable[[Tensor, Tensor], Tensor]  # uint8 images (N, C, H, W) and ids (N,) -> uint8, or float32 in 0..255

SAMPLINGS = ("independent", "joint")
LARGEST_BATCH = {"cpu": 512, "cuda": 8192}  # beyond that, small networks gain nothing


@dataclass(frozen=True, eq=False)
class Encoder:
    """A network that returns features, on its device, and the uint8 images (M, C, H, W) that are transformed.

    `batch` images are encoded at a time.
    """

    extractor: Classifier
    images: Tensor
    batch: int

    def features(
        self, transform: Transform, draws: int, advance: Callable[[int], None] | None = None
    ) -> Iterator[Tensor]:
        """f of the draws 0, 1, ..., a few at a time: float32 (d, D). Nothing waits for the device.

        `advance` is called with the number of draws that are done.
        """
        pieces = math.ceil(draws / max(1, self.batch // len(self.images)))
        at_once = math.ceil(draws / pieces)
        for start in range(0, draws, at_once):
            # All pieces have one size, so that the network is compiled once; draws beyond the last are dropped.
            numbers = torch.arange(start, start + at_once, device=self.images.device)
            yield self.encode(transform, numbers)[: draws - start]
            if advance is not None:
                advance(min(start + at_once, draws))

    def encode(self, transform: Transform, numbers: Tensor) -> Tensor:
        """f of the draws with these numbers: float32 (d, D)."""
        count = len(self.images)
        which = torch.arange(len(numbers) * count, device=self.images.device)
        features = [
            self._encode(transform(self.images[part % count], numbers[part // count]))
            for part in which.split(self.batch)
        ]
        return torch.cat(features).view(len(numbers), count, -1).mean(1)

    def centre(self, transform: Transform, samples: int, sampling: str = "independent") -> Tensor:
        """The mean of f over draws, (D,): `samples` draws for all images, or for "joint" one for each image."""
        if sampling == "independent":
            return sum(piece.sum(0) for piece in self.features(transform, samples)) / samples  # type: ignore[return-value]
        ids = torch.arange(len(self.images), device=self.images.device)
        pieces = zip(self.images.split(self.batch), ids.split(self.batch), strict=True)
        return sum(self._encode(transform(*piece)).sum(0) for piece in pieces) / len(self.images)  # type: ignore[return-value]

    def centres(
        self, suite: Suite, entry: str, levels: Levels, samples: int, sampling: str = "independent", seed: int = 0
    ) -> Tensor:
        """The centres of an entry at its severities, (severities, D); refused if they are not finite."""
        transforms = [corruption_transform(suite, entry, level, seed) for level in levels]
        centres = torch.stack([self.centre(transform, samples, sampling) for transform in transforms])
        check_finite(centres, f"{suite.name}/{entry}")
        return centres

    def _encode(self, images: Tensor) -> Tensor:
        return self.extractor(images if images.dtype == torch.uint8 else images / 255)


def draw_images(source: Source, images: int, seed: int = 0) -> Source:
    """Images of a source, drawn without replacement by the seed."""
    if not 1 <= images <= len(source):
        raise ValueError(f"images must be from 1 to {len(source)}, which {source.name} has, got {images!r}")
    return source.take(shuffled(len(source), digest_seed(f"images|{seed}"))[:images].sort().values.numpy())


def make_encoder(
    model: Any,
    source: Source,
    *,
    batch: int | None = None,
    precision: str = "float32",
    compile: bool = False,
    device: torch.device,
) -> Encoder:
    """The hidden layer of a model, and all images of a source."""
    classifier = _open_one(model)
    pixels = load_images(source, classifier, device)
    if batch is None:
        fits = CHUNK.get(device.type, CHUNK["cpu"]) // pixels[0].numel()
        batch = max(1, min(LARGEST_BATCH[device.type], fits))
    extractor = hidden_layer(classifier.on("cpu"), pixels[:1].cpu())
    return Encoder(extractor.on(device, precision, compile), pixels, batch)


def load_images(source: Source, classifier: Classifier, device: torch.device) -> Tensor:
    """All images of a source on the device, cut as the classifier wants them: uint8 (N, C, H, W)."""
    return next(iter(load_pixels(source, _cut(source, classifier), device).batches(len(source))))[1]


def open_extractor(model: Any, source: Source) -> Classifier:
    """The model whose features are used; refused if it does not take these images, or has no hidden layer."""
    classifier = _open_one(model)
    hidden_layer(classifier.on("cpu"), source.read([0], _cut(source, classifier)))
    return classifier


def _open_one(model: Any) -> Classifier:
    opened = open_models(model)
    if len(opened) > 1:
        raise ValueError(f"expected one model for the features, got {', '.join(opened)}")
    return next(iter(opened.values()))


def _cut(source: Source, classifier: Classifier) -> Cut | None:
    """How pictures are brought to one size: as the source demands, else as the model wants it; None for arrays."""
    return (source.cut or classifier.cut or Cut(256, 224)) if source.has_pictures else None


def check_finite(features: Tensor, what: str) -> None:
    """Refuse features that are infinite or NaN, before they are saved."""
    if not torch.isfinite(features).all():
        raise ValueError(
            f"the network's features of {what} are infinite or NaN; try precision float32, or another network"
        )


def resampling_seed(seed: int, resampling: int) -> int:
    """A seed for the images and all draws of one of several resamplings; the first has the seed itself."""
    return seed if resampling == 0 else digest_seed(f"resampling|{seed}|{resampling}")


def digest_seed(purpose: str) -> int:
    """A seed for one purpose, apart from those of corruptions and schemes."""
    return int.from_bytes(hashlib.blake2b(purpose.encode(), digest_size=8).digest(), "little") >> 1


def corruption_transform(suite: Suite, entry: str, severity: int | None, seed: int = 0) -> Transform:
    """An entry of a suite at a severity as a transform."""
    return lambda images, ids: corrupt(images, entry, severity, suite=suite, seed=seed, ids=ids, check=False)


def scheme_transform(scheme: Callable[[Tensor, Tensor, int], Tensor], seed: int = 0) -> Transform:
    """An augmentation scheme as a transform."""
    return partial(scheme, seed=seed)  # type: ignore[call-arg]
