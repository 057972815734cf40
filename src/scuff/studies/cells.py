"""Trainings as cells: each leaves one file of weights, in any process."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from scuff.data import Source
from scuff.engine import count_processes, run_cells
from scuff.evaluation.runner import Progress
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
    start: Path | None
    out: Path
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


_loaded: dict[tuple[str, str, str], TrainingImages] = {}  # in every process: the images that its last cell used


def train_cell(cell: TrainingCell, progress=None) -> Path:
    """Train the model of a cell. Images stay on the device for the next cell of this process."""
    key = (cell.source.fingerprint(), str(cell.recipe.cut), cell.device)
    if key not in _loaded:
        _loaded.clear()
        _loaded[key] = load_training_images(cell.source, cell.recipe, torch.device(cell.device))
    return train_on(
        _loaded[key],
        cell.recipe,
        cell.out,
        cell.treatment,
        start=cell.start,
        seed=cell.seed,
        device=cell.device,
        progress=progress,
    )


def run_trainings(
    cells: Sequence[TrainingCell],
    device: torch.device,
    processes: int | None,
    progress: Progress,
    done: int,
    total: int,
) -> int:
    """Train the models of all cells; `done` of `total` images have been passed before, and as many are returned after.

    In this process progress is reported step by step, in others model by model.
    """
    count = count_processes(device, len(cells), processes)
    before = done

    def work(cell: TrainingCell) -> Path:
        def advance(step: int, steps: int) -> None:
            progress(f"training {cell.name}", before + cell.images * step // steps, total)

        return train_cell(cell, advance)

    with contextlib.closing(run_cells(work if count == 1 else train_cell, cells, count)) as finished:
        for cell, _ in finished:
            before += cell.images
            progress(f"trained {cell.name}", before, total)
    _loaded.clear()
    return before
