"""How fast COCO-C is made on a GPU, and which share of a detection evaluation that takes.

    python benchmarks/detection_gpu.py                    # an H200: about a minute
    python benchmarks/detection_gpu.py --images 4 --copies 1 --evaluated 2 --device cpu   # does it run?

Made pictures of 640 x 480 pixels are corrupted by all 75 cells of COCO-C, without and with their boxes: a few pictures
again and again, by other draws, and the time for 375 000 is worked out, as many as COCO's validation set makes. Then
torchvision's Faster R-CNN, with random weights, looks at some of them in every cell, by `scuff.evaluate`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import scuff
from scuff.data.sized import load_sized
from scuff.door import CHUNK, corrupt
from scuff.evaluation import Cell, plan_evaluation, run_plan
from scuff.evaluation.truth import Truth

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
from painted_shapes import paint_many, write_coco

SIZE = (480, 640)
MODEL = "torchvision:fasterrcnn_resnet50_fpn@random"
NAMES = ("clock", "tv", "kite")  # classes that a detector of COCO knows


def wait(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def find_nothing(images: list) -> list:
    """A detector that costs nothing."""
    empty = torch.zeros(0)
    return [{"boxes": torch.zeros(0, 4), "scores": empty, "labels": empty.long()} for _ in images]


def time_corrupting(folder: Path, device: torch.device, copies: int) -> None:
    """Every cell, on `copies` of all pictures: images alone, and what their boxes add."""
    source = scuff.open_source(f"coco:{folder}")
    ((places, pictures),) = load_sized(source, device).batches(1 << 40)
    plan = plan_evaluation(find_nothing, "coco-c", source, "memory://nothing", task="detection")
    truth = Truth(source, plan, keeps=True)
    step = max(1, CHUNK[device.type] // pictures[0].numel())
    where = np.tile(places, copies)
    numbers = torch.arange(len(where), device=device)
    batches = [(where[k : k + step], numbers[k : k + step]) for k in range(0, len(where), step)]
    seconds: dict[str, list[float]] = {}
    for cell in plan.cells[1:]:
        images = pictures[torch.from_numpy(batches[0][0]).to(device)]
        for timed in (False, True):  # kernels are compiled first
            started = wait(device)
            for _, ids in batches if timed else batches[:1]:
                corrupt(images[: len(ids)], cell.entry, cell.severity, ids=ids, suite=plan.suite, check=False)
            made = wait(device)
            for some, ids in batches if timed else batches[:1]:
                truth.after(Cell(cell.entry, cell.severity), some, ids, images[: len(ids)])
            moved = wait(device)
        sums = seconds.setdefault(cell.entry, [0.0, 0.0])
        sums[0], sums[1] = sums[0] + made - started, sums[1] + moved - made
    for entry, (making, moving) in seconds.items():
        print(f"{entry:20s} {making:7.2f} s images, {moving:7.2f} s boxes")
    count = len(where) * len(plan.cells[1:])
    making, moving = (sum(of) for of in zip(*seconds.values(), strict=True))
    boxes = sum(len(source.objects[place]) for place in places) / len(places)
    print(f"{count} images of {SIZE[1]} x {SIZE[0]} corrupted in {making:.1f} s: {count / making:.0f} per second")
    print(f"moving their boxes, {boxes:.1f} per picture, takes {moving:.1f} s more")
    print(f"for 375 000 images {375_000 / count * (making + moving):.0f} s in all")


def time_evaluation(folder: Path, device: torch.device, evaluated: int, model: str) -> None:
    """The share of corrupting, boxes included, in a whole evaluation."""
    with tempfile.TemporaryDirectory() as out:
        options = {"task": "detection", "limit": evaluated, "device": str(device), "batch_size": 16}
        plan = plan_evaluation(model, "coco-c", f"coco:{folder}", out, **options)
        started = wait(device)
        timing = run_plan(plan)
        seconds = wait(device) - started
        print(
            f"{timing.predictions} predictions by {model} in {seconds:.1f} s: corrupting {timing.corrupting:.1f} s, "
            f"predicting {timing.predicting:.1f} s; corrupting took {100 * timing.corrupting_share:.1f} % of the work"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=43, help="pictures that are made")
    parser.add_argument("--copies", type=int, default=10, help="how often each is corrupted in every cell")
    parser.add_argument("--evaluated", type=int, default=32, help="pictures that the detector sees in every cell")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--model", default=MODEL)
    asked = parser.parse_args()
    place = torch.device(asked.device)
    with tempfile.TemporaryDirectory() as where:
        began = time.perf_counter()
        data = write_coco(Path(where) / "coco", paint_many(asked.images, sizes=(SIZE,)), names=NAMES)
        print(f"{asked.images} pictures made in {time.perf_counter() - began:.1f} s; torch {torch.__version__}")
        time_corrupting(data, place, asked.copies)
        time_evaluation(data, place, asked.evaluated, asked.model)
