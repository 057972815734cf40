"""What an evaluation will cost: found in its journals, or by trying a few images.

Corrupting is timed for every entry, and predicting for every model. The models of a task see the same corrupted
images, so that a task takes the time of its corruption once, and the time of each of its models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff.data import Source
from scuff.engine.cost import (
    NOW,
    CellCost,
    StudyCost,
    in_this_folder,
    is_here,
    kind_of,
    seconds_before,
    time_warm,
)
from scuff.environment import environment, find_device
from scuff.evaluation.choices import CLEAN
from scuff.evaluation.clock import Clock
from scuff.evaluation.plan import Cell, Plan
from scuff.evaluation.predict import RANKS, predict
from scuff.evaluation.runner import Runner, suitable_batch
from scuff.evaluation.tasks import split_tasks
from scuff.store import Store, write_rows

TRIED = {"cpu": 8, "cuda": 256}  # large images; of small ones, as many as hold the same number of values
VALUES = {"cpu": 1 << 18, "cuda": 1 << 22}
IN_MEMORY = "memory://scuff-cost"  # where files are made whose size is asked for


@dataclass(frozen=True)
class Rates:
    """Seconds per image: of corrupting by entry, of predicting by model (of a frame, where there are films)."""

    corrupting: dict[str, float]
    frames: dict[str, int]
    predicting: dict[str, float]
    warm_up: float = 0.0

    def task(self, entry: str, models: Sequence[str]) -> float:
        """Seconds per image of some models on an entry."""
        return self.corrupting[entry] + self.frames[entry] * sum(self.predicting[model] for model in models)


def estimate(
    plan: Plan, device: str | torch.device | None = None, *, compile: bool = False, journals: Store | None = None
) -> StudyCost:
    """What is left of an evaluation, as costs of its tasks. Nothing is written.

    `journals` is where journals of the runs lie, if they belong to another study.
    """
    device = find_device(device)
    tasks = split_tasks(plan, plan.missing())
    before = seconds_before(journals or plan.store, "test")
    rows = len(plan.store.names("rows", ".parquet"))
    if before is not None and rows:
        rates, how = None, in_this_folder(before[1])
    else:
        rates, how = measure_rates(plan, device, [task.cell for task in tasks], compile=compile), NOW
    images, sizes, parts = plan.settings["images"], {}, []
    for task in tasks:
        frames = _count_frames(plan, task.cell) if rates is None else rates.frames[task.cell.entry]
        if frames not in sizes:
            sizes[frames] = rows_size(plan, task.cell, frames)
        if rates is None:
            assert before is not None
            seconds = before[0] / rows * len(task.models)
        else:
            seconds = images * rates.task(task.cell.entry, task.models)
        parts.append(task_cost(seconds, sizes[frames] * len(task.models), device, how, str(task)))
    return StudyCost(tuple(parts), environment(device)["device"], 0.0 if rates is None else rates.warm_up)


def task_cost(seconds: float, size: float, device: torch.device, how: str, name: str) -> CellCost:
    """The cost of one task; on processors it takes all of them."""
    units = 1 if device.type == "cuda" else torch.get_num_threads()
    return CellCost("test", 1, seconds, size, kind_of(device), how, name, units)


def measure_rates(plan: Plan, device: torch.device, cells: Sequence[Cell], *, compile: bool = False) -> Rates:
    """Run some images through one severity of every entry of these cells, and through every model.

    Everything is tried twice at least, and the first time does not count: it compiles and warms up.
    """
    one_each = {cell.entry: cell for cell in reversed(cells)}  # of the first severity
    if not is_here(device):
        nothing = dict.fromkeys(one_each, math.nan)
        return Rates(nothing, dict.fromkeys(one_each, 1), dict.fromkeys(plan.classifiers, math.nan))
    runner, warm_up = Runner(plan, device, compile=compile), 0.0
    corrupting: dict[str, float] = {}
    frames: dict[str, int] = {}
    predicting: dict[str, float] = {}
    tried: tuple[Source, Tensor, Tensor] | None = None
    for cell in cells:
        if one_each[cell.entry] is not cell:
            continue
        source = plan.source(cell)
        if tried is None or tried[0] is not source:
            tried = source, *_some_images(runner, cell, source)
        images, ids = tried[1:]
        distort = runner.distort(cell)
        counted: list[int] = []

        def corrupt(distort=distort, images=images, ids=ids, counted=counted) -> None:
            counted[:] = [sum(1 for _ in distort(images, ids))]

        seconds, more = time_warm(corrupt, device)
        corrupting[cell.entry], frames[cell.entry] = seconds / len(images), counted[0]
        warm_up += more
    if tried is None:
        return Rates(corrupting, frames, predicting)
    source, images, ids = tried
    runner.limit.size = suitable_batch(images.shape[1:], device)
    cut = plan.cut(cells[-1])
    size = cut.crop if plan.is_sequence and cut is not None else None
    if size is not None:  # of which films show a window
        images = images[..., :size, :size].contiguous()
    batch = [(slice(0, len(images)), images)]
    for name in plan.classifiers:
        classifiers = {name: runner.open([name])[name]}

        def show(classifiers=classifiers) -> None:
            plain = runner.distort(Cell(CLEAN))
            predict(batch, ids, plain, classifiers, source, runner.limit, Clock(device), plan.is_sequence)

        seconds, more = time_warm(show, device)
        predicting[name] = seconds / len(images)
        warm_up += more
    return Rates(corrupting, frames, predicting, warm_up)


def _some_images(runner: Runner, cell: Cell, source: Source) -> tuple[Tensor, Tensor]:
    kind, cut = runner.device.type, runner.pixels_cut(cell)
    wanted = max(TRIED[kind], VALUES[kind] // source.read([0], cut).numel())
    few = source.take(range(min(len(source), wanted)))
    images = few.read(range(len(few)), cut).to(runner.device)
    return images, torch.from_numpy(few.ids).to(runner.device)


def _count_frames(plan: Plan, cell: Cell) -> int:
    """How many frames the films of a cell have: one is looked at."""
    if not plan.is_sequence:
        return 1
    runner, source = Runner(plan, torch.device("cpu")), plan.source(cell)
    few = source.take(range(1))
    images = few.read([0], runner.pixels_cut(cell))
    return sum(1 for _ in runner.distort(cell)(images, torch.from_numpy(few.ids)))


def rows_size(plan: Plan, cell: Cell, frames: int = 1) -> int:
    """Bytes of the rows of a model on a cell, by making such a file in memory.

    Ids and labels are the real ones, predictions the same classes in any order, and confidences all different: a good
    model's rows are a little smaller. What all rows share (model, source, suite, corruption) is stored once.
    """
    source, random = plan.source(cell), np.random.default_rng(0)
    count = len(source) * frames
    columns: dict[str, Any] = {
        "severity": np.int16(cell.severity or 0),
        "image_id": np.repeat(source.ids, frames),
        "label": np.repeat(source.labels, frames),
        "prediction": random.permutation(np.repeat(source.labels, frames)),
        "confidence": random.random(count, np.float32),
    }
    if plan.is_sequence:
        columns["frame"] = np.tile(np.arange(frames, dtype=np.int16), len(source))
        columns |= {f"rank{rank}": random.permutation(columns["label"]) for rank in range(2, RANKS + 1)}
    constant = {
        "model": next(iter(plan.classifiers)),
        "source": plan.images.source.name,
        "suite": plan.suite.name,
        "corruption": cell.entry,
    }
    store, name = Store(IN_MEMORY), "rows.parquet"
    write_rows(store, name, constant, columns)
    size = len(store.read(name))
    store.remove(name)
    return size
