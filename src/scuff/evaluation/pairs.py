"""Chosen images in chosen cells: what a sample of an evaluation consists of, and what claims ask for.

A batch may mix cells: images of one cell are corrupted together, and models see everything together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from scuff.data import load_pixels
from scuff.evaluation.plan import Cell
from scuff.evaluation.predict import Columns, predict
from scuff.evaluation.runner import Runner, suitable_batch


def predict_pairs(
    runner: Runner, images: np.ndarray, cells: Sequence[Cell], models: Sequence[str], keeps_all: bool = False
) -> tuple[np.ndarray, dict[str, Columns]]:
    """The order in which pairs of an image's place and a cell were tried, and columns of rows in it for each model.

    With `keeps_all`, the pixels of all images are loaded, if they fit, and are there for the next pairs.
    """
    by_cell: dict[Cell, list[int]] = {}
    for pair, cell in enumerate(cells):
        by_cell.setdefault(cell, []).append(pair)
    order = np.concatenate([np.array(pairs) for pairs in by_cell.values()])
    example = runner.plan.images.example()
    opened = runner.open(models)
    columns_of = predict(
        _batches(runner, {cell: images[pairs] for cell, pairs in by_cell.items()}, keeps_all),
        torch.arange(len(order)),  # nothing is keyed by these: batches are corrupted when they arrive
        lambda batch, _: [batch],
        {name: opened[name] for name in models},
        example,
        runner.limit,
        runner.clock,
    )
    shared = {
        "corruption": np.array([cells[pair].entry for pair in order]),
        "severity": np.array([cells[pair].severity or 0 for pair in order], np.int16),
        "image_id": example.ids[images[order]],
        "label": example.labels[images[order]],
    }
    return order, {name: {**shared, **columns} for name, columns in columns_of.items()}


def _batches(runner: Runner, places_of: Mapping[Cell, np.ndarray], keeps_all: bool) -> Iterator[tuple[slice, Tensor]]:
    """Corrupted images of one cell after the other, in batches of at least as many as models take at once."""
    waiting: list[Tensor] = []
    start = stop = 0
    for cell, images in _corrupted(runner, places_of, keeps_all):
        waiting.append(images)
        stop += len(images)
        if stop - start >= runner.limit.size or cell == list(places_of)[-1]:
            yield slice(start, stop), torch.cat(waiting)
            waiting, start = [], stop


def _corrupted(runner: Runner, places_of: Mapping[Cell, np.ndarray], keeps_all: bool) -> Iterator[tuple[Cell, Tensor]]:
    """Only the pictures that are needed are decoded, each once, unless every cell has pictures of its own."""
    if runner.plan.images.are_corrupted:
        for cell, places in places_of.items():
            yield from _corrupted_alike(runner, {cell: places}, keeps_all=False)
    else:
        yield from _corrupted_alike(runner, places_of, keeps_all)


def _corrupted_alike(
    runner: Runner, places_of: Mapping[Cell, np.ndarray], keeps_all: bool
) -> Iterator[tuple[Cell, Tensor]]:
    cell = next(iter(places_of))
    source, cut = runner.plan.source(cell), runner.plan.cut(cell)
    needed, kept = np.arange(len(source)), None
    if keeps_all:
        pixels, ids = runner.load(source, cut)
        kept = pixels.images
    if kept is None:
        needed = np.unique(np.concatenate(list(places_of.values())))
        source = source.take(needed)
        decoder = runner.plan.settings.get("decoder", "pillow")
        pixels = load_pixels(source, cut, runner.device, runner.workers, decoder=decoder)
        ids = torch.from_numpy(source.ids)
        runner.kept = pixels.kept
        kept = pixels.images
    if kept is None:
        kept = torch.cat([batch for _, batch in pixels.batches(len(needed))])
    if not runner.limit.size:
        runner.limit.size = suitable_batch(pixels.shape[1:], runner.device)
    for cell, places in places_of.items():
        chosen = torch.from_numpy(np.searchsorted(needed, places))
        images = kept[chosen.to(kept.device)].to(runner.device)
        with runner.clock.part("corrupting"):
            (corrupted,) = runner.distort(cell)(images, ids[chosen.to(ids.device)].to(runner.device))
        yield cell, corrupted
