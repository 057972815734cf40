"""What an evaluation will cost, found out by trying a few images."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch

from scuff.environment import environment, find_device
from scuff.evaluation.clock import Clock
from scuff.evaluation.plan import Plan
from scuff.evaluation.predict import predict
from scuff.evaluation.runner import Runner, suitable_batch

TRIED = {"cpu": 8, "cuda": 128}  # images per entry


@dataclass(frozen=True)
class Cost:
    """Predictions to make, the seconds that they may take, and on what."""

    predictions: int
    seconds: float
    device: str


def estimate(plan: Plan, device: str | torch.device | None = None) -> Cost:
    """Run some images through one severity of every entry that is left, and extrapolate.

    Everything is tried twice, and the second time counts: the first one compiles and warms up.
    """
    device = find_device(device)
    missing = plan.missing()
    runner = Runner(plan, missing, device)
    seconds: dict[str, float] = {}
    for cell, models in missing.items():
        if cell.entry not in seconds:
            source = plan.source(cell)
            tried = source.take(range(min(len(source), TRIED.get(device.type, 8))))
            images = tried.read(range(len(tried)), runner.pixels_cut(cell)).to(device)
            ids = torch.from_numpy(tried.ids).to(device)
            classifiers = {name: runner.classifiers[name] for name in models}
            runner.limit.size = suitable_batch(images.shape[1:], device)
            for _ in range(2):
                start = time.perf_counter()
                batch = [(slice(0, len(images)), images)]
                predict(batch, ids, runner.distort(cell), classifiers, source, runner.limit, Clock(device))
                seconds[cell.entry] = (time.perf_counter() - start) / len(images)
    images = plan.settings["images"]
    return Cost(
        images * sum(map(len, missing.values())),
        images * sum(seconds[cell.entry] for cell in missing),
        environment(device)["device"],
    )
