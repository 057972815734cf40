"""A whole evaluation on a GPU: 50 000 images of 224 pixels, ResNet-50, clean and the 75 cells of ImageNet-C.

    python benchmarks/evaluate_gpu.py [--images 50000] [--model torchvision:resnet50@random] [--no-compile] [--out DIR]
    python benchmarks/evaluate_gpu.py --agreement 500

Prints seconds and images per second from end to end, and what of it is fixed: planning, compiling, and the first batch
of every cell, which compiles kernels the first time on a machine. Weights are random and the images synthetic: neither
changes the speed. Without --out nothing is kept; with it, a second run goes on where the
first one stopped. --agreement trains torchvision's ResNet-50 for a moment instead, so that its decisions are not all
close calls, and prints on how many of so many images, in all cells, other precisions and compiling predict what float32
without compiling does.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from corruptions_gpu import pictures

import scuff
from scuff.data import Source, array_source
from scuff.evaluation import plan_evaluation, run_plan, runner
from scuff.evaluation.clock import Clock
from scuff.models import Classifier
from scuff.store import read_rows
from scuff.suites import load_suite

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
STEPS = 600  # of training: enough to tell the 32 classes from each other


def synthetic_images(count: int, size: int) -> np.ndarray:
    """uint8 (N, H, W, 3): the pictures of the other GPU benchmark, each shifted by its own number of pixels."""
    few = (pictures(256, size) * 255).round().to(torch.uint8).permute(0, 2, 3, 1).contiguous().numpy()
    return np.concatenate([np.roll(few, start // 256, axis=2) for start in range(0, count, 256)])[:count]


def source_of(count: int, size: int) -> Source:
    """The images as data; eight neighbouring pictures, shifted, are one class."""
    images, labels = synthetic_images(count, size), np.arange(count) % 256 // 8
    return array_source("synthetic", images, labels, [str(k) for k in range(1000)])


def trained_network(source: Source) -> Classifier:
    """ResNet-50 after a few steps on the images."""
    import torchvision

    torch.manual_seed(0)
    network = torchvision.models.resnet50(num_classes=1000).cuda().to(memory_format=torch.channels_last)
    classifier = Classifier(network, name="resnet50", mean=MEAN, std=STD)
    optimiser = torch.optim.SGD(network.parameters(), 0.05, momentum=0.9, weight_decay=5e-5)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 0.2, total_steps=STEPS)
    for step in range(STEPS):
        chosen = np.random.default_rng(step).integers(0, len(source), 128)
        x = classifier._as_input(source.read(chosen).cuda())
        with torch.autocast("cuda", torch.bfloat16):
            logits = network(x + 0.5 * torch.randn_like(x))
        loss = torch.nn.functional.cross_entropy(logits.float(), torch.from_numpy(source.labels[chosen]).cuda())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    print(f"trained to a loss of {loss.item():.3f}")
    return classifier.on("cuda")


def agreement(count: int, size: int, suite: str) -> None:
    """Shares of equal predictions, and how far confidences are apart, against a plain loop in float32."""
    source = source_of(count, size)
    classifier = trained_network(source)
    rows = {}
    for precision in ("float32", "bfloat16", "float16"):
        for compiled in (False, True):
            with tempfile.TemporaryDirectory() as out:
                plan = plan_evaluation(classifier, suite, source, out, precision=precision)
                timing = run_plan(plan, compile=compiled)
                names = [plan.rows_name(name, cell) for name in plan.classifiers for cell in plan.cells]
                rows[precision, compiled] = read_rows(plan.store, names)
            print(f"{precision}, {'compiled' if compiled else 'as it is'}: {'; '.join(timing.notes)}", flush=True)
    plain = rows["float32", False]
    right = (plain["prediction"] == plain["label"]).groupby(plain["corruption"]).mean()
    print(f"accuracy: clean {right['clean']:.3f}, corrupted {right.drop('clean').mean():.3f}; {len(plain)} predictions")
    loop = plain_loop(classifier, source, suite)
    same = (loop == plain["prediction"].to_numpy()).mean()
    tell(same >= 0.999, f"a plain loop, one batch after the other, predicts the same on {same:.4%} of images")
    for (precision, compiled), other in rows.items():
        same = (other["prediction"] == plain["prediction"]).mean()
        apart = (other["confidence"] - plain["confidence"]).abs()
        how = "compiled" if compiled else "as it is"
        print(
            f"{precision}, {how}: {same:.4%} equal; confidences {apart.median():.1e} apart, at most {apart.max():.1e}"
        )
        tell(other["confidence"].between(0, 1).all(), f"{precision}, {how}: all confidences lie between 0 and 1")
    least = (rows["float32", True]["prediction"] == plain["prediction"]).mean()
    tell(least >= 0.999, f"{least:.4%} of predictions are equal in float32, of 99.9 % that must be")


def plain_loop(classifier: Classifier, source: Source, suite: str) -> np.ndarray:
    """Predictions without anything of `scuff.evaluation`, in the order of its rows, waiting for the GPU every time."""
    images, ids = source.read(range(len(source))).cuda(), torch.from_numpy(source.ids).cuda()
    chosen, found = load_suite(suite).choose(None, None, False), []
    for entry, severity in [(None, None), *((entry, level) for entry, levels in chosen.items() for level in levels)]:
        for start in range(0, len(images), 256):
            part = slice(start, start + 256)
            seen = (
                images[part]
                if entry is None
                else scuff.corrupt(images[part], entry, severity, suite=suite, ids=ids[part])
            )
            found.append(classifier(seen).argmax(1).cpu().numpy())
    return np.concatenate(found)


class BatchClock(Clock):
    """A clock that also keeps how long corrupting each batch of each cell took."""

    cells: ClassVar[list[list[float]]] = []

    def seconds(self) -> dict[str, float]:
        events, batches = list(self._events), [0.0]
        found = super().seconds()  # which runs before and after each cell
        for part, first, last in events:
            if part == "predicting":
                batches.append(0.0)
            else:
                batches[-1] += first.elapsed_time(last) / 1000
        self.cells.extend([batches[:-1]] if len(batches) > 2 else [])
        return found


def tell(is_good: bool, what: str) -> None:
    print("PASS" if is_good else "!!!! FAIL !!!!", what, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=50_000)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--suite", default="imagenet-c")
    parser.add_argument("--model", nargs="+", default=["torchvision:resnet50@random"])
    parser.add_argument("--precision", default="bfloat16")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction)
    parser.add_argument("--agreement", type=int, metavar="IMAGES")
    parser.add_argument("--out")
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.agreement:
        agreement(options.agreement, options.size, options.suite)
        return

    runner.Clock = BatchClock
    source = source_of(options.images, options.size)
    with tempfile.TemporaryDirectory() as nowhere:
        start = time.perf_counter()
        plan = plan_evaluation(
            options.model,
            options.suite,
            source,
            options.out or nowhere,
            only=options.only,
            precision=options.precision,
        )
        planning = time.perf_counter() - start
        timing = run_plan(plan, batch_size=options.batch, compile=options.compile)
        rows = read_rows(plan.store, [plan.rows_name(name, cell) for name in plan.classifiers for cell in plan.cells])
        tell(rows["confidence"].between(0, 1).all(), "all confidences lie between 0 and 1")
    whole = [batches[:-1] or batches for batches in BatchClock.cells]  # the last batch may be short
    steady = [statistics.median(batches) for batches in whole]
    first = sum(batches[0] - usual for batches, usual in zip(whole, steady, strict=True))
    corrupted = [usual for usual in steady if usual > 1e-4 * max(steady)]  # without the clean images
    result = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "models": list(plan.classifiers),
        "cells": len(plan.cells),
        "images": options.images,
        "precision": options.precision,
        "compiled": timing.notes,
        "batch": timing.batch_size,
        "pixels": timing.pixels,
        "planning_s": round(planning, 1),
        "seconds": round(timing.seconds, 1),
        "planning_and_all_s": round(planning + timing.seconds, 1),
        "first_batches_s": round(first, 1),
        "corrupting_us_after_them": round(1e6 * statistics.mean(corrupted) / timing.batch_size, 2),
        "predictions": timing.predictions,
        "predictions_per_s": round(timing.per_second),
        "corrupting_s": round(timing.corrupting, 1),
        "predicting_s": round(timing.predicting, 1),
        "corrupting_share": round(timing.corrupting_share, 3),
        "gpu_memory_gib": round(torch.cuda.max_memory_reserved() / 2**30, 1),
    }
    print(json.dumps(result, indent=2))
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
