"""Features as cells: what a worker opens to encode transforms, and the centres of corruptions that it measures."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from scuff.data import Source
from scuff.engine import Advance, Run, needs_of
from scuff.models import Classifier
from scuff.models.closed import close_model
from scuff.store import Settings, Store
from scuff.studies.transform_space.features import Encoder, draw_images, load_images, make_encoder, resampling_seed
from scuff.studies.transform_space.files import load_arrays, save_arrays
from scuff.suites import Levels, Suite


def encode_cells(run: Run, kind: str, work: Any, cells: Sequence[Any], encodings: Callable[[Any], int]) -> int:
    """Run cells that encode images, each with the whole machine or a GPU; returns the number of images encoded."""
    needs = needs_of(torch.device(work.encoders.device), cpus=None)
    done = run.cells(kind, work, cells, needs=needs, size=encodings)
    with contextlib.closing(done):
        return sum(encodings(cell) for cell, _ in done)


def images_per_centre(settings: Mapping[str, Any]) -> int:
    """Images that are encoded for the centre of a corruption at a severity."""
    return settings["images"] * (1 if settings["sampling"] == "joint" else settings["samples"])


def plan_encoders(
    extractors: Sequence[Any], source: Source, settings: Mapping[str, Any], device: torch.device
) -> Encoders:
    """One encoder per resampling, each with images of its own; `settings` say how many, the seed and the precision."""
    images, seed = settings["images"], settings["seed"]
    sources = [draw_images(source, images, resampling_seed(seed, number)) for number in range(len(extractors))]
    return Encoders(tuple(extractors), tuple(sources), seed, settings["precision"], str(device))


@dataclass
class Encoders:
    """The encoders of a study, one per resampling. A worker opens them as it needs them, and keeps the last.

    Only the images that are encoded are sent to workers, and of models with an address, only that.
    """

    extractors: tuple[Any, ...] = field(repr=False)  # models, or their addresses
    sources: tuple[Source, ...] = field(repr=False)
    seed: int
    precision: str
    device: str
    _opened: tuple[int, Encoder] | None = field(default=None, repr=False)

    def seed_of(self, resampling: int) -> int:
        """The seed of all draws of a resampling."""
        return resampling_seed(self.seed, resampling)

    def open(self, resampling: int) -> Encoder:
        """The network and the images of a resampling. A network that several share is opened, and compiled, once."""
        if self._opened is None or self._opened[0] != resampling:
            self._opened = resampling, self._open(resampling)
        return self._opened[1]

    def _open(self, resampling: int) -> Encoder:
        extractor, source, device = self.extractors[resampling], self.sources[resampling], torch.device(self.device)
        if self._opened is not None and self.extractors[self._opened[0]] is extractor:
            before = self._opened[1]
            return Encoder(before.extractor, load_images(source, before.extractor, device), before.batch)
        self._opened = None  # two networks need not fit side by side
        return make_encoder(extractor, source, precision=self.precision, compile=device.type == "cuda", device=device)

    def __getstate__(self) -> dict[str, Any]:
        closed = {id(model): close_model(model) for model in self.extractors if isinstance(model, Classifier)}
        extractors = tuple(closed.get(id(model), model) for model in self.extractors)
        return {**self.__dict__, "extractors": extractors, "_opened": None}


# --- centres ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CentreCell:
    """The centres of an entry at all its severities, in one resampling, and their file."""

    suite: str
    entry: str
    levels: Levels
    resampling: int
    file: str

    def __str__(self) -> str:
        return f"{self.entry} {self.resampling + 1}" if self.resampling else self.entry


def measure_centres(
    run: Run, store: Store, encoders: Encoders, suites: Mapping[str, Suite], cells: list[CentreCell], settings: Settings
) -> int:
    """Measure centres; returns the number of images encoded."""
    work = Centres(store, encoders, suites, settings["samples"], settings["sampling"])
    images = images_per_centre(settings)
    return encode_cells(run, "centres", work, cells, lambda cell: images * len(cell.levels))


@dataclass
class Centres:
    """The work of a worker: the centres of any entry of these suites."""

    store: Store
    encoders: Encoders
    suites: Mapping[str, Suite] = field(repr=False)
    samples: int
    sampling: str

    def __call__(self, cell: CentreCell, advance: Advance) -> None:
        encoder, seed = self.encoders.open(cell.resampling), self.encoders.seed_of(cell.resampling)
        suite = self.suites[cell.suite]
        centres = encoder.centres(suite, cell.entry, cell.levels, self.samples, self.sampling, seed)
        save_arrays(self.store, cell.file, centres=centres.cpu().numpy())


def load_centres(store: Store, files: Iterable[str]) -> np.ndarray:
    """The centres in these files, (K, D)."""
    return np.concatenate([load_arrays(store, file, ["centres"])["centres"] for file in files])
