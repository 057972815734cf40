"""What encoding will cost: seconds per image through the extractor, measured for every corruption and scheme."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from scuff.data import Source
from scuff.engine.cost import NOW, CellCost, StudyCost, in_this_folder, is_here, kind_of, seconds_before, time_warm
from scuff.environment import environment
from scuff.store import Settings, Store
from scuff.studies.training_cost import try_recipe
from scuff.studies.transform_space import features
from scuff.studies.transform_space.cells import EncodingCell, images_per_centre
from scuff.studies.transform_space.features import Encoder, Transform, scheme_transform

if TYPE_CHECKING:
    from scuff.studies.transform_space.distances import DistanceWork
    from scuff.suites import Suite

TRIED = {"cpu": 16, "cuda": 2048}  # images of a batch
HEADER = 300  # bytes of an npz file and of each of its arrays


@dataclass(eq=False)
class EncodingCost:
    """The costs of cells that encode. Each corruption and scheme is measured once, if there are no journals."""

    store: Store
    device: torch.device
    open_encoder: Callable[[], Encoder] = field(repr=False)
    parts: list[CellCost] = field(default_factory=list, repr=False)
    warm_up: float = 0.0
    _rates: dict[tuple[str, str], float] = field(default_factory=dict, repr=False)

    def add(self, kind: str, name: str, images: int, size: float, transform: Transform) -> None:
        """A cell that encodes some images with a transform, and leaves a file."""
        before = seconds_before(self.store, kind)
        if before is not None:
            seconds, how = before[0] / before[1], in_this_folder(before[1])
        elif is_here(self.device):
            if (kind, name) not in self._rates:
                self._rates[kind, name] = self._seconds_per_image(transform)
            seconds, how = images * self._rates[kind, name], NOW
        else:
            seconds, how = math.nan, f"not measured: there is no {self.device.type} here"
        units = 1 if self.device.type == "cuda" else torch.get_num_threads()
        self.parts.append(CellCost(kind, 1, seconds, size, kind_of(self.device), how, name, units))

    def add_centres(self, cells: Sequence[EncodingCell], suites: Mapping[str, Suite], settings: Settings) -> None:
        """The centres of entries at all their severities."""
        for cell in cells:
            transform = features.corruption_transform(suites[cell.suite], cell.name, cell.levels[0])
            size = 2 * HEADER + 4 * self._width * len(cell.levels)
            self.add("centres", cell.name, images_per_centre(settings) * len(cell.levels), size, transform)

    def total(self) -> StudyCost:
        """All that was added."""
        return StudyCost(tuple(self.parts), environment(self.device)["device"], self.warm_up)

    @cached_property
    def _encoder(self) -> Encoder:
        return self.open_encoder()

    @cached_property
    def _width(self) -> int:
        """The length of a feature; 0 where nothing can be tried."""
        return self._encode(lambda images, ids: images, 1).shape[1] if is_here(self.device) else 0

    def _encode(self, transform: Transform, draws: int) -> torch.Tensor:
        return self._encoder.encode(transform, torch.arange(draws, device=self._encoder.images.device))

    def _seconds_per_image(self, transform: Transform) -> float:
        images = len(self._encoder.images)
        draws = max(1, self._encoder.batch // images)
        seconds, more = time_warm(lambda: self._encode(transform, draws), self.device)
        self.warm_up += more
        return seconds / (draws * images)


def estimate_encodings(work: DistanceWork) -> StudyCost:
    """What is left to encode: centres, and schemes. Nothing is written."""

    def open_encoder() -> Encoder:
        """The extractor with a few images; an untrained one, which is as fast, if it is not trained yet."""
        untrained = [try_recipe(cell.source, cell.recipe, torch.device("cpu")) for cell in work.untrained()]
        extractor = untrained[0].classifier() if untrained else work.extractor
        return few_images(extractor, work.source, work.settings, work.device)

    cost = EncodingCost(work.store, work.device, open_encoder)
    cost.add_centres(work.missing_centres(), {work.suite.name: work.suite}, work.settings)
    for cell in work.missing_schemes():
        images, transform = work.draws(cell.name) * work.settings["images"], scheme_transform(work.schemes[cell.name])
        cost.add(work.kind, cell.name, images, 3 * HEADER + 8 * work.values(cell.name), transform)
    return cost.total()


def few_images(extractor: Any, source: Source, settings: Settings, device: torch.device) -> Encoder:
    """An encoder with a few images, to try transforms with."""
    few = features.draw_images(source, min(settings["images"], TRIED[device.type]), settings["seed"])
    compiles = device.type == "cuda"
    encoder = features.make_encoder(extractor, few, precision=settings["precision"], compile=compiles, device=device)
    return replace(encoder, batch=min(encoder.batch, max(TRIED[device.type], len(few))))
