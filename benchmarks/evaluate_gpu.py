"""A whole evaluation on a GPU: 50 000 images of 224 pixels, ResNet-50, clean and the 75 cells of ImageNet-C.

    python benchmarks/evaluate_gpu.py [--images 50000] [--model torchvision:resnet50@random] [--compile] [--out DIR]

Prints images per second from end to end, and the share of corrupting in the work of the device. Weights are random and
the images synthetic: neither changes the speed. Without --out nothing is kept; with it, a second run goes on where the
first one stopped.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from corruptions_gpu import pictures

from scuff.data import array_source
from scuff.evaluation import plan_evaluation, run_plan


def synthetic_images(count: int, size: int) -> np.ndarray:
    """uint8 (N, H, W, 3): the pictures of the other GPU benchmark, each shifted by its own number of pixels."""
    few = (pictures(256, size) * 255).round().to(torch.uint8).permute(0, 2, 3, 1).contiguous().numpy()
    return np.concatenate([np.roll(few, start // 256, axis=2) for start in range(0, count, 256)])[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=50_000)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--suite", default="imagenet-c")
    parser.add_argument("--model", nargs="+", default=["torchvision:resnet50@random"])
    parser.add_argument("--precision", default="bfloat16")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--out")
    parser.add_argument("--json")
    options = parser.parse_args()

    images = synthetic_images(options.images, options.size)
    source = array_source("synthetic", images, np.arange(options.images) % 1000, [str(k) for k in range(1000)])
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
    result = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "models": list(plan.classifiers),
        "cells": len(plan.cells),
        "images": options.images,
        "precision": options.precision,
        "compiled": options.compile,
        "batch": timing.batch_size,
        "pixels": timing.pixels,
        "planning_s": round(planning, 1),
        "seconds": round(timing.seconds, 1),
        "predictions": timing.predictions,
        "predictions_per_s": round(timing.per_second),
        "corrupting_s": round(timing.corrupting, 1),
        "predicting_s": round(timing.predicting, 1),
        "corrupting_share": round(timing.corrupting_share, 3),
    }
    print(json.dumps(result, indent=2))
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
