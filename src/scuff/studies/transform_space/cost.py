"""What encoding will cost: seconds per image through the extractor, measured for every corruption and scheme."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch

from scuff.data import Source
from scuff.engine.cost import NOW, CellCost, StudyCost, in_this_folder, is_here, kind_of, seconds_before, time_warm
from scuff.environment import environment
from scuff.store import Settings, Store
from scuff.studies.training_cost import estimate_trainings, try_recipe
from scuff.studies.transform_space.features import (
    Encoder,
    Transform,
    corruption_transform,
    draw_images,
    make_encoder,
    scheme_transform,
)

if TYPE_CHECKING:
    from scuff.studies.transform_space.distances import DistanceWork
    from scuff.studies.transform_space.encoders import CentreCell
    from scuff.suites import Suite

TRIED = {"cpu": 16, "cuda": 2048}  # images of a batch
HEADER = 300  # bytes of an npz file and of each of its arrays


@dataclass(eq=False)
class EncodingCost:
    """The costs of cells that encode; the encoder is opened when something must be measured, and not before."""

    store: Store
    device: torch.device
    open_encoder: Callable[[], Encoder] = field(repr=False)
    _parts: list[CellCost] = field(default_factory=list, repr=False)
    _encoder: Encoder | None = field(default=None, repr=False)
    _rates: dict[str, float] = field(default_factory=dict, repr=False)
    _warm_up: float = 0.0

    def add(self, kind: str, name: str, images: int, size: float, transform: Callable[[], Transform]) -> None:
        """A cell that encodes some images with a transform, and leaves a file."""
        before = seconds_before(self.store, kind)
        if before is not None:
            seconds, how = before[0] / before[1], in_this_folder(before[1])
        elif is_here(self.device):
            seconds, how = images * self._rate(f"{kind} {name}", transform), NOW
        else:
            seconds, how = math.nan, f"not measured: there is no {self.device.type} here"
        units = 1 if self.device.type == "cuda" else torch.get_num_threads()
        self._parts.append(CellCost(kind, 1, seconds, size, kind_of(self.device), how, name, units))

    def add_centres(self, cells: list[CentreCell], suites: dict[str, Suite], images: int) -> None:
        """Centres, with a number of images per severity."""
        for cell in cells:
            size = 2 * HEADER + 4 * self.width() * len(cell.levels)
            transform = _corruption(suites[cell.suite], cell)
            self.add("centres", cell.entry, images * len(cell.levels), size, transform)

    def total(self) -> StudyCost:
        """All that was added."""
        return StudyCost(tuple(self._parts), environment(self.device)["device"], self._warm_up)

    def width(self) -> int:
        """The length of a feature; 0 where nothing can be tried."""
        if not is_here(self.device):
            return 0
        return self._opened().encode(lambda images, ids: images, self._numbers(1)).shape[1]

    def _opened(self) -> Encoder:
        self._encoder = self._encoder or self.open_encoder()
        return self._encoder

    def _numbers(self, count: int) -> torch.Tensor:
        return torch.arange(count, device=self._opened().images.device)

    def _rate(self, key: str, transform: Callable[[], Transform]) -> float:
        """Seconds per image, measured once for each key."""
        if key not in self._rates:
            encoder, made = self._opened(), transform()
            numbers = self._numbers(max(1, encoder.batch // len(encoder.images)))
            seconds, more = time_warm(lambda: encoder.encode(made, numbers), self.device)
            self._rates[key] = seconds / (len(numbers) * len(encoder.images))
            self._warm_up += more
        return self._rates[key]


def estimate_distances(work: DistanceWork) -> StudyCost:
    """What is left of distances: the training of the extractor, centres, schemes. Nothing is written."""
    return estimate_trainings(work.untrained(), work.store) + estimate_encodings(work)


def estimate_encodings(work: DistanceWork, *, order: str | None = None) -> StudyCost:
    """Centres and schemes; with the name of an `order`, the order of the draws of the one scheme in their place."""
    cost = EncodingCost(work.store, work.device, lambda: _open_encoder(work))
    cost.add_centres(work.missing_centres(), {work.suite.name: work.suite}, work.images_per_centre)
    cells, images = sum(map(len, work.levels.values())), work.settings["images"]
    for cell in work.missing_schemes():
        transform = _scheme(work, cell.name)
        if order is None:
            cost.add("scheme", cell.name, work.draws(cell.name) * images, 3 * HEADER + 2 * 8 * cells, transform)
        else:
            cost.add("order", order, work.draws(cell.name) * images, HEADER + 8 * work.draws(cell.name), transform)
    return cost.total()


def few_images(extractor: Any, source: Source, settings: Settings, device: torch.device) -> Encoder:
    """An encoder with a few images, to try transforms with."""
    few = draw_images(source, min(settings["images"], TRIED[device.type]), settings["seed"])
    compiles = device.type == "cuda"
    encoder = make_encoder(extractor, few, precision=settings["precision"], compile=compiles, device=device)
    return replace(encoder, batch=min(encoder.batch, max(TRIED[device.type], len(few))))


def _open_encoder(work: DistanceWork) -> Encoder:
    """The extractor with a few images; an untrained one, which is as fast, if it is not trained yet."""
    extractor = work.extractor
    for cell in work.untrained():
        extractor = try_recipe(cell.source, cell.recipe, torch.device("cpu")).classifier()
    return few_images(extractor, work.source, work.settings, work.device)


def _corruption(suite: Suite, cell: CentreCell) -> Callable[[], Transform]:
    return lambda: corruption_transform(suite, cell.entry, cell.levels[0])


def _scheme(work: DistanceWork, name: str) -> Callable[[], Transform]:
    return lambda: scheme_transform(work.schemes[name])
