"""The inner loop: corrupt a batch once, show it to every model, keep the predictions on the device until the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from scuff.data import ClassMap, Source
from scuff.evaluation.clock import Clock
from scuff.evaluation.swift import Swift
from scuff.failures import is_out_of_memory
from scuff.models import Classifier

Columns = dict[str, np.ndarray]
Distort = Callable[[Tensor, Tensor], Iterable[Tensor]]  # images and their ids -> one batch, or one per frame

RANKS = 5  # as many as the top-5 distance of sequences needs


@dataclass
class BatchLimit:
    """How many images go through the models at once. It only ever shrinks, when memory runs out."""

    size: int

    def halve(self, tried: int) -> None:
        """Half of what was tried, or give up."""
        if tried == 1:
            raise MemoryError("not even one image at a time fits into memory; use a smaller model or smaller images")
        self.size = tried // 2


def predict(
    batches: Iterable[tuple[slice, Tensor]],
    ids: Tensor,
    distort: Distort,
    classifiers: Mapping[str, Classifier | Swift],
    source: Source,
    limit: BatchLimit,
    clock: Clock,
    is_sequence: bool = False,
) -> dict[str, Columns]:
    """The columns `prediction` and `confidence`, and those of frames for sequences, for every classifier.

    Nothing here waits for a GPU: it is free to work through a whole cell while the next batches are queued.
    """
    models = {name: one if isinstance(one, Swift) else Swift(one) for name, one in classifiers.items()}
    pieces: dict[str, list[Tensor]] = {name: [] for name in classifiers}
    counted, ranks = counted_outputs(source, ids.device), RANKS if is_sequence else 1

    def work(images: Tensor, ids_of_images: Tensor) -> dict[str, Tensor]:
        frames: dict[str, list[Tensor]] = {name: [] for name in classifiers}
        with clock.part("corrupting"):
            film = iter(distort(images, ids_of_images))
        while True:
            with clock.part("corrupting"):
                frame = next(film, None)
            if frame is None:
                return {name: torch.stack(columns, 1) for name, columns in frames.items()}
            with clock.part("predicting"):
                for name, model in models.items():
                    check = partial(check_width, name, source)
                    frames[name].append(model(frame, counted, ranks, limit.size, check))

    for where, images in batches:
        for ranked in _in_parts(work, images, ids[where], limit):
            for name, piece in ranked.items():
                pieces[name].append(piece)
    answers = {name: torch.cat(parts).cpu().numpy() for name, parts in pieces.items()}
    return {name: _columns(answer, source.classes, is_sequence) for name, answer in answers.items()}


def _in_parts(
    work: Callable[[Tensor, Tensor], dict[str, Tensor]], images: Tensor, ids: Tensor, limit: BatchLimit
) -> Iterable[dict[str, Tensor]]:
    """Work on a batch in parts of at most `limit`, which is halved whenever memory runs out."""
    start = 0
    while start < len(images):
        part = slice(start, start + limit.size)
        try:
            result = work(images[part], ids[part])
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            result = None
        if result is None:  # outside of the except block, whose error still holds the memory of the failed attempt
            limit.halve(len(images[part]))
            if images.is_cuda:
                torch.cuda.empty_cache()
            continue
        yield result
        start = part.stop


def counted_outputs(source: Source, device: torch.device) -> Tensor | None:
    """The outputs of a model that count for the classes of a source; None if all do."""
    return None if source.classes is None else torch.tensor(source.classes.outputs, device=device)


def check_width(name: str, source: Source, outputs: int) -> None:
    """Refuse a model that cannot name all classes: its outputs mean something else."""
    last = int(source.labels.max()) if source.classes is None else max(source.classes.outputs)
    if outputs <= last:
        raise ValueError(
            f"{name} has {outputs} outputs, but {source.name} needs outputs for labels up to {last}; are they for each "
            "other?"
        )
    if source.classes is None and not source.has_numbered_classes and outputs != len(source.class_names):
        raise ValueError(
            f"{name} has {outputs} outputs, but {source.name} has {len(source.class_names)} classes; are they for each "
            "other?"
        )


def _columns(outputs: np.ndarray, classes: ClassMap | None, is_sequence: bool) -> Columns:
    """(images, frames, ranks + 1) as columns; the rows of an image's frames follow each other."""
    images, frames, _ = outputs.shape
    flat = outputs.reshape(images * frames, -1)
    best = flat[:, :-1].astype(np.int32)
    if classes is not None:
        best = np.asarray(classes.classes, np.int32)[best]
    columns = {"prediction": best[:, 0], "confidence": flat[:, -1].astype(np.float32)}
    if is_sequence:
        columns["frame"] = np.tile(np.arange(frames, dtype=np.int16), images)
        for rank in range(2, RANKS + 1):
            known = rank <= best.shape[1]
            columns[f"rank{rank}"] = best[:, rank - 1] if known else np.full(len(flat), -1, np.int32)
    return columns
