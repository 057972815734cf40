"""What a sample of an evaluation loses in speed on a GPU, where a batch mixes cells: predictions per second of both.

    python benchmarks/sample_gpu.py [--images 20000] [--full 4000] [--passes 100000] [--model ADDRESS]

The full run sees all 76 cells of ImageNet-C on some of the images, the sample takes its passes from all of them. Each
has run once before, so that nothing compiles. Weights are random and images synthetic. A sample should reach 0.7 of the
full run; its first passes also move the images to the device, which a full run spreads over 76 cells.
"""

from __future__ import annotations

import argparse
import json
import tempfile

import numpy as np
import torch
from evaluate_gpu import synthetic_images

from scuff.data import array_source
from scuff.evaluation import Plan, plan_evaluation, run_plan
from scuff.evaluation.runner import Timing
from scuff.evaluation.sampled import run_sampled


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--full", type=int, default=4_000, help="images of the full run")
    parser.add_argument("--passes", type=int, default=100_000)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--suite", default="imagenet-c")
    parser.add_argument("--model", default="torchvision:resnet50@random")
    parser.add_argument("--precision", default="bfloat16")
    options = parser.parse_args()
    images = synthetic_images(options.images, options.size)
    labels, names = np.arange(options.images) % 1000, [str(k) for k in range(1000)]

    def plan(count: int, out: str) -> Plan:
        source = array_source("synthetic", images[:count], labels[:count], names)
        return plan_evaluation(options.model, options.suite, source, out, precision=options.precision)

    def timed_full() -> Timing:
        with tempfile.TemporaryDirectory() as out:
            return run_plan(plan(options.full, out))

    def timed_sample(passes: int) -> Timing:
        with tempfile.TemporaryDirectory() as out:
            return run_sampled(plan(options.images, out), passes)

    timed_full()
    full = timed_full()
    timed_sample(options.images)
    of_sample = {passes: timed_sample(passes) for passes in (options.images, options.passes)}
    result = {
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
        "torch": torch.__version__,
        "full": {"predictions": full.predictions, "per_second": round(full.per_second)},
    }
    for passes, timing in of_sample.items():
        share = round(timing.per_second / full.per_second, 3)
        parts = {"corrupting_s": round(timing.corrupting, 2), "predicting_s": round(timing.predicting, 2)}
        result[f"sample of {passes}"] = {"per_second": round(timing.per_second), "share_of_full": share, **parts}
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
