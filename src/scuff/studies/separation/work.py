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
from scuff.engine.cost import Estimate, StudyCost, size_in_memory
from scuff.metrics.norms import norm_name
from scuff.metrics.separation.robust_accuracies import RobustAccuracies
from scuff.store import Settings
from scuff.studies.cost import Trial, try_recipe
from scuff.studies.separation import cells as mscr
from scuff.studies.separation.cells import MscrCell, Protocol
from scuff.studies.separation.distances import describe_points
from scuff.studies.separation.models import Estimator, Network
from scuff.studies.separation.results import collect

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
        protocol = self.protocol
        journals = protocol.store if len(protocol.contenders) == 1 else None
        estimate = Estimate(torch.device(protocol.device), journals, threads=1)
        alike: dict[tuple, list[MscrCell]] = defaultdict(list)  # cells that take the same time
        for cell in self.missing():
            alike[cell.model, cell.copies, cell.train_noise > 0].append(cell)
        for cells in alike.values():
            cell, contender = cells[0], protocol.contenders[cells[0].model]
            _, test = protocol.split(cell.run)
            right = np.random.default_rng(0).binomial(cell.copies, 0.8, (len(protocol.test_noise), len(test)))
            written = partial(mscr.write_result, right=right, rows=test)  # if most copies are recognised
            size: float = size_in_memory(cell.file, written)
            if isinstance(contender, Network):  # whose weights are shared by all numbers of copies
                weights = _trial(protocol, cell, torch.device("cpu")).size({"recipe": contender.model.settings()})
                size += weights / len(self.settings["copies"])
            if isinstance(contender, Estimator):
                fit, device = partial(_time_estimator, protocol, cell, contender), torch.device("cpu")
                estimate.add("fit", fit, size, cell.model, cells=len(cells), device=device)
            else:
                train = partial(_time_network, protocol, cell, estimate)
                estimate.add("fit", train, size, cell.model, cells=len(cells))
        mscr.forget()
        return estimate.total()


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


def _trial(protocol: Protocol, cell: MscrCell, device: torch.device) -> Trial:
    """A trial with training images of a network."""
    return try_recipe(protocol.images(protocol.split(cell.run)[0]), protocol.contenders[cell.model].model, device)


def _time_network(protocol: Protocol, cell: MscrCell, estimate: Estimate) -> float:
    """Seconds of a cell: its training, if there is one, and its tests."""
    device, (train, test) = estimate.device, protocol.split(cell.run)
    training, contender = 0.0, protocol.contenders[cell.model]
    if isinstance(contender, Network):
        trial = _trial(protocol, cell, device)
        training = trial.seconds(estimate, protocol.treatment(cell), len(train))
        classifier = mscr.on_device(trial.classifier(), trial.recipe, device)
    else:
        classifier = contender.model.on(device)
    few = test[: TESTED_IMAGES.get(device.type, TESTED_IMAGES["cpu"])]
    testing = estimate.time(cell, lambda: lambda: mscr.count_right(protocol, cell, classifier, few))
    return training + testing * len(test) / len(few)
