"""Trainings as cells of a study: each leaves one file of weights, made in any process, on any machine."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from scuff.data import Source
from scuff.engine import Advance, Run, needs_of
from scuff.store import Store
from scuff.training.images import TrainingImages, fingerprint_of, load_training_images
from scuff.training.recipes import Recipe
from scuff.training.run import describe, train_on
from scuff.training.treatment import Treatment


@dataclass(frozen=True, eq=False)
class TrainingCell:
    """One model of a study: what it is trained on, how, and into which file."""

    trained_on: str
    name: str
    treatment: Treatment | None = field(repr=False)
    seed: int
    recipe: Recipe = field(repr=False)
    start: str | None
    out: str  # an address, as the store of the study gives it
    source: Source = field(repr=False)
    device: str

    def origin(self) -> dict:
        """Everything that decides over its weights, as its file tells it."""
        fingerprint = fingerprint_of(self.source, self.recipe)
        return describe(fingerprint, self.recipe, self.treatment, self.start, self.seed)

    @property
    def images(self) -> int:
        """Images that pass through the network until it is trained."""
        return self.recipe.epochs * len(self.source)


def find_trained(store: Store) -> set[str]:
    """The addresses of all models that are there, by one look into the store."""
    return {store.address(name) for name in store.names("models", ".safetensors")}


@dataclass
class Trainings:
    """The work of a worker: it has all cells of a study, which share their images, and is told which to train.

    Images stay on the device for the next cell.
    """

    cells: Sequence[TrainingCell] = field(repr=False)
    _loaded: tuple[tuple[str, str, str], TrainingImages] | None = field(default=None, repr=False)

    def __call__(self, number: int, advance: Advance) -> None:
        cell = self.cells[number]
        images = self._images(cell)
        train_on(
            images,
            cell.recipe,
            cell.out,
            cell.treatment,
            start=cell.start,
            seed=cell.seed,
            device=cell.device,
            progress=advance,
        )

    def _images(self, cell: TrainingCell) -> TrainingImages:
        recipe = cell.recipe
        loaded_as = (recipe.cut, recipe.crop_area, recipe.normalises, recipe.mean, recipe.std)
        key = (cell.source.fingerprint(), str(loaded_as), cell.device)
        if self._loaded is None or self._loaded[0] != key:
            self._loaded = None  # two sources need not fit side by side
            self._loaded = key, load_training_images(cell.source, cell.recipe, torch.device(cell.device))
        return self._loaded[1]


def run_trainings(run: Run, cells: Sequence[TrainingCell], device: torch.device) -> None:
    """Train the models of all cells; as many share a GPU as the engine says."""
    done = run.cells(
        "train",
        Trainings(cells),
        range(len(cells)),
        needs=needs_of(device, share=run.engine.share),
        name=lambda number: cells[number].name,
        size=lambda number: cells[number].images,
    )
    with contextlib.closing(done):
        for _ in done:
            pass
