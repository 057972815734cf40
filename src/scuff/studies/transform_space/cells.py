"""Encodings as cells: the network and images that a worker opens, centres of corruptions, distances of schemes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
    sources = [features.draw_images(source, images, resampling_seed(seed, number)) for number in range(len(extractors))]
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
            return Encoder(before.extractor, features.load_images(source, before.extractor, device), before.batch)
        self._opened = None  # two networks need not fit side by side
        return features.make_encoder(
            extractor, source, precision=self.precision, compile=device.type == "cuda", device=device
        )

    def __getstate__(self) -> dict[str, Any]:
        closed = {id(model): close_model(model) for model in self.extractors if isinstance(model, Classifier)}
        extractors = tuple(closed.get(id(model), model) for model in self.extractors)
        return {**self.__dict__, "extractors": extractors, "_opened": None}


# --- centres ----------------------------------------------------------------------------------------------------------


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
        encoder, seed = self.encoders.open(cell.resampling), self.encoders.seed_of(cell.resampling)
        suite = self.suites[cell.suite]
        centres = encoder.centres(suite, cell.name, cell.levels, self.samples, self.sampling, seed)
        write_arrays(self.store, cell.file, {"centres": centres.cpu().numpy()})


def load_centres(store: Store, files: Iterable[str]) -> np.ndarray:
    """The centres in these files, (K, D)."""
    return np.concatenate([read_arrays(store, file, ["centres"])["centres"] for file in files])


# --- schemes ----------------------------------------------------------------------------------------------------------


@dataclass
class SchemeDistances:
    """The work of a worker: distances of any of these schemes to the centres in the store."""

    store: Store
    encoders: Encoders
    centre_files: Sequence[Sequence[str]] = field(repr=False)  # by resampling
    schemes: Mapping[str, Scheme] = field(repr=False)
    draws: Mapping[str, int] = field(repr=False)
    _centres: tuple[int, Tensor] | None = field(default=None, repr=False)

    def __call__(self, cell: EncodingCell, advance: Advance) -> None:
        encoder, seed = self.encoders.open(cell.resampling), self.encoders.seed_of(cell.resampling)
        draws, centres = self.draws[cell.name], self._load(cell.resampling)
        near = measure_scheme(encoder, self.schemes[cell.name], centres, draws, seed, lambda at: advance(at, draws))
        write_arrays(self.store, cell.file, near)

    def _load(self, resampling: int) -> Tensor:
        if self._centres is None or self._centres[0] != resampling:
            centres = load_centres(self.store, self.centre_files[resampling])
            self._centres = resampling, torch.from_numpy(centres).to(self.encoders.device)
        return self._centres[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_centres": None}


@dataclass(frozen=True)
class DrawOrder:
    """The work of a worker: the order of a scheme's draws, those first that come closest to some centre."""

    store: Store
    encoders: Encoders
    centre_files: Sequence[str] = field(repr=False)
    scheme: Scheme
    draws: int

    def __call__(self, file: str, advance: Advance) -> None:
        encoder, transform = self.encoders.open(0), scheme_transform(self.scheme, self.encoders.seed_of(0))
        centres = torch.from_numpy(load_centres(self.store, self.centre_files)).to(self.encoders.device)
        pieces, done = [], 0
        for piece in encoder.features(transform, self.draws):
            pieces.append(distances_between(piece, centres))
            done += len(piece)
            advance(done, self.draws)
        write_arrays(self.store, file, {"order": closest_order(torch.cat(pieces).double().cpu().numpy())})


def measure_scheme(
    encoder: Encoder,
    scheme: Scheme,
    centres: Tensor,
    draws: int,
    seed: int = 0,
    advance: Callable[[int], None] | None = None,
) -> dict[str, np.ndarray]:
    """MSD and MMD of a scheme to centres (K, D), each (K,); draws are not kept.

    `advance` is called with the number of draws that are encoded.
    """
    nearest = torch.full((len(centres),), torch.inf, device=centres.device)
    total = torch.zeros(centres.shape[1], dtype=torch.float64, device=centres.device)
    done = 0
    for piece in encoder.features(scheme_transform(scheme, seed), draws):
        nearest = torch.minimum(nearest, distances_between(piece, centres).amin(0))
        total += piece.sum(0)
        done += len(piece)
        if advance is not None:
            advance(done)
    features.check_finite(total, "a scheme's augmentations")
    mmd = torch.linalg.vector_norm(total / draws - centres, dim=1)
    return {"msd": nearest.double().cpu().numpy(), "mmd": mmd.double().cpu().numpy()}


def distances_between(points: Tensor, centres: Tensor) -> Tensor:
    """All distances of points (n, D) to centres (K, D): (n, K)."""
    # Differences before squares: by a product of matrices, small distances would be lost to rounding.
    return torch.cdist(points, centres, compute_mode="donot_use_mm_for_euclid_dist")
