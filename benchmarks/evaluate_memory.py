"""Host memory of an evaluation: how far the process grows beyond its data and its libraries.

    python benchmarks/evaluate_memory.py [--images 50000] [--size 32] [--severity 1] [--only fog snow ...]

Evaluates a small network on synthetic images and every corruption of CIFAR-10-C at one severity, and prints the
highest resident memory before and after, in MiB. The rows of all cells are held and scored in the end, as users do.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import numpy as np
import torch

import scuff
from scuff.data import array_source
from scuff.models import Classifier, build


def peak() -> float:
    """MiB; macOS counts bytes where Linux counts KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=50_000)
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--severity", type=int, default=1)
    parser.add_argument("--only", nargs="+")
    options = parser.parse_args()

    random = np.random.default_rng(0)
    shape = (options.images, options.size, options.size, 3)
    images = random.integers(0, 256, shape, dtype=np.uint8)
    source = array_source("synthetic", images, random.integers(0, 10, options.images))
    torch.manual_seed(0)
    classifier = Classifier(build("small_cnn", classes=10, channels=3).eval(), name="small")
    before, start = peak(), time.perf_counter()
    rows = scuff.evaluate(classifier, "cifar10-c", source, only=options.only, severities=[options.severity], workers=0)
    evaluated, seconds = peak(), time.perf_counter() - start
    score = scuff.metrics.mean_error(rows[rows["corruption"] != "clean"], partial=True)
    print(f"{len(rows)} rows in {seconds:.0f} s; mean error {score}")
    print(f"data {images.nbytes / 2**20:.0f} MiB; highest resident memory in MiB: before {before:.0f},")
    print(f"evaluated {evaluated:.0f} (+{evaluated - before:.0f}), scored {peak():.0f} (+{peak() - before:.0f})")


if __name__ == "__main__":
    main()
