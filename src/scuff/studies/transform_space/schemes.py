"""Augmentation schemes as cells: how near each comes to the centres of corruptions, and the order of its draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff.augment import Scheme
from scuff.engine import Advance
from scuff.metrics.transform_space.nearness import closest_order
from scuff.store import Store
from scuff.studies.transform_space.encoders import Encoders, load_centres
from scuff.studies.transform_space.features import Encoder, check_finite, scheme_transform
from scuff.studies.transform_space.files import save_arrays


@dataclass(frozen=True)
class SchemeCell:
    """A scheme in one resampling, and the file of its distances."""

    name: str
    resampling: int
    file: str

    def __str__(self) -> str:
        return f"{self.name} {self.resampling + 1}" if self.resampling else self.name


@dataclass
class SchemeDistances:
    """The work of a worker: distances of any of these schemes to the centres in the store."""

    store: Store
    encoders: Encoders
    centre_files: Sequence[Sequence[str]] = field(repr=False)  # by resampling
    schemes: Mapping[str, Scheme] = field(repr=False)
    draws: Mapping[str, int] = field(repr=False)
    _centres: tuple[int, Tensor] | None = field(default=None, repr=False)

    def __call__(self, cell: SchemeCell, advance: Advance) -> None:
        encoder, seed = self.encoders.open(cell.resampling), self.encoders.seed_of(cell.resampling)
        draws, centres = self.draws[cell.name], self._load(cell.resampling)
        near = measure_scheme(encoder, self.schemes[cell.name], centres, draws, seed, lambda at: advance(at, draws))
        save_arrays(self.store, cell.file, **near)

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
        save_arrays(self.store, file, order=closest_order(torch.cat(pieces).double().cpu().numpy()))


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
    check_finite(total, "a scheme's augmentations")
    mmd = torch.linalg.vector_norm(total / draws - centres, dim=1)
    return {"msd": nearest.double().cpu().numpy(), "mmd": mmd.double().cpu().numpy()}


def distances_between(features: Tensor, centres: Tensor) -> Tensor:
    """All distances of features (n, D) to centres (K, D): (n, K)."""
    # Differences before squares: by a product of matrices, small distances would be lost to rounding.
    return torch.cdist(features, centres, compute_mode="donot_use_mm_for_euclid_dist")
