"""How fast COCO-C is made on a GPU, and which share of a detection evaluation that takes.

    python benchmarks/detection_gpu.py                    # an H200: about five minutes
    python benchmarks/detection_gpu.py --images 4 --times 1 --evaluated 2 --device cpu   # does it run?

Made pictures of 640 x 480 pixels are corrupted by all 75 cells of COCO-C: 5000 in each, which is COCO's validation set,
375 000 in all, without and with their boxes. Then torchvision's Faster R-CNN, with random weights, looks at some of
them in every cell, by `scuff.evaluate`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

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


def wait(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def find_nothing(images: list) -> list:
    """A detector that costs nothing."""
    empty = torch.zeros(0)
    return [{"boxes": torch.zeros(0, 4), "scores": empty, "labels": empty.long()} for _ in images]


def time_corrupting(folder: Path, device: torch.device, times: int) -> None:
    """Every cell, `times` over the pictures: images alone, and what their boxes add, on the pictures once."""
    source = scuff.open_source(f"coco:{folder}")
    pixels = load_sized(source, device)
    list(pixels.batches(CHUNK[device.type]))  # decoded and kept
    plan = plan_evaluation(find_nothing, "coco-c", source, "memory://nothing", task="detection")
    truth = Truth(source, plan, keeps=True)
    options = {"suite": plan.suite, "check": False}
    total = moving = 0.0
    by_entry: dict[str, list[float]] = {}
    for cell in plan.cells[1:]:
        batches = [(p, x, torch.from_numpy(source.ids[p]).to(device)) for p, x in pixels.batches(CHUNK[device.type])]
        corrupt(batches[0][1], cell.entry, cell.severity, ids=batches[0][2], **options)  # compiles
        started = wait(device)
        for _ in range(times):
            for _, images, ids in batches:
                corrupt(images, cell.entry, cell.severity, ids=ids, **options)
        taken = wait(device) - started
        started = wait(device)
        for places, images, ids in batches:
            truth.after(Cell(cell.entry, cell.severity), places, ids, images)
        moved = wait(device) - started
        total += taken
        moving += moved * times
        by_entry.setdefault(cell.entry, []).extend([taken, moved * times])
    count = len(source) * times * len(plan.cells[1:])
    for entry, seconds in by_entry.items():
        print(f"{entry:20s} {sum(seconds[::2]):7.2f} s images, {sum(seconds[1::2]):7.2f} s boxes")
    print(f"{count} images of {SIZE[1]} x {SIZE[0]} corrupted in {total:.1f} s: {count / total:.0f} per second")
    whole = 375_000 / count * (total + moving)
    print(f"moving their boxes takes {moving:.1f} s more; for 375 000 images {whole:.0f} s in all")


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
    parser.add_argument("--images", type=int, default=500, help="pictures that are made")
    parser.add_argument("--times", type=int, default=10, help="how often each is corrupted in every cell")
    parser.add_argument("--evaluated", type=int, default=64, help="pictures that the detector sees in every cell")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--model", default=MODEL)
    asked = parser.parse_args()
    place = torch.device(asked.device)
    with tempfile.TemporaryDirectory() as where:
        began = time.perf_counter()
        data = write_coco(Path(where) / "coco", paint_many(asked.images, sizes=(SIZE,)))
        print(f"{asked.images} pictures made in {time.perf_counter() - began:.1f} s; torch {torch.__version__}")
        time_corrupting(data, place, asked.times)
        time_evaluation(data, place, asked.evaluated, asked.model)
