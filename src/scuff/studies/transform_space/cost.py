"""What encoding will cost: seconds per image through the extractor, measured for every corruption and scheme."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from scuff.data import Source
from scuff.engine.cost import Estimate, StudyCost
from scuff.store import Settings
from scuff.studies.cost import try_recipe
from scuff.studies.transform_space import features
from scuff.studies.transform_space.cells import EncodingCell, images_per_centre
from scuff.studies.transform_space.features import Encoder, Transform, scheme_transform

if TYPE_CHECKING:
    from scuff.studies.transform_space.distances import DistanceWork
    from scuff.suites import Suite

TRIED = {"cpu": 16, "cuda": 2048}  # images of a batch
HEADER = 300  # bytes of an npz file and of each of its arrays


@dataclass(eq=False)
class EncodingCost(Estimate):
    """The costs of cells that encode. Each corruption and scheme is measured once, if there are no journals."""

    open_encoder: Callable[[], Encoder] = field(kw_only=True, repr=False)

    def add_encoding(self, kind: str, name: str, images: int, size: float, transform: Transform) -> None:
        """A cell that encodes some images with a transform, and leaves a file."""

        def seconds() -> float:
            draws = max(1, self._encoder.batch // len(self._encoder.images))
            once = self.time((kind, name), lambda: lambda: self._encode(transform, draws))
            return images * once / (draws * len(self._encoder.images))

        self.add(kind, seconds, size, name)

    def add_centres(self, cells: Sequence[EncodingCell], suites: Mapping[str, Suite], settings: Settings) -> None:
        """The centres of entries at all their severities."""
        for cell in cells:
            transform = features.corruption_transform(suites[cell.suite], cell.name, cell.levels[0])
            size = 2 * HEADER + 4 * self._width * len(cell.levels)
            self.add_encoding("centres", cell.name, images_per_centre(settings) * len(cell.levels), size, transform)

    @cached_property
    def _encoder(self) -> Encoder:
        return self.open_encoder()

    @cached_property
    def _width(self) -> int:
        """The length of a feature; 0 where nothing can be tried."""
        if self.device.type == "cuda" and not torch.cuda.is_available():
            return 0
        return self._encode(lambda images, ids: images, 1).shape[1]

    def _encode(self, transform: Transform, draws: int) -> torch.Tensor:
        return self._encoder.encode(transform, torch.arange(draws, device=self._encoder.images.device))


def estimate_encodings(work: DistanceWork) -> StudyCost:
    """What is left to encode: centres, and schemes or the order of their draws. Nothing is written."""

    def open_encoder() -> Encoder:
        """The extractor with a few images; an untrained one, which is as fast, if it is not trained yet."""
        untrained = [try_recipe(cell.source, cell.recipe, torch.device("cpu")) for cell in work.untrained()]
        extractor = untrained[0].classifier() if untrained else work.extractor
        return few_images(extractor, work.source, work.settings, work.device)

    cost = EncodingCost(work.device, work.store, open_encoder=open_encoder)
    cost.add_centres(work.missing_centres(), {work.suite.name: work.suite}, work.settings)
    for cell in work.missing_schemes():
        images, transform = work.draws(cell.name) * work.settings["images"], scheme_transform(work.schemes[cell.name])
        size = HEADER * (1 if work.kind == "order" else 3) + 8 * work.values(cell.name)
        cost.add_encoding(work.kind, cell.name, images, size, transform)
    return cost.total()


def few_images(extractor: Any, source: Source, settings: Settings, device: torch.device) -> Encoder:
    """An encoder with a few images, to try transforms with."""
    few = features.draw_images(source, min(settings["images"], TRIED[device.type]), settings["seed"])
    compiles = device.type == "cuda"
    encoder = features.make_encoder(extractor, few, precision=settings["precision"], compile=compiles, device=device)
    return replace(encoder, batch=min(encoder.batch, max(TRIED[device.type], len(few))))
