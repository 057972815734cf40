"""What a study of MSCR will cost.

Networks are trained for a few steps and tested on a few points. How the time of an estimator grows with its points is
not known: it is fitted to more and more of them, until it has had all, or a few seconds have passed.
"""

from __future__ import annotations

import math
import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from scuff.engine.cost import Estimate, StudyCost
from scuff.studies.cost import Trial, try_recipe
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
from scuff.training.treatment import Noise

if TYPE_CHECKING:
    from scuff.studies.separation.work import MscrWork

FIRST_POINTS = 500  # points that an estimator is fitted to at first
TRIAL_SECONDS = 2.0  # a fit that takes longer is not repeated with more points
TESTED_IMAGES = {"cpu": 64, "cuda": 2048}  # by device


def estimate_mscr(work: MscrWork) -> StudyCost:
    """The trainings and tests that are left. Nothing is written."""
    protocol = work.protocol
    journals = protocol.store if len(protocol.contenders) == 1 else None
    estimate = Estimate(torch.device(protocol.device), journals, threads=1)
    alike: dict[tuple, list[MscrCell]] = {}  # cells that take the same time
    for cell in work.missing():
        alike.setdefault((cell.model, cell.copies, cell.train_noise > 0), []).append(cell)
    for cells in alike.values():
        cell, contender = cells[0], protocol.contenders[cells[0].model]
        size: float = _result_size(work, cell)
        if isinstance(contender, Network):  # whose weights are shared by all numbers of copies
            trial = _trial(work, cell, contender, torch.device("cpu"))
            size += trial.size({"recipe": contender.recipe.settings()}) / len(work.settings["copies"])
        if isinstance(contender, Estimator):
            fit, device = partial(_time_estimator, work, cell, contender), torch.device("cpu")
            estimate.add("fit", fit, size, cell.model, cells=len(cells), device=device)
        else:
            train = partial(_time_network, work, cell, contender, estimate)
            estimate.add("fit", train, size, cell.model, cells=len(cells))
    forget()
    return estimate.total()


def _result_size(work: MscrWork, cell: MscrCell) -> int:
    """Bytes of a cell's file, if most copies are recognised."""
    _, test = work.protocol.split(cell.run)
    random = np.random.default_rng(0)
    shape = (len(work.protocol.test_noise), len(test))
    return len(pack_result(random.binomial(cell.copies, 0.8, shape), test))


def _time_estimator(work: MscrWork, cell: MscrCell, contender: Estimator) -> tuple[float, str]:
    """Seconds of a cell, and how they were obtained."""
    protocol = work.protocol
    rows = protocol.split(cell.run)
    share = min(1.0, FIRST_POINTS / max(map(len, rows)))
    while True:
        random = np.random.default_rng(0)
        train, test = (random.permutation(part)[: math.ceil(share * len(part))] for part in rows)
        began = time.perf_counter()
        right_by_estimator(protocol, cell, fit_estimator(protocol, cell, contender, train), test)
        seconds = time.perf_counter() - began
        if share == 1.0:
            return seconds, "measured now on one cell"
        if seconds > TRIAL_SECONDS:
            return seconds / share, f"measured now on {share:.0%} of the points, and taken to grow in proportion"
        share = min(1.0, 2 * share)


def _trial(work: MscrWork, cell: MscrCell, contender: Network, device: torch.device) -> Trial:
    """A trial with training images of a network."""
    train, _ = work.protocol.split(cell.run)
    return try_recipe(points_source(work.protocol.points, train), contender.recipe, device)


def _time_network(work: MscrWork, cell: MscrCell, contender: Network | Given, estimate: Estimate) -> float:
    """Seconds of a cell: its training, if there is one, and its tests."""
    protocol, device, training = work.protocol, estimate.device, 0.0
    train, test = protocol.split(cell.run)
    if isinstance(contender, Given):
        classifier = contender.classifier.on(device)
    else:
        trial, recipe, on_gpu = _trial(work, cell, contender, device), contender.recipe, device.type == "cuda"
        treatment = Noise(cell.train_noise, protocol.norm, protocol.bounds) if cell.train_noise else None
        training = trial.seconds(estimate, treatment, len(train))
        precision = recipe.precision if on_gpu else "float32"
        classifier = trial.classifier().on(device, precision, compile=recipe.compile and on_gpu)
    few = test[: TESTED_IMAGES.get(device.type, TESTED_IMAGES["cpu"])]
    testing = estimate.time(cell, lambda: lambda: right_by_network(protocol, cell, classifier, few))
    return training + testing * len(test) / len(few)
