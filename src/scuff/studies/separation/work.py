"""What a study of MSCR has to do: train and test what is missing, gather the accuracies, and what this will cost.

Networks are trained for a few steps and tested on a few points. How the time of an estimator grows with its points is
not known: it is fitted to more and more of them, until it has had all, or a few seconds have passed.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch

from scuff.engine import Run, needs_of
from scuff.engine.cost import NOW, CellCost, StudyCost, in_this_folder, is_here, kind_of, seconds_before, time_warm
from scuff.environment import environment
from scuff.metrics.norms import norm_name
from scuff.metrics.separation.robust_accuracies import RobustAccuracies
from scuff.pool import threads_limited
from scuff.store import Settings
from scuff.studies.separation import cells as mscr
from scuff.studies.separation.cells import MscrCell, Protocol
from scuff.studies.separation.distances import describe_points
from scuff.studies.separation.models import Estimator, Network
from scuff.studies.separation.results import collect
from scuff.studies.training_cost import Trial, try_recipe
from scuff.training.fit import count_steps

FIRST_POINTS = 500  # points that an estimator is fitted to at first
TRIAL_SECONDS = 2.0  # a fit that takes longer is not repeated with more points
TESTED_IMAGES = {"cpu": 64, "cuda": 2048}  # by device


@dataclass(frozen=True, eq=False)
class MscrWork:
    """The cells of a study, and what they share."""

    settings: Settings = field(repr=False)
    protocol: Protocol
    cells: list[MscrCell] = field(repr=False)

    def missing(self) -> list[MscrCell]:
        """The cells that are not computed yet."""
        existing = set(self.protocol.store.names("cells", ".npz"))
        return [cell for cell in self.cells if cell.file not in existing]

    def run(self, run: Run) -> None:
        """Compute missing cells: first those that need no GPU, then the others."""
        missing = self.missing()
        run.expect("fit", len(self.cells), len(self.cells) - len(missing))
        for on_gpu in (False, True):
            cells = [cell for cell in missing if self.protocol.uses_gpu(cell) == on_gpu]
            needs = needs_of(torch.device(self.protocol.device if on_gpu else "cpu"))
            done = run.cells("fit", partial(mscr.run_cell, self.protocol), cells, needs=needs, name=str)
            try:
                with contextlib.closing(done):
                    for _ in done:
                        pass
            finally:
                mscr.forget()

    def collect(self) -> RobustAccuracies:
        """The accuracies of all cells in the folder, those of earlier runs among them."""
        return collect(self.protocol.store, self.settings)

    def describe(self) -> Iterator[str]:
        """Data, radius, models, noise, runs and trainings."""
        settings, protocol = self.settings, self.protocol
        yield describe_points(protocol.points)
        yield f"epsilon_min: {settings['epsilon_min']:.6g} ({norm_name(protocol.norm)})"
        yield f"Models: {', '.join(protocol.contenders)}"
        for key, what in (("train_noise", "Training noise"), ("test_noise", "Test noise")):
            yield f"{what}: {', '.join(f'{radius:.4g}' for radius in settings[key])}"
        copies = ", ".join(map(str, settings["copies"]))
        yield f"Runs: {len(settings['runs'])}; copies of each point: {copies}; offsets: {settings['offsets']}"
        done = len(self.cells) - len(self.missing())
        yield f"Trainings with tests: {len(self.cells)}, {done} done already; in {protocol.store.root}"

    def cost(self) -> StudyCost:
        """The trainings with their tests that are left. Nothing is written."""
        protocol, device = self.protocol, torch.device(self.protocol.device)
        before = seconds_before(protocol.store, "fit") if len(protocol.contenders) == 1 else None
        alike: dict[tuple, list[MscrCell]] = defaultdict(list)  # cells that take the same time
        for cell in self.missing():
            alike[cell.model, cell.copies, cell.train_noise > 0].append(cell)
        parts, warm_up = [], 0.0
        with threads_limited(1 if device.type == "cpu" else None):
            for cells in alike.values():
                cell, contender = cells[0], protocol.contenders[cells[0].model]
                train, test = protocol.split(cell.run)
                random = np.random.default_rng(0).binomial(cell.copies, 0.8, (len(protocol.test_noise), len(test)))
                size: float = len(mscr.pack_result(random, test))  # if most copies are recognised
                trial = None
                if isinstance(contender, Network):
                    measures = before is None and is_here(device)
                    where = device if measures else torch.device("cpu")  # where only sizes are asked for
                    trial = try_recipe(protocol.images(train), contender.model, where)
                    weights = trial.size({"recipe": contender.model.settings()})
                    size += weights / len(self.settings["copies"])  # all numbers of copies share them
                if before is not None:
                    seconds, how = before[0] / before[1], in_this_folder(before[1])
                elif isinstance(contender, Estimator):
                    seconds, how = _time_estimator(protocol, cell, contender)
                elif not is_here(device):
                    seconds, how = math.nan, f"not measured: there is no {device.type} here"
                else:
                    seconds, more = _time_network(protocol, cell, trial)
                    warm_up, how = max(warm_up, more), NOW
                kind = "cpu" if isinstance(contender, Estimator) else kind_of(device)
                parts.append(CellCost("fit", len(cells), seconds, size, kind, how, cell.model))
        mscr.forget()
        return StudyCost(tuple(parts), environment(device)["device"], warm_up)


def _time_estimator(protocol: Protocol, cell: MscrCell, contender: Estimator) -> tuple[float, str]:
    """Seconds of a cell, and how they were obtained."""
    rows = protocol.split(cell.run)
    share = min(1.0, FIRST_POINTS / max(map(len, rows)))
    while True:
        random = np.random.default_rng(0)
        train, test = (random.permutation(part)[: math.ceil(share * len(part))] for part in rows)
        began = time.perf_counter()
        mscr.count_right(protocol, cell, mscr.fit_estimator(protocol, cell, contender, train), test)
        seconds = time.perf_counter() - began
        if share == 1.0:
            return seconds, "measured now on one cell"
        if seconds > TRIAL_SECONDS:
            return seconds / share, f"measured now on {share:.0%} of the points, and taken to grow in proportion"
        share = min(1.0, 2 * share)


def _time_network(protocol: Protocol, cell: MscrCell, trial: Trial | None) -> tuple[float, float]:
    """Seconds of a cell, and those that the first one takes longer; without a trial, of a model trained already."""
    device, (train, test) = torch.device(protocol.device), protocol.split(cell.run)
    training = warm_up = 0.0
    if trial is None:
        classifier = protocol.contenders[cell.model].model.on(device)
    else:
        step, warm_up = trial.step()
        images = count_steps(trial.recipe, len(train)) * trial.recipe.batch_size
        training = images * (step + trial.treating(protocol.treatment(cell)))
        classifier = mscr.on_device(trial.classifier(), trial.recipe, device)
    few = test[: TESTED_IMAGES.get(device.type, TESTED_IMAGES["cpu"])]
    testing, more = time_warm(lambda: mscr.count_right(protocol, cell, classifier, few), device)
    return training + testing * len(test) / len(few), warm_up + more
