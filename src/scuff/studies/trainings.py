"""Train the models of a study, in any process, on any machine."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from scuff.engine import Advance, Run, needs_of
from scuff.studies.cells import TrainingCell
from scuff.training.images import TrainingImages, load_training_images
from scuff.training.run import train_on


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
        key = (cell.source.fingerprint(), str(cell.recipe.cut), cell.device)
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
