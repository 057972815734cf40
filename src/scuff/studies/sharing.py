"""How many small trainings share a GPU: as many as are fastest together, which is measured.

A small network may leave most of a GPU idle. Two trainings at once then take little longer than one. A larger one, or
one whose steps are recorded, may fill the GPU alone, and two are slower than one after the other.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from scuff.engine import Advance, Run, needs_of
from scuff.environment import environment
from scuff.files import Stopped
from scuff.pool import Pool
from scuff.store import Store, read_settings, save_settings
from scuff.studies.cells import TrainingCell
from scuff.training.fit import begin, fit
from scuff.training.images import load_training_images, normalisation_of
from scuff.training.run import first_weights

FILE = "sharing.json"
COUNTS = (1, 2, 4)  # of trainings at once that are tried
SECONDS = 8.0  # of training, after all have warmed up
WARM_UP = 20  # steps, which compile
LOOKS = 10  # steps between two looks at the clock, each of which waits for the GPU
WORTHWHILE = 100  # trainings: with fewer, measuring takes longer than it saves
ENDLESS = 1_000_000  # epochs
GAIN = 1.1  # by which several must be faster than one

Trace = list[tuple[float, int]]  # times, and images that had been trained with


class _Enough(Exception):
    """Ends a training that was only tried."""


@dataclass(frozen=True)
class Trial:
    """A training of which nothing is kept but how fast it was. It ends some seconds after all trials have warmed up."""

    cell: TrainingCell
    seconds: float
    folder: str  # where trials, which run on one machine, leave a mark when they have warmed up
    count: int

    def __call__(self, number: int, advance: Advance) -> Trace:
        cell, device = self.cell, torch.device(self.cell.device)
        images = load_training_images(cell.source, cell.recipe, device)
        training = begin(first_weights(cell.recipe, images, cell.start, cell.seed), cell.recipe, device)
        trace: Trace = []
        began = math.inf  # all of them

        def look(step: int, steps: int) -> None:
            nonlocal began
            if step < WARM_UP or step % LOOKS:
                return
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            trace.append((time.time(), step * cell.recipe.batch_size))
            Path(self.folder, str(number)).touch()
            if began == math.inf and len(os.listdir(self.folder)) == self.count:
                began = time.time()
            if time.time() > began + self.seconds:
                raise _Enough

        recipe = replace(cell.recipe, epochs=ENDLESS)
        normalisation = normalisation_of(images, recipe, device)
        with contextlib.suppress(_Enough):
            fit(
                training,
                images.pixels,
                images.labels,
                recipe,
                normalisation=normalisation,
                treatment=cell.treatment,
                progress=look,
            )
        return trace


@dataclass(frozen=True)
class Together:
    """The work of a worker that has a GPU to itself: so many trainings at once, and the images per second of all."""

    cell: TrainingCell
    seconds: float = SECONDS

    def __call__(self, count: int, advance: Advance) -> float:
        with tempfile.TemporaryDirectory() as folder:
            pool = Pool(Trial(self.cell, self.seconds, folder, count), count)
            try:
                futures = [pool.submit(number) for number in range(count)]
                wait(futures, return_when=FIRST_EXCEPTION)
                return speed_together([future.result(timeout=0)[0] for future in futures])
            except (RuntimeError, MemoryError, TimeoutError):  # they do not fit side by side
                return 0.0
            finally:
                pool.close()


def speed_together(traces: Sequence[Trace]) -> float:
    """Images per second of several trainings, in the time in which all of them were running; 0 if there was none.

    >>> speed_together([[(0.0, 0), (2.0, 200), (4.0, 400)], [(1.0, 0), (5.0, 800)]])
    300.0
    """
    first, last = max(trace[0][0] for trace in traces), min(trace[-1][0] for trace in traces)
    if last <= first:
        return 0.0
    return sum(_images_between(trace, first, last) for trace in traces) / (last - first)


def _images_between(trace: Trace, first: float, last: float) -> float:
    times, images = zip(*trace, strict=True)
    return float(np.diff(np.interp([first, last], times, images))[0])


def choose_share(run: Run, store: Store, cells: Sequence[TrainingCell], device: torch.device) -> int:
    """How many trainings share a GPU: as the engine says, as was measured before, or as is measured now.

    What is measured is kept in the store, so that a study that is started again does not measure again.
    """
    if device.type != "cuda" or not cells:
        return 1
    if run.engine.share is not None:
        return run.engine.share
    recipe = {"recipe": cells[0].recipe.settings(), "images": cells[0].source.fingerprint()}
    if store.exists(FILE):
        before = read_settings(store, FILE)
        if all(before.get(key) == value for key, value in _plain(recipe).items()):
            return int(before["share"])
    if len(cells) < WORTHWHILE:
        return 1
    try:
        found = dict(run.cells("try", Together(cells[-1]), COUNTS, needs=needs_of(device), name="{} at once".format))
    except (Stopped, ValueError):  # what cannot even be tried is not shared
        found = {}
    run.failures[:] = [failure for failure in run.failures if failure.kind != "try"]  # they are none of the study
    share = fastest(found)
    speeds = {str(count): round(speed) for count, speed in sorted(found.items())}
    what = {"share": share, "images_per_second": speeds, "environment": environment(device)}
    save_settings(store, FILE, {**recipe, **what})
    return share


def fastest(speeds: Mapping[int, float]) -> int:
    """The number of trainings at once that is fastest, if it is clearly faster than one.

    >>> fastest({1: 81200, 2: 75900}), fastest({1: 1000, 2: 1900, 4: 2000})
    (1, 4)
    """
    best = max(speeds, key=speeds.get, default=1)
    return best if speeds.get(best, 0.0) >= GAIN * speeds.get(1, 0.0) else 1


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(settings))
