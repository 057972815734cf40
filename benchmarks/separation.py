"""How long an exact class separation takes as the number of points grows, against brute force.

    python benchmarks/separation.py
    python benchmarks/separation.py --data cifar10.npz --device cuda

Prints seconds, the exponent of n between two sizes, and the ratio to brute force (scipy's cdist, block by block, on one
core), which is measured in the same run at sizes where that is bearable. Made-up images by default: smooth, of ten
classes that differ little, 32 x 32 x 3 bytes. An .npz holds x and y, or x_train, y_train, x_test and y_test.
"""

from __future__ import annotations

import argparse
import math
import resource
import time

import numpy as np
from scipy.ndimage import zoom
from scipy.spatial.distance import cdist

from scuff.metrics import class_separation, class_separations, nearest_other_class

SIZES = (1000, 2000, 4000, 8000, 16_000, 32_000, 60_000)
BEARABLE = 2000  # points for brute force
NORMS = (math.inf, 2, 1)
METRICS = {math.inf: "chebyshev", 2: "euclidean", 1: "cityblock"}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", metavar="FILE.npz")
    arguments.add_argument("--device", default="cpu")
    given = arguments.parse_args()
    x, y = read(given.data) if given.data else make_images(SIZES[-1])
    sizes = [*(n for n in SIZES if n < len(x)), len(x)]
    for norm in NORMS:
        class_separation(x[:200], y[:200], norm, device=given.device)  # compiles
        print(f"\nL{norm:g} on {given.device}: n, seconds, exponent of n, brute force / ours")
        before = None
        for n in sizes:
            chosen = np.arange(n) * len(x) // n
            seconds, found = timed(class_separation, x[chosen], y[chosen], norm, device=given.device)
            exponent = "" if before is None else f"{math.log(seconds / before[1]) / math.log(n / before[0]):.2f}"
            before = n, seconds
            print(f"{n:>7} {seconds:>8.2f} {exponent:>6} {against(x[chosen], y[chosen], norm, found, seconds)}")
    for what, function in (("each two classes", class_separations), ("each point", nearest_other_class)):
        seconds, _ = timed(function, x, y, math.inf, device=given.device)
        print(f"\nLinf for {what}, n = {len(x)}: {seconds:.2f} s")
    print(f"\npeak memory of all this: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


def timed(function, *arguments, **options):
    start = time.perf_counter()
    result = function(*arguments, **options)
    return time.perf_counter() - start, result


def against(x: np.ndarray, y: np.ndarray, norm: float, found, seconds: float) -> str:
    """The ratio to brute force, which must find the same."""
    if len(x) > BEARABLE:
        return ""
    brute, smallest = timed(brute_force, x.reshape(len(x), -1).astype(np.float64), y, norm)
    if abs(smallest / 255 - found.distance) > 1e-12 * found.distance:
        raise SystemExit(f"brute force finds {smallest / 255}, the search {found.distance}")
    return f"{brute / seconds:.0f}"


def brute_force(x: np.ndarray, y: np.ndarray, norm: float, rows: int = 200) -> float:
    smallest = math.inf
    for start in range(0, len(x), rows):
        distances = cdist(x[start : start + rows], x, METRICS[norm])
        distances[y[start : start + rows, None] == y] = math.inf
        smallest = min(smallest, distances.min())
    return smallest


def make_images(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Smooth random images of all contrasts, with a little noise on top."""
    draw = np.random.default_rng(0)
    images = np.empty((n, 32, 32, 3), np.uint8)
    for start in range(0, n, 2000):
        count = min(2000, n - start)
        coarse = 128 + draw.normal(0, 70, (count, 5, 5, 3)) * draw.uniform(0.3, 1.0, (count, 1, 1, 1))
        smooth = zoom(coarse, (1, 6.4, 6.4, 1), order=1)
        images[start : start + count] = np.clip(smooth + draw.normal(0, 4, smooth.shape), 0, 255)
    return images, draw.integers(0, 10, n)


def read(path: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path, allow_pickle=False) as file:
        if "x_train" in file:
            x, y = (np.concatenate([file[f"{key}_train"], file[f"{key}_test"]]) for key in "xy")
        else:
            x, y = file["x"], file["y"]
    draw = np.random.default_rng(0).permutation(len(x))  # so that every size has all classes
    return x[draw], y.ravel()[draw].astype(np.int64)


if __name__ == "__main__":
    main()
