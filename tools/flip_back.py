"""How often a model is right again after its first failure along a dial, and how often a search finds that failure.

    python tools/flip_back.py MODEL --data cifar10:data [--images 500] [--out FILE.csv]

Every image is shown at every severity of a fine grid, once with draws that all severities share, once with fresh ones.
Counted are images that are right when clean. `found` is the share of those that fail whose first failure is found by
looking at the levels and halving the first step that fails, as `scuff survival` does; `bisected` by halving alone.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from scuff import open_model
from scuff.data import open_source
from scuff.door import corrupt
from scuff.suites import load_suite

ENTRIES = ("gaussian_noise", "shot_noise", "impulse_noise", "defocus_blur", "fog", "frost", "brightness", "contrast")
STEPS = 8  # of the grid, from a level to the next
BATCH = 250


def rights(model: str, data: str, suite: str, entry: str, images: int, is_fresh: bool) -> np.ndarray:
    """Whether the model is right about each image at each severity of the grid: bool (severities, images)."""
    source, classifier = open_source(data), open_model(model)
    places = np.arange(images) * len(source) // images
    pixels, labels, ids = source.read(places.tolist()), source.labels[places], source.ids[places]
    highest = load_suite(suite).listed_levels(entry)[-1]
    right = []
    for k in range(highest * STEPS + 1):
        seed = k if is_fresh else 0
        shown = corrupt(pixels, entry, k / STEPS, suite=suite, seed=seed, ids=ids, draws="shared")
        with torch.inference_mode():
            said = torch.cat([classifier(part).argmax(1) for part in shown.split(BATCH)])
        right.append(said.numpy() == labels)
    return np.array(right)


def first_failures(right: np.ndarray) -> np.ndarray:
    """The place on the grid of the first failure of each image; the length of the grid if there is none."""
    return np.where(right.all(0), len(right), (~right).argmax(0))


def search(right: np.ndarray, marks: list[int]) -> np.ndarray:
    """The place that is found by looking at some places, and halving the first step between them that fails."""
    found = np.full(right.shape[1], len(right))
    for image, is_right in enumerate(right.T):
        step = next(((a, b) for a, b in itertools.pairwise(marks) if not is_right[b]), None)
        if step is not None:
            low, high = step
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if is_right[middle] else (low, middle)
            found[image] = high
    return found


def flip_line(right: np.ndarray) -> dict[str, float]:
    """The shares of one corruption, of images that are right when clean."""
    right = right[:, right[0]]
    first, last = first_failures(right), len(right) - 1
    fails = first <= last
    later = np.arange(len(right))[:, None] > first
    levels = list(range(0, last + 1, STEPS))
    return {
        "images": right.shape[1],
        "fail": int(fails.sum()),
        "flip_back": (right & later).any(0)[fails].mean(),
        "found": (search(right, levels) == first)[fails].mean(),
        "bisected": (search(right, [0, last]) == first)[fails].mean(),
    }


def page_lines(table: pd.DataFrame) -> list[str]:
    """The table as the page of results has it: shared and fresh draws side by side."""
    lines = []
    for entry, its in table.groupby("corruption", sort=False):
        shared, fresh = (its[its["draws"] == draws].iloc[0] for draws in ("shared", "fresh"))
        numbers = [f"{of[name]:.3f}" for name in ("flip_back", "found", "bisected") for of in (shared, fresh)]
        lines.append(f"| {entry} | {shared['fail']:.0f} of {shared['images']:.0f} | {' | '.join(numbers)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--data", required=True)
    parser.add_argument("--suite", default="cifar10-c")
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines: list[dict[str, Any]] = []
    for entry in ENTRIES:
        for draws in ("shared", "fresh"):
            asked = (options.model, options.data, options.suite, entry, options.images, draws == "fresh")
            lines.append({"corruption": entry, "draws": draws, **flip_line(rights(*asked))})
    print("\n".join(page_lines(pd.DataFrame(lines))))
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(lines).to_csv(options.out, index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
