"""What the tasks of a worker have in common: models on the device, pixels that are kept, the batch that fits."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff.batches import CHUNK
from scuff.data import Pixels, Source, load_pixels
from scuff.door import corrupt
from scuff.engine import Advance
from scuff.evaluation.choices import CLEAN
from scuff.evaluation.clock import Clock
from scuff.evaluation.plan import Cell, Plan
from scuff.evaluation.predict import RANKS, BatchLimit, Columns, Distort, check_width, counted_outputs, predict
from scuff.evaluation.swift import Swift
from scuff.failures import is_out_of_memory
from scuff.locks.recipe import film_cut
from scuff.locks.use import Witness
from scuff.memory import available_on
from scuff.pictures import Cut
from scuff.sequences import frames
from scuff.store import write_rows

LARGEST_BATCH = 2048  # beyond that, small images gain nothing
ROOMY = 32 << 30  # free bytes on a GPU, from which on compiled networks get larger batches:
STEPS = 4  # times as large
SUMMED = ("predictions", "seconds", "corrupting", "predicting")


@dataclass(frozen=True)
class Timing:
    """How a run or a task went: predictions made, seconds in all and of its parts, and where the pixels were kept.

    `notes` say which models were compiled.
    """

    predictions: int = 0
    seconds: float = 0.0
    corrupting: float = 0.0
    predicting: float = 0.0
    pixels: str = "not needed"
    batch_size: int = 0
    notes: tuple[str, ...] = ()

    @property
    def per_second(self) -> float:
        """Predictions per second: images x cells x models, decoding included."""
        return self.predictions / max(self.seconds, 1e-9)

    @property
    def corrupting_share(self) -> float:
        """Corrupting as a share of corrupting and predicting."""
        return self.corrupting / max(self.corrupting + self.predicting, 1e-9)

    def __add__(self, later: Timing) -> Timing:
        sums = {name: getattr(self, name) + getattr(later, name) for name in SUMMED}
        return replace(later, **sums, notes=tuple(dict.fromkeys(self.notes + later.notes)))


class Runner:
    """Runs one cell after the other, and keeps between them whatever the next one can use.

    It opens models and images with its first cell. A copy that is sent to another process begins anew there.
    """

    def __init__(
        self,
        plan: Plan,
        device: torch.device,
        batch_size: int | None = None,
        compile: bool | None = False,
        workers: int | None = None,
        cache: str | os.PathLike[str] | None = None,
        decoding: Callable[[int, int], None] | None = None,
    ) -> None:
        self.plan, self.device, self.compile, self.workers = plan, device, compile, workers
        self.cache, self.decoding = cache, decoding
        self.clock = Clock(device)
        self.kept = "not needed"
        self.limit, self._may_grow = BatchLimit(batch_size or 0), not batch_size
        self._classifiers: dict[str, Swift] = {}
        self._pixels: tuple[Source, Pixels, Tensor] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        plan = replace(self.plan, how={})
        return type(self), (plan, self.device, self.limit.size, self.compile, self.workers, self.cache)

    def __call__(self, task: Any, advance: Advance) -> Timing:
        """Run a `Task`. Where its models fail together, they run one by one: a bad one takes no other with it."""
        before, started = self.clock.seconds(), time.perf_counter()
        try:
            predictions = self.run(task.cell, task.models, advance)
        except Exception:
            if len(task.models) == 1:
                raise
            predictions = self._run_each(task, advance)
        seconds = time.perf_counter() - started
        after = self.clock.seconds()
        corrupting, predicting = (after.get(part, 0.0) - before.get(part, 0.0) for part in ("corrupting", "predicting"))
        notes = tuple(model.note for model in self._classifiers.values() if model.note)
        return Timing(predictions, seconds, corrupting, predicting, self.kept, self.limit.size, notes)

    def _run_each(self, task: Any, advance: Advance) -> int:
        predictions, errors = 0, []
        for name in task.models:
            try:
                predictions += self.run(task.cell, (name,), advance)
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return predictions

    def run(self, cell: Cell, models: Sequence[str], advance: Advance) -> int:
        """Compute a cell for those models that lack it, write their rows, and say how many predictions that took."""
        lacking = self.plan.lacking(cell, models)  # another process may have been here meanwhile
        if not lacking:
            return 0
        source = self.plan.source(cell)
        pixels, ids = self.load(source, self.pixels_cut(cell))
        opened, distort = self.open(models), self.distort(cell)
        self.settle(lacking, source, self._shown(cell, pixels.shape[1:]))
        witness = self._witness(cell, source)
        columns_of = predict(
            self._watched(pixels, len(source), advance),
            ids,
            distort if witness is None else witness.watching(distort),
            {name: opened[name] for name in lacking},
            source,
            self.limit,
            self.clock,
            self.plan.is_sequence,
        )
        if witness is not None:
            witness.confirm()
        for name, columns in columns_of.items():
            self._write(name, cell, source, columns)
        return len(source) * len(lacking)

    def _witness(self, cell: Cell, source: Source) -> Witness | None:
        """Who makes sure that images are those of the lock, if there is one."""
        if self.plan.lock is None:
            return None
        return Witness(self.plan.lock, None if cell.entry == CLEAN else (cell.entry, cell.severity), source)

    def open(self, models: Sequence[str]) -> dict[str, Swift]:
        """These models on the device. They stay there until others are asked for: not all need fit side by side."""
        if not set(models) <= self._classifiers.keys():
            self._classifiers.clear()
            plan, precision = self.plan, self.plan.settings["precision"]
            is_left_open = self.compile is None and self.device.type == "cuda"
            for name in models:
                opened = plan.classifiers[name].on(self.device, precision)
                predictions = plan.settings["images"] * len(plan.cells)
                self._classifiers[name] = Swift(opened, predictions, None if is_left_open else bool(self.compile))
        return self._classifiers

    def settle(self, models: Sequence[str], source: Source, shape: Sequence[int]) -> None:
        """Decide by batches of noise which models are compiled; those that are get larger batches, if there is room."""
        if all(self._classifiers[name].is_settled for name in models):
            return
        asked = counted_outputs(source, self.device), RANKS if self.plan.is_sequence else 1
        steps = STEPS if available_on(self.device) >= ROOMY else 1
        limit = BatchLimit(suitable_batch(shape, self.device, steps) if self._may_grow else self.limit.size)
        twins: dict[str, Swift] = {}  # by architecture
        for name in models:
            model = self._classifiers[name]
            twin = twins.setdefault(repr(model.classifier.model), model)
            while not model.is_settled:
                noise = self._noise(limit.size, shape)
                try:
                    if twin is model:
                        model.settle(noise, *asked, partial(check_width, name, source))
                    else:
                        model.follow(twin, noise, *asked)
                except (RuntimeError, MemoryError) as error:
                    if not is_out_of_memory(error):
                        raise
                    limit.halve(limit.size)
            if model.is_compiled and self._may_grow:
                self.limit.size = max(self.limit.size, limit.size)

    def _noise(self, count: int, shape: Sequence[int]) -> Tensor:
        generator = torch.Generator(self.device).manual_seed(0)
        size = (count, *shape)
        return torch.randint(0, 256, size, generator=generator, dtype=torch.uint8, device=self.device)

    def _shown(self, cell: Cell, shape: Sequence[int]) -> Sequence[int]:
        """The shape of what models see: of films, the window that they show."""
        cut = self.plan.cut(cell)
        if not self.plan.is_sequence or cut is None or cut.crop is None:
            return shape
        return (shape[0], cut.crop, cut.crop)

    def load(self, source: Source, cut: Cut | None) -> tuple[Pixels, Tensor]:
        """The pixels of a source: decoded once, and kept until a cell has another source."""
        if self._pixels is None or self._pixels[0] is not source:
            self._pixels = None  # two sources need not fit side by side
            options = {"cache": self.cache, "decoder": self.plan.settings.get("decoder", "pillow")}
            pixels = load_pixels(source, cut, self.device, self.workers, self.decoding, **options)
            self._pixels = (source, pixels, torch.from_numpy(source.ids).to(self.device))
            self.kept = pixels.kept
            if not self.limit.size:
                self.limit.size = suitable_batch(pixels.shape[1:], self.device)
        return self._pixels[1:]

    def pixels_cut(self, cell: Cell) -> Cut | None:
        """How pictures are cut before they are corrupted."""
        return film_cut(self.plan.cut(cell)) if self.plan.is_sequence else self.plan.cut(cell)

    def _watched(self, pixels: Pixels, total: int, advance: Advance) -> Iterable[tuple[slice, Tensor]]:
        for where, images in pixels.batches(self.limit.size):
            yield where, images
            advance(where.stop, total)

    def distort(self, cell: Cell) -> Distort:
        """How a batch of this cell becomes what models see: as it is, corrupted, or a film."""
        if cell.entry == CLEAN or self.plan.images.are_corrupted:
            return lambda images, ids: [images]
        options = {"suite": self.plan.suite, "seed": self.plan.settings["seed"], "check": False}
        if self.plan.is_sequence:
            cut = self.plan.cut(cell)
            crop = None if cut is None else cut.crop
            return lambda images, ids: frames(images, cell.entry, cell.severity or 1, ids=ids, crop=crop, **options)
        options["as_published"] = self.plan.settings["as_published"]
        severity: float | None = cell.severity
        if cell.dial is not None:
            severity = cell.dial
            options["draws"] = "shared"
        return lambda images, ids: [corrupt(images, cell.entry, severity, ids=ids, **options)]

    def check_numbers(self, model: str, cell: object, columns: Columns) -> None:
        """Refuse a model that answers NaN."""
        bad = int(np.isnan(columns["confidence"]).sum())
        if bad:
            hint = "" if self.plan.settings["precision"] == "float32" else "; try precision float32 or bfloat16"
            raise ValueError(f"{model} gave NaN for {bad} predictions of {cell}{hint}")

    def _write(self, model: str, cell: Cell, source: Source, columns: Columns) -> None:
        self.check_numbers(model, cell, columns)
        per_image = len(columns["prediction"]) // len(source)
        constant = {
            "model": model,
            "source": self.plan.images.source.name,
            "suite": self.plan.suite.name,
            "corruption": cell.entry,
        }
        columns["severity"] = np.int16(cell.severity or 0)  # type: ignore[assignment]  # broadcast when written
        columns["image_id"] = np.repeat(source.ids, per_image)
        columns["label"] = np.repeat(source.labels, per_image)
        write_rows(self.plan.store, self.plan.rows_name(model, cell), constant, columns)


def suitable_batch(shape: Sequence[int], device: torch.device, steps: int = 1) -> int:
    """A batch that keeps a processor busy: the power of two that fills so many steps of the corruptions."""
    fits = steps * CHUNK.get(device.type, CHUNK["cpu"]) // max(1, int(np.prod(shape)))
    return min(LARGEST_BATCH, 1 << max(0, fits.bit_length() - 1))
