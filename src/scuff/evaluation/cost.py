"""What an evaluation will cost: found in its journals, or by trying a few images.

Corrupting is timed for every entry, and predicting for every model. The models of a task see the same corrupted
images, so that a task takes the time of its corruption once, and the time of each of its models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff.data import Source
from scuff.data.annotated import AnnotatedSource, annotated
from scuff.engine.cost import Estimate, StudyCost, size_in_memory
from scuff.environment import find_device
from scuff.evaluation.choices import CLASSIFICATION, CLEAN
from scuff.evaluation.clock import Clock
from scuff.evaluation.detection import TaskRunner
from scuff.evaluation.plan import Cell, Plan
from scuff.evaluation.predict import RANKS, predict
from scuff.evaluation.runner import Runner, suitable_batch
from scuff.evaluation.tasks import Task, split_tasks
from scuff.store import Store, write_rows

TRIED = {"cpu": 8, "cuda": 256}  # large images; of small ones, as many as hold the same number of values
PICTURES = 4  # of detectors and segmenters
VALUES = {"cpu": 1 << 18, "cuda": 1 << 22}


def estimate(
    plan: Plan, device: str | torch.device | None = None, *, compile: bool = False, journals: Store | None = None
) -> StudyCost:
    """What is left of an evaluation, as costs of its tasks. Nothing is written.

    `journals` is where journals of the runs lie, if they belong to another study.
    """
    kind = Tests if plan.task == CLASSIFICATION else TaskTests
    tests = kind(plan, Estimate(find_device(device), journals or plan.store), compile)
    return tests.cost(split_tasks(plan, plan.missing()))


@dataclass(eq=False)
class Tests:
    """The tests of a plan: what each takes, by one severity of every entry, and by every model, on some images."""

    plan: Plan
    estimate: Estimate
    compile: bool = False
    _tried: tuple[Source, Tensor, Tensor] | None = None

    def cost(self, tasks: Iterable[Task]) -> StudyCost:
        """The cost of some tasks, whose models may share a stand-in."""
        done, sizes = len(self.plan.store.names("rows", ".parquet")), {}
        for task in tasks:
            frames, models = self._count_frames(task.cell), task.models
            if frames not in sizes:
                sizes[frames] = self.size(task.cell, frames)
            size = sizes[frames] * len(models)
            seconds = partial(self.seconds, task.cell, models)
            self.estimate.add("test", seconds, size, str(task), pieces=len(models), done=done)
        return self.estimate.total()

    def size(self, cell: Cell, frames: int) -> int:
        """Bytes of the rows of a model."""
        return rows_size(self.plan, cell, frames)

    def seconds(self, cell: Cell, models: Sequence[str]) -> float:
        """Seconds of some models on all images of a cell, those of corrupting among them."""
        images, ids = self._some_images(cell)
        distort = self._runner.distort(cell)
        corrupt = self.estimate.time(cell.entry, lambda: lambda: sum(1 for _ in distort(images, ids)))
        predict = sum(self.estimate.time((model,), partial(self._predict, cell, model)) for model in models)
        return self.plan.settings["images"] * (corrupt + self._count_frames(cell) * predict) / len(images)

    @cached_property
    def _runner(self) -> Runner:
        return Runner(self.plan, self.estimate.device, 1, self.compile)  # the batch is chosen later

    def _some_images(self, cell: Cell) -> tuple[Tensor, Tensor]:
        runner, source = self._runner, self.plan.source(cell)
        if self._tried is None or self._tried[0] is not source:
            kind, cut = runner.device.type, runner.pixels_cut(cell)
            wanted = max(TRIED[kind], VALUES[kind] // source.read([0], cut).numel())
            few = source.take(range(min(len(source), wanted)))
            images = few.read(range(len(few)), cut).to(runner.device)
            self._tried = source, images, torch.from_numpy(few.ids).to(runner.device)
        return self._tried[1:]

    def _predict(self, cell: Cell, model: str) -> Callable[[], object]:
        """One model on the images of a cell; of films, on the window that they show."""
        runner, plan = self._runner, self.plan
        images, ids = self._some_images(cell)
        cut = plan.cut(cell)
        if plan.is_sequence and cut is not None and cut.crop is not None:
            images = images[..., : cut.crop, : cut.crop].contiguous()
        runner.limit.size = min(len(images), suitable_batch(images.shape[1:], runner.device))
        batch, classifiers = [(slice(0, len(images)), images)], {model: runner.open([model])[model]}
        plain, clock = runner.distort(Cell(CLEAN)), Clock(runner.device)
        source = plan.source(cell)
        runner.settle([model], source, images.shape[1:])
        return lambda: predict(batch, ids, plain, classifiers, source, runner.limit, clock, plan.is_sequence)

    def _count_frames(self, cell: Cell) -> int:
        """How many frames the films of a cell have: one is looked at."""
        if not self.plan.is_sequence:
            return 1
        runner, few = Runner(self.plan, torch.device("cpu")), self.plan.source(cell).take(range(1))
        images = few.read([0], runner.pixels_cut(cell))
        return sum(1 for _ in runner.distort(cell)(images, torch.from_numpy(few.ids)))


class TaskTests(Tests):
    """The tests of detectors or segmenters, whole, on some pictures."""

    def seconds(self, cell: Cell, models: Sequence[str]) -> float:
        """Seconds of some models on all images of a cell."""
        few = self._few
        return (
            self.plan.settings["images"]
            * self.estimate.time((cell.entry, *models), self._look(cell, models))
            / len(few)
        )

    def _look(self, cell: Cell, models: Sequence[str]) -> Callable[[], Callable[[], object]]:
        return lambda: lambda: self._task_runner.answers(cell, models, self._few, lambda done, total: None)

    def size(self, cell: Cell, frames: int) -> int:
        """Bytes of the rows of a model, from those of some pictures."""
        model, runner = next(iter(self.plan.classifiers)), self._task_runner
        rows = runner.answers(cell, [model], self._few, lambda done, total: None)[model]
        write = partial(runner.write, model, cell, self._few, rows)
        made = size_in_memory("rows.parquet", lambda store, name: write(store, name))
        return made * self.plan.settings["images"] // len(self._few)

    @cached_property
    def _task_runner(self) -> TaskRunner:
        return TaskRunner(self.plan, self.estimate.device)

    @cached_property
    def _few(self) -> AnnotatedSource:
        source = annotated(self.plan.source(self.plan.cells[0]), self.plan.task)
        return source.take(range(min(len(source), PICTURES)))


def rows_size(plan: Plan, cell: Cell, frames: int = 1) -> int:
    """Bytes of the rows of a model on a cell, by making such a file in memory.

    Ids and labels are the real ones, predictions the same classes in any order, and confidences all different: a good
    model's rows are a little smaller. What all rows share (model, source, suite, corruption) is stored once.
    """
    source, random = plan.source(cell), np.random.default_rng(0)
    labels = np.repeat(source.labels, frames)
    columns: dict[str, Any] = {
        "severity": np.int16(cell.severity or 0),
        "image_id": np.repeat(source.ids, frames),
        "label": labels,
        "prediction": random.permutation(labels),
        "confidence": random.random(len(labels), np.float32),
    }
    if plan.is_sequence:
        columns["frame"] = np.tile(np.arange(frames, dtype=np.int16), len(source))
        columns |= {f"rank{rank}": random.permutation(labels) for rank in range(2, RANKS + 1)}
    names = (next(iter(plan.classifiers)), plan.images.source.name, plan.suite.name, cell.entry)
    constant = dict(zip(("model", "source", "suite", "corruption"), names, strict=True))
    return size_in_memory("rows.parquet", lambda store, name: write_rows(store, name, constant, columns))
