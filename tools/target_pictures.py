"""Draw docs/targets: boxes before and after every corruption that moves the picture.

    python tools/target_pictures.py docs/targets

One picture per suite: first the clean one with its boxes, then one for every entry, at its middle level. Boxes are
coloured; where they were before is thin and white.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import scuff
from scuff.pictures import bundled_picture, fit_square
from scuff.sheets import draw_strip
from scuff.suites import Suite, load_suite

SUITES = ("imagenet-c", "coco-c", "c-bar-candidates-224", "noc-candidates", "syn2nat-candidates")
SIDE, COLUMNS = 160, 5
BOXES = np.array([[25.0, 44.0, 63.0, 80.0], [107.0, 59.0, 135.0, 89.0], [73.0, 119.0, 105.0, 145.0]])  # eyes, nose
COLOURS = ("#e11d48", "#2563eb", "#f59e0b")


def drawn(picture: Image.Image, boxes: np.ndarray, labels: list[int], before: bool = True) -> Image.Image:
    """A picture with its boxes, and those of the clean one."""
    picture = picture.copy()
    pen = ImageDraw.Draw(picture)
    for box in BOXES if before else ():
        pen.rectangle(tuple(np.round(box - 0.5)), outline="white", width=1)
    for box, label in zip(boxes, labels, strict=True):
        pen.rectangle(tuple(np.round(box - 0.5)), outline=COLOURS[label], width=2)
    return picture


def movers(suite: Suite) -> list[str]:
    """The entries that move something."""
    found = []
    for entry in suite.entries:
        levels = suite.levels(entry)
        (motion,) = scuff.motions(entry, levels[len(levels) // 2], suite=suite, size=(SIDE, SIDE), ids=[1])
        if not motion.stays:
            found.append(entry)
    return found


def sheet(suite: Suite) -> Image.Image:
    clean = fit_square(bundled_picture(), SIDE)
    tiles = [("clean", drawn(clean, BOXES, [0, 1, 2], before=False))]
    for entry in movers(suite):
        levels = suite.levels(entry)
        level = levels[len(levels) // 2]
        sample = {"image": clean, "boxes": BOXES, "labels": [0, 1, 2]}
        moved = scuff.corrupt(sample, entry, level, suite=suite, ids=[1])
        caption = entry if level is None else f"{entry} {level}"
        tiles.append((caption, drawn(moved["image"], moved["boxes"], moved["labels"])))
    strips = [draw_strip(tiles[k : k + COLUMNS], text_size=11) for k in range(0, len(tiles), COLUMNS)]
    page = Image.new("RGB", (max(s.width for s in strips), sum(s.height + 8 for s in strips)), "white")
    for k, strip in enumerate(strips):
        page.paste(strip, (0, k * (strips[0].height + 8)))
    return page


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in SUITES:
        sheet(load_suite(name)).save(folder / f"{name}.webp", quality=80)
