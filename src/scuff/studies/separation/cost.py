"""What a study of MSCR will cost.

Networks are trained for a few steps and tested on a few points. How the time of an estimator grows with its points is
not known: it is fitted to more and more of them, until it has had all, or a few seconds have passed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch

from scuff.engine.cost import NOW, CellCost, StudyCost, in_this_folder, is_here, kind_of, seconds_before, time_warm
from scuff.environment import environment
from scuff.models import Classifier
from scuff.pool import threads_limited
from scuff.studies.separation.cells import (
    MscrCell,
    fit_estimator,
    forget,
    pack_result,
    points_source,
    right_by_estimator,
    right_by_network,
)
from scuff.studies.separation.models import Estimator, Given, Network
from scuff.studies.training_cost import Trial, try_recipe
from scuff.training.fit import count_steps
from scuff.training.treatment import Noise

if TYPE_CHECKING:
    from scuff.studies.separation.work import MscrWork

FIRST_POINTS = 500  # points that an estimator is fitted to at first
TRIAL_SECONDS = 2.0  # a fit that takes longer is not repeated with more points
TESTED_IMAGES = {"cpu": 64, "cuda": 2048}  # by device


def estimate_mscr(work: MscrWork) -> StudyCost:
    """The trainings and tests that are left. Nothing is written."""
    protocol, missing = work.protocol, work.missing()
    device = torch.device(protocol.device)
    machine = environment(device)["device"]
    before = seconds_before(protocol.store, "fit") if len(protocol.contenders) == 1 else None
    parts: list[CellCost] = []
    warm_up = 0.0
    with threads_limited(1 if device.type == "cpu" else None):
        for cells in _alike(missing):
            cell, contender = cells[0], protocol.contenders[cells[0].model]
            on = kind_of(device) if not isinstance(contender, Estimator) else "cpu"
            size = _result_size(work, cell)
            if isinstance(contender, Network):
                size += _weights_size(work, cells)  # type: ignore[assignment]
            if before is not None:
                seconds, how = before[0] / before[1], in_this_folder(before[1])
            elif isinstance(contender, Estimator):
                seconds, how = _time_estimator(work, cell)
            elif not is_here(device):
                seconds, how = math.nan, f"not measured: there is no {device.type} here"
            else:
                seconds, more = _time_network(work, cell)
                warm_up, how = max(warm_up, more), NOW
            parts.append(CellCost("fit", len(cells), seconds, size, on, how, cell.model))
    forget()
    return StudyCost(tuple(parts), machine, warm_up)


def _alike(cells: list[MscrCell]) -> Iterator[list[MscrCell]]:
    """Cells that take the same time: of one model, with as many copies, with or without noise."""
    groups: dict[tuple, list[MscrCell]] = {}
    for cell in cells:
        groups.setdefault((cell.model, cell.copies, cell.train_noise > 0), []).append(cell)
    yield from groups.values()


def _result_size(work: MscrWork, cell: MscrCell) -> int:
    """Bytes of a cell's file, if most copies are recognised."""
    _, test = work.protocol.split(cell.run)
    random = np.random.default_rng(0)
    shape = (len(work.protocol.test_noise), len(test))
    return len(pack_result(random.binomial(cell.copies, 0.8, shape), test))


def _time_estimator(work: MscrWork, cell: MscrCell) -> tuple[float, str]:
    """Seconds of a cell, and how they were obtained."""
    protocol, contender = work.protocol, work.protocol.contenders[cell.model]
    rows = protocol.split(cell.run)
    share = min(1.0, FIRST_POINTS / max(map(len, rows)))
    while True:
        random = np.random.default_rng(0)
        train, test = (random.permutation(part)[: math.ceil(share * len(part))] for part in rows)
        began = time.perf_counter()
        right_by_estimator(protocol, cell, fit_estimator(protocol, cell, contender, train), test)  # type: ignore[arg-type]
        seconds = time.perf_counter() - began
        if share == 1.0:
            return seconds, "measured now on one cell"
        if seconds > TRIAL_SECONDS:
            return seconds / share, f"measured now on {share:.0%} of the points, and taken to grow in proportion"
        share = min(1.0, 2 * share)


def _trial(work: MscrWork, cell: MscrCell, device: torch.device) -> tuple[Trial, int]:
    """A trial with training images of a network, and how many there are in all."""
    train, _ = work.protocol.split(cell.run)
    recipe = work.protocol.contenders[cell.model].recipe  # type: ignore[union-attr]
    return try_recipe(points_source(work.protocol.points, train), recipe, device), len(train)


def _time_network(work: MscrWork, cell: MscrCell) -> tuple[float, float]:
    """Seconds of a cell, and those that the first one takes longer."""
    protocol, contender = work.protocol, work.protocol.contenders[cell.model]
    device, training, warm_up = torch.device(protocol.device), 0.0, 0.0
    if isinstance(contender, Given):
        classifier: Classifier = contender.classifier.on(device)
    else:
        trial, images = _trial(work, cell, device)
        recipe = contender.recipe  # type: ignore[union-attr]
        treatment = Noise(cell.train_noise, protocol.norm, protocol.bounds) if cell.train_noise else None
        step, warm_up = trial.step()
        steps = count_steps(recipe, images)
        training = steps * recipe.batch_size * (step + trial.treating(treatment))
        on_gpu = device.type == "cuda"
        precision = recipe.precision if on_gpu else "float32"
        classifier = trial.classifier().on(device, precision, compile=recipe.compile and on_gpu)
    _, test = protocol.split(cell.run)
    few = test[: TESTED_IMAGES.get(device.type, TESTED_IMAGES["cpu"])]
    testing, more = time_warm(lambda: right_by_network(protocol, cell, classifier, few), device)
    return training + testing * len(test) / len(few), warm_up + more


def _weights_size(work: MscrWork, cells: list[MscrCell]) -> float:
    """Bytes of a network's weights, per cell: numbers of copies share them."""
    trial, _ = _trial(work, cells[0], torch.device("cpu"))
    shared = len(work.settings["copies"])
    return trial.size({"recipe": trial.recipe.settings()}) / shared
