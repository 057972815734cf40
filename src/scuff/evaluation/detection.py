"""Detectors and segmenters in the cells of an evaluation: what they find, beside what there is to be found.

Pictures keep their sizes, and those of one size are corrupted together. What is true of a picture moves with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from scuff.data.annotated import AnnotatedSource, annotated
from scuff.data.sized import SizedPixels, load_sized
from scuff.engine import Advance
from scuff.evaluation.plan import Cell
from scuff.evaluation.predict import _in_parts
from scuff.evaluation.runner import CHUNK, Runner
from scuff.evaluation.truth import Truth
from scuff.metrics.tasks.regions import count_pairs
from scuff.models import Classifier
from scuff.models.detectors import MISSING, Found, by_class, class_table
from scuff.store import Store, write_rows

LARGEST_BATCH = 32  # pictures at once
Columns = dict[str, Any]


class TaskRunner(Runner):
    """Runs one cell after the other, as a `Runner` does, for detection or segmentation."""

    _opened: dict[str, Classifier] | None = None
    _sized: SizedPixels | None = None
    _truth: Truth | None = None

    @property
    def task(self) -> str:
        """What the models do."""
        return self.plan.settings["task"]

    def run(self, cell: Cell, models: Sequence[str], advance: Advance) -> int:
        """Compute a cell for those models that lack it, write their rows, and say how many predictions that took."""
        lacking = self.plan.lacking(cell, models)
        if not lacking:
            return 0
        source = annotated(self.plan.source(cell), self.task)
        for name, rows in self.answers(cell, lacking, source, advance).items():
            self.write(name, cell, source, rows)
        return len(source) * len(lacking)

    def answers(
        self, cell: Cell, models: Sequence[str], source: AnnotatedSource, advance: Advance
    ) -> dict[str, list[Columns]]:
        """What models make of the pictures of a source in a cell, and what is true of them: by model and picture."""
        pixels, truth = self._ready(source)
        opened = self._open(models)
        tables = {name: class_table(opened[name], source.class_names) for name in models}
        distort, done = self.distort(cell), 0
        rows: dict[str, list[Columns]] = {name: [{} for _ in range(len(source))] for name in models}

        def work(images: Tensor, positions: Tensor) -> dict[str, list[Columns]]:
            places = positions.numpy()
            ids = torch.from_numpy(source.ids[places]).to(self.device)
            with self.clock.part("corrupting"):
                (seen,) = distort(images, ids)
                true = truth.after(cell, places, ids, seen)
            with self.clock.part("predicting"):
                return {name: self._look(opened[name], tables[name], seen, true, source) for name in models}

        for places, images in pixels.batches(CHUNK.get(self.device.type, CHUNK["cpu"])):
            start = 0
            for made in _in_parts(work, images, torch.from_numpy(places), self.limit):  # type: ignore[arg-type]
                count = len(next(iter(made.values())))
                for name, of_batch in made.items():
                    for place, columns in zip(places[start : start + count], of_batch, strict=True):
                        rows[name][place] = columns
                start += count
            done += len(places)
            advance(done, len(source))
        return rows

    def _ready(self, source: AnnotatedSource) -> tuple[SizedPixels, Truth]:
        if self._sized is None or self._truth is None or self._truth.given is not source:
            self._sized = load_sized(source, self.device, self.workers, self.decoding)
            self._truth = Truth(source, self.plan, self._sized.place is not None)
            self.kept = self._sized.kept
            self.limit.size = self.limit.size or LARGEST_BATCH
        return self._sized, self._truth

    def _open(self, models: Sequence[str]) -> Mapping[str, Classifier]:
        if self._opened is None or not set(models) <= self._opened.keys():
            self._opened = None  # these models may not fit beside others
            precision = self.plan.settings["precision"]
            self._opened = {name: self.plan.classifiers[name].on(self.device, precision) for name in models}
        return self._opened

    def _look(
        self, model: Any, table: np.ndarray | None, images: Tensor, true: Any, source: AnnotatedSource
    ) -> list[Columns]:
        if self.task == "segmentation":
            return _regions(model(images), true.maps, table, len(source.class_names))
        answers, ghosts = model(images), true.ghosts()
        marks = [None] * len(answers) if ghosts is None else _sums(ghosts)
        return [_found(*one, table) for one in zip(answers, true.objects, marks, strict=True)]

    def write(
        self,
        model: str,
        cell: Cell,
        source: AnnotatedSource,
        rows: Sequence[Columns],
        store: Store | None = None,
        file: str = "",
    ) -> None:
        """Write the rows of a cell, to their file or to another one."""
        columns: Columns = {key: [row[key] for row in rows] for key in rows[0]}
        bad = sum(int(np.isnan(scores).sum()) for scores in columns.get("scores", ()))
        if bad:
            raise ValueError(f"{model} gave NaN as the score of {bad} boxes of {cell}")
        if self.task == "segmentation":
            columns["classes"] = np.int16(len(source.class_names))
        columns["severity"] = np.int16(cell.severity or 0)
        columns["image_id"] = source.ids
        names = (model, self.plan.images.source.name, self.plan.suite.name, cell.entry)
        constant = dict(zip(("model", "source", "suite", "corruption"), names, strict=True))
        write_rows(store or self.plan.store, file or self.plan.rows_name(model, cell), constant, columns)


def _found(found: Found, objects: Any, marks: Tensor | None, table: np.ndarray | None) -> Columns:
    """What a detector found in one picture, by the classes of the data, and what there is."""
    found = by_class(found, table)
    values = (*found, _on_mirror_images(found.boxes, marks))
    boxes, scores, labels, ghosts = (value.cpu().numpy() for value in values)
    return {
        "boxes": boxes.astype(np.float32).ravel(),
        "scores": scores.astype(np.float32),
        "labels": labels.astype(np.int32),
        "ghosts": ghosts,
        "true_boxes": objects.boxes.astype(np.float32).ravel(),
        "true_labels": objects.labels.astype(np.int32),
        "true_crowd": objects.crowd,
    }


def _sums(marks: Tensor) -> Tensor:
    """How many pixels of (N, H, W) are marked above and left of each corner of a pixel: (N, H + 1, W + 1)."""
    return F.pad(marks.int().cumsum(1, dtype=torch.int32).cumsum(2, dtype=torch.int32), (1, 0, 1, 0))


def _on_mirror_images(boxes: Tensor, sums: Tensor | None) -> Tensor:
    """Which boxes lie by more than half on what does not come from the picture, or a second time."""
    if sums is None:
        return torch.zeros(len(boxes), dtype=torch.bool)
    height, width = (side - 1 for side in sums.shape)
    x0, y0, x1, y1 = (
        at.round().nan_to_num(0.0).clamp(0, far).long()
        for at, far in zip(boxes.to(sums.device).unbind(1), (width, height) * 2, strict=True)
    )
    inside = sums[y1, x1] - sums[y0, x1] - sums[y1, x0] + sums[y0, x0]
    return inside > 0.5 * (x1 - x0) * (y1 - y0)


def _regions(taken: Tensor, true: Tensor, table: np.ndarray | None, classes: int) -> list[Columns]:
    """For each picture, how many pixels of each class were taken for which."""
    if table is not None:
        known = torch.from_numpy(np.where(table == MISSING, classes, table)).to(taken.device)
        taken = torch.where(taken < len(known), known[taken.clamp(max=len(known) - 1)], classes)
    pairs = [count_pairs(t, p, classes) for t, p in zip(true.cpu().numpy(), taken.cpu().numpy(), strict=True)]
    return [{"pairs": found, "counts": counts} for found, counts in pairs]
