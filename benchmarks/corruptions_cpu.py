"""One core, 224 pixels: scuff against imagecorruptions 1.1.2, measured in the same run.

    make bench        (installs the peer beside us, then runs this)

Both get the same uint8 pictures: the peer one at a time, as it only can, scuff as one batch through its public door.
Times are CPU times, the best of several rounds, rounds of the two alternate, and torch, OpenCV and OpenBLAS may use one
thread. `--memory` prints instead how much memory each corruption takes for a batch of 256.

The peer does not import on current numpy, scikit-image or setuptools. `load_peer` gives it back the three names that it
misses and changes nothing else.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import argparse
import importlib.util
import math
import multiprocessing
import platform
import resource
import sys
import time
import types
import warnings
from pathlib import Path

import numpy as np

SEVERITIES = (1, 3, 5)


def load_peer():
    """imagecorruptions, with `pkg_resources`, `np.float_` and `gaussian(multichannel=...)` supplied."""
    import cv2
    import skimage.filters

    root = Path(importlib.util.find_spec("imagecorruptions").origin).parent
    stand_in = types.ModuleType("pkg_resources")
    stand_in.resource_filename = lambda package, name: str(root / name)
    sys.modules["pkg_resources"] = stand_in
    setattr(np, "float_", np.float64)  # noqa: B010  (written so that linters do not "modernise" the name away)
    gaussian = skimage.filters.gaussian

    def gaussian_with_multichannel(*arguments, multichannel=None, **options):
        if multichannel is not None:
            options["channel_axis"] = -1 if multichannel else None
        return gaussian(*arguments, **options)

    skimage.filters.gaussian = gaussian_with_multichannel
    cv2.setNumThreads(1)
    warnings.simplefilter("ignore")
    import imagecorruptions

    return imagecorruptions


def pictures() -> np.ndarray:
    """Sixteen 224-pixel windows of scikit-image's and scikit-learn's pictures, uint8."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from golden.pictures import pictures_224

    return pictures_224()


def seconds(call) -> float:
    start = time.thread_time()
    call()
    return time.thread_time() - start


def compare(x: np.ndarray, rounds: int, only: list[str] | None) -> None:
    import torch

    import scuff

    torch.set_num_threads(1)
    peer = load_peer()
    print(
        f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}, torch {torch.__version__}"
    )
    print(f"milliseconds per image, one core, best of {rounds} rounds; severities {SEVERITIES}\n")
    print(f"{'':>18}{'imagecorruptions':>26}{'scuff':>26}{'ratio':>9}")
    totals, ratios = np.zeros(2), []
    for name in only or scuff.load_suite("imagenet-c").benchmark():
        theirs, ours = np.full(3, np.inf), np.full(3, np.inf)
        few = x[:1] if name == "glass_blur" else x[:4]
        for k, severity in enumerate(SEVERITIES):
            scuff.corrupt(x, f"imagenet-c/{name}", severity)  # compile and fill caches
            peer.corrupt(x[0], severity, name)
            for _ in range(rounds):
                took = seconds(lambda n=name, s=severity, f=few: [peer.corrupt(u, s, n) for u in f]) / len(few)
                theirs[k] = min(theirs[k], 1e3 * took)
                took = seconds(lambda n=name, s=severity: scuff.corrupt(x, f"imagenet-c/{n}", s)) / len(x)
                ours[k] = min(ours[k], 1e3 * took)
        totals += theirs.sum(), ours.sum()
        ratios.append(theirs.sum() / ours.sum())
        cells = "".join(f"{t:>9.2f}" for t in theirs).rjust(26) + "".join(f"{t:>9.2f}" for t in ours).rjust(26)
        print(f"{name:>18}{cells}{ratios[-1]:>8.1f}x", flush=True)
    print(f"\nsum over all: {totals[0]:.0f} ms against {totals[1]:.1f} ms: {totals[0] / totals[1]:.0f}x")
    print(f"geometric mean: {math.exp(np.mean(np.log(ratios))):.1f}x;  lowest: {min(ratios):.2f}x")


def _peak_growth(name: str, severity: int, count: int, answer) -> None:
    import torch

    import scuff

    torch.set_num_threads(1)
    x = np.resize(pictures(), (count, 224, 224, 3))
    scuff.corrupt(x[:1], f"imagenet-c/{name}", severity)  # loads compiled code, textures and libraries
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    scuff.corrupt(x, f"imagenet-c/{name}", severity)
    answer.put((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)


def memory(count: int) -> None:
    """Growth of the process's peak above what it holds with the batch loaded and one image done; results included."""
    import scuff

    print(f"MiB for a batch of {count} uint8 images, severity 5, result included ({count * 3 * 224 * 224 / 2**20:.0f})")
    context = multiprocessing.get_context("spawn")
    for name in scuff.load_suite("imagenet-c").entries:
        answer = context.Queue()
        process = context.Process(target=_peak_growth, args=(name, 5, count, answer))
        process.start()
        print(f"{name:>18}{answer.get():>8.0f}", flush=True)
        process.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these corruptions instead of all fifteen")
    options = parser.parse_args()
    if options.memory:
        memory(256)
    else:
        compare(pictures(), options.rounds, options.only)


if __name__ == "__main__":
    main()
