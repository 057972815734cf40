"""What an export will cost, found out by trying a few images."""

from __future__ import annotations

import math
import time

import torch

from scuff.engine.cost import Estimate, StudyCost
from scuff.export.images import Batch, read_batches
from scuff.export.plan import Plan
from scuff.pool import threads_limited

TRIED = {"npy": 256, "npz": 256}  # images of arrays, which are corrupted by the thousand
TRIED_PICTURES = 4  # of other layouts
LOOKED_AT = 8  # times as many pictures as wanted, to find enough that can be read


def estimate(plan: Plan) -> StudyCost:
    """Corrupt a few images by everything that is left, mildly, strongly and between, and extrapolate.

    Nothing is written. Seconds are those of the processor: waiting for slow disks comes on top. Without an image that
    can be read, bytes are 0 and seconds are not known. Of an export that has begun, its journals tell how long cells
    take.
    """
    cost, tasks = Estimate(torch.device("cpu"), plan.job.store, threads=1), plan.tasks
    if not tasks:
        return cost.total()
    size, seconds = 0.0, 0.0
    with threads_limited(1):
        batches, reading = _sample(plan)
        tried = sum(map(len, batches))
        for entry, left in plan.work.left.items():
            if left.outputs and tried:
                levels = plan.levels[entry]
                chosen = sorted({0, len(levels) // 2, len(levels) - 1})
                bytes_each, seconds_each = _try(plan, batches, entry, [levels[place] for place in chosen])
                size += left.images * bytes_each
                seconds += left.reads * reading + left.images * seconds_each
    how = f"measured now on {tried} image{'' if tried == 1 else 's'}" if tried else "not measured"
    cost.add("corrupt", lambda: (seconds / tasks if tried else math.nan, how), size / tasks, cells=tasks)
    return cost.total()


def _sample(plan: Plan) -> tuple[list[Batch], float]:
    """Some images from all over the source, and the seconds that reading one of them takes."""
    read_batches(plan.job.images, plan.names[:1])  # the first one opens what it needs
    wanted = TRIED.get(plan.settings["layout"], TRIED_PICTURES)
    step = max(1, len(plan.names) // (LOOKED_AT * wanted))
    places = sorted(range(0, len(plan.names), step), key=lambda place: (place // step) % LOOKED_AT)
    by_shape: dict[tuple[int, ...], Batch] = {}
    count, began = 0, time.process_time()
    for place in places[: LOOKED_AT * wanted]:
        for batch in read_batches(plan.job.images, [plan.names[place]])[0]:
            by_shape.setdefault(batch[0][1].shape, []).extend(batch)
            count += 1
        if count == wanted:
            break
    return list(by_shape.values()), (time.process_time() - began) / max(1, count)


def _try(plan: Plan, batches: list[Batch], entry: str, levels: list[int | None]) -> tuple[float, float]:
    """Bytes and seconds of one corrupted image. The first time does not count: it compiles and warms up."""
    plan.job.corrupt(batches[0][:1], entry, levels[0])
    began = time.process_time()
    made = [plan.job.corrupt(batch, entry, level) for level in levels for batch in batches]
    seconds = time.process_time() - began
    contents = [content for of_batch in made for content in of_batch.values()]
    return sum(map(len, contents)) / len(contents), seconds / len(contents)
