"""Encodings as cells: the network and images that a worker opens, centres of corruptions, distances of schemes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff.augment import Scheme
from scuff.data import Source
from scuff.engine import Advance, Run, needs_of
from scuff.metrics.transform_space.nearness import closest_order
from scuff.models import Classifier, close_model
from scuff.store import Settings, Store, read_arrays, write_arrays
from scuff.studies.transform_space import features
from scuff.studies.transform_space.features import Encoder, resampling_seed, scheme_transform
from scuff.suites import Levels, Suite


@dataclass(frozen=True)
class EncodingCell:
    """The centres of an entry, or the distances of a scheme, in one resampling; and their file."""

    name: str
    resampling: int
    file: str
    suite: str = ""
    levels: Levels = ()

    def __str__(self) -> str:
        return f"{self.name} {self.resampling + 1}" if self.resampling else self.name


def missing_cells(store: Store, folder: str, cells: Iterable[EncodingCell]) -> list[EncodingCell]:
    """The cells whose files are not in the folder yet."""
    existing = set(store.names(folder, ".npz"))
    return [cell for cell in cells if cell.file not in existing]


def encode_cells(
    run: Run, kind: str, work: Any, cells: Sequence[EncodingCell], encodings: Callable[[EncodingCell], int]
) -> int:
    """Run cells that encode images, each with the whole machine or a GPU; returns the number of images encoded."""
    needs = needs_of(torch.device(work.encoders.device), cpus=None)
    done = run.cells(kind, work, cells, needs=needs, size=encodings)
    with contextlib.closing(done):
        return sum(encodings(cell) for cell, _ in done)


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

    @classmethod
    def plan(
        cls, extractors: Sequence[Any], source: Source, settings: Mapping[str, Any], device: torch.device
    ) -> Encoders:
        """An encoder per extractor, each with images of its own; `settings` are those of the study."""
        images, seed, precision = (settings[key] for key in ("images", "seed", "precision"))
        seeds = [resampling_seed(seed, number) for number in range(len(extractors))]
        sources = tuple(features.draw_images(source, images, each) for each in seeds)
        return cls(tuple(extractors), sources, seed, precision, str(device))

    def open(self, resampling: int) -> tuple[Encoder, int]:
        """The network with the images of a resampling, and the seed of all its draws.

        A network that several resamplings share is opened, and compiled, once.
        """
        if self._opened is None or self._opened[0] != resampling:
            self._opened = resampling, self._open(resampling)
        return self._opened[1], resampling_seed(self.seed, resampling)

    def _open(self, resampling: int) -> Encoder:
        extractor, source, device = self.extractors[resampling], self.sources[resampling], torch.device(self.device)
        if self._opened is not None and self.extractors[self._opened[0]] is extractor:
            before = self._opened[1]
            return replace(before, images=features.load_images(source, before.extractor, device))
        self._opened = None  # two networks need not fit side by side
        options: dict[str, Any] = {"precision": self.precision, "compile": device.type == "cuda", "device": device}
        return features.make_encoder(extractor, source, **options)

    def __getstate__(self) -> dict[str, Any]:
        closed = {id(model): close_model(model) for model in self.extractors if isinstance(model, Classifier)}
        extractors = tuple(closed.get(id(model), model) for model in self.extractors)
        return {**self.__dict__, "extractors": extractors, "_opened": None}


# --- centres ----------------------------------------------------------------------------------------------------------


def images_per_centre(settings: Mapping[str, Any]) -> int:
    """Images that are encoded for the centre of a corruption at a severity."""
    return settings["images"] * (1 if settings["sampling"] == "joint" else settings["samples"])


def measure_centres(
    run: Run,
    store: Store,
    encoders: Encoders,
    suites: Mapping[str, Suite],
    cells: Sequence[EncodingCell],
    settings: Settings,
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

    def __call__(self, cell: EncodingCell, advance: Advance) -> None:
        encoder, seed = self.encoders.open(cell.resampling)
        suite = self.suites[cell.suite]
        centres = encoder.centres(suite, cell.name, cell.levels, self.samples, self.sampling, seed)
        write_arrays(self.store, cell.file, {"centres": centres.cpu().numpy()})


def load_centres(store: Store, files: Iterable[str]) -> np.ndarray:
    """The centres in these files, (K, D)."""
    return np.concatenate([read_arrays(store, file, ["centres"])["centres"] for file in files])


# --- schemes ----------------------------------------------------------------------------------------------------------


@dataclass
class SchemeDistances:
    """The work of a worker: distances of any of these schemes to the centres in the store, or the order by them."""

    store: Store
    encoders: Encoders
    centre_files: Sequence[Sequence[str]] = field(repr=False)  # by resampling
    schemes: Mapping[str, Scheme] = field(repr=False)
    draws: Mapping[str, int] = field(repr=False)
    orders: bool = False
    _centres: tuple[int, Tensor] | None = field(default=None, repr=False)

    def __call__(self, cell: EncodingCell, advance: Advance) -> None:
        (encoder, seed), centres = self.encoders.open(cell.resampling), self._load(cell.resampling)
        scheme, draws = self.schemes[cell.name], self.draws[cell.name]
        measure = order_draws if self.orders else measure_scheme
        measured = measure(encoder, scheme, centres, draws, seed, lambda done: advance(done, draws))
        write_arrays(self.store, cell.file, measured)

    def _load(self, resampling: int) -> Tensor:
        if self._centres is None or self._centres[0] != resampling:
            centres = load_centres(self.store, self.centre_files[resampling])
            self._centres = resampling, torch.from_numpy(centres).to(self.encoders.device)
        return self._centres[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_centres": None}


def measure_scheme(
    encoder: Encoder,
    scheme: Scheme,
    centres: Tensor,
    draws: int,
    seed: int = 0,
    advance: Callable[[int], None] | None = None,
) -> dict[str, np.ndarray]:
    """MSD and MMD of a scheme to centres (K, D), each (K,); draws are not kept."""
    nearest = torch.full((len(centres),), torch.inf, device=centres.device)
    total = torch.zeros(centres.shape[1], dtype=torch.float64, device=centres.device)
    for piece in encoder.features(scheme_transform(scheme, seed), draws, advance):
        nearest = torch.minimum(nearest, distances_between(piece, centres).amin(0))
        total += piece.sum(0)
    features.check_finite(total, "a scheme's augmentations")
    mmd = torch.linalg.vector_norm(total / draws - centres, dim=1)
    return {"msd": nearest.double().cpu().numpy(), "mmd": mmd.double().cpu().numpy()}


def order_draws(
    encoder: Encoder, scheme: Scheme, centres: Tensor, draws: int, seed: int, advance: Callable[[int], None]
) -> dict[str, np.ndarray]:
    """The order of a scheme's draws, (draws,): first those that come closest to some centre (K, D)."""
    pieces = encoder.features(scheme_transform(scheme, seed), draws, advance)
    distances = torch.cat([distances_between(piece, centres) for piece in pieces])
    return {"order": closest_order(distances.double().cpu().numpy())}


def distances_between(points: Tensor, centres: Tensor) -> Tensor:
    """All distances of points (n, D) to centres (K, D): (n, K)."""
    # Differences before squares: by a product of matrices, small distances would be lost to rounding.
    return torch.cdist(points, centres, compute_mode="donot_use_mm_for_euclid_dist")
