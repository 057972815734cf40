"""What an export will cost, found out by trying a few images."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import torch

from scuff.engine.cost import NOW, CellCost, StudyCost, in_this_folder, seconds_before
from scuff.environment import environment
from scuff.export.images import Batch, read_batches
from scuff.export.plan import Plan
from scuff.pool import threads_limited

TRIED = {"npy": 256, "npz": 256}  # images of arrays, which are corrupted by the thousand
TRIED_PICTURES = 4  # of other layouts
LOOKED_AT = 8  # times as many pictures as wanted, to find enough that can be read


@dataclass(frozen=True)
class ExportCost:
    """Outputs to make, their bytes, the seconds that one processor takes for them, and the images that were tried."""

    outputs: int
    bytes: int
    cpu_seconds: float
    tried: int


def estimate(plan: Plan) -> ExportCost:
    """Corrupt a few images by everything that is left, mildly, strongly and between, and extrapolate.

    Nothing is written. Seconds are those of the processor: waiting for slow disks comes on top. Without an image that
    can be read, bytes and seconds are 0, and so is `tried`.
    """
    work_left = {entry: left for entry, left in plan.work.left.items() if left.outputs}
    size, seconds, tried = 0.0, 0.0, 0
    with threads_limited(1):
        batches, reading = _sample(plan) if work_left else ([], 0.0)
        tried = sum(map(len, batches))
        for entry, left in work_left.items() if tried else ():
            levels = plan.levels[entry]
            chosen = sorted({0, len(levels) // 2, len(levels) - 1})
            bytes_each, seconds_each = _try(plan, batches, entry, [levels[place] for place in chosen])
            size += left.images * bytes_each
            seconds += left.reads * reading + left.images * seconds_each
    return ExportCost(plan.missing, round(size), seconds, tried)


def estimate_study(plan: Plan) -> StudyCost:
    """The same as the costs of cells; without an image that can be read, seconds are not known.

    Of an export that has begun, its journals tell how long cells take.
    """
    estimated, tasks = estimate(plan), plan.tasks
    before = seconds_before(plan.job.store, "corrupt")
    seconds, how = (estimated.cpu_seconds / max(tasks, 1), NOW) if estimated.tried else (math.nan, "not measured")
    if before is not None:
        seconds, how = before[0] / before[1], in_this_folder(before[1])
    machine = environment(torch.device("cpu"))["device"]
    return StudyCost((CellCost("corrupt", tasks, seconds, estimated.bytes / max(tasks, 1), "cpu", how),), machine)


def _sample(plan: Plan) -> tuple[list[Batch], float]:
    """Some images from all over the source, and the seconds that reading one of them takes."""
    read_batches(plan.job.images, plan.names[:1])  # the first one opens what it needs
    wanted = TRIED.get(plan.settings["layout"], TRIED_PICTURES)
    step = max(1, len(plan.names) // (LOOKED_AT * wanted))
    tried, began = [], time.process_time()
    places = sorted(range(0, len(plan.names), step), key=lambda place: (place // step) % LOOKED_AT)
    for place in places[: LOOKED_AT * wanted]:
        batches, _ = read_batches(plan.job.images, [plan.names[place]])
        tried += [image for batch in batches for image in batch]
        if len(tried) == wanted:
            break
    by_shape: dict[tuple[int, ...], Batch] = {}
    for name, pixels in tried:
        by_shape.setdefault(pixels.shape, []).append((name, pixels))
    return list(by_shape.values()), (time.process_time() - began) / max(1, len(tried))


def _try(plan: Plan, batches: list[Batch], entry: str, levels: list[int | None]) -> tuple[float, float]:
    """Bytes and seconds of one corrupted image. The first time does not count: it compiles and warms up."""
    plan.job.corrupt(batches[0][:1], entry, levels[0])
    began = time.process_time()
    made = [plan.job.corrupt(batch, entry, level) for level in levels for batch in batches]
    seconds = time.process_time() - began
    contents = [content for of_batch in made for content in of_batch.values()]
    return sum(map(len, contents)) / len(contents), seconds / len(contents)
