"""Pictures of painted shapes with boxes and maps of classes, in the formats that scuff reads.

python tools/painted_shapes.py DIR --images 200      # DIR/coco, DIR/voc, DIR/yolo, DIR/masks
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

SHAPES = ("disc", "square", "triangle")
SIZE = (96, 128)


@dataclass(frozen=True, eq=False)
class Painted:
    """A picture (H, W, 3), its boxes x0, y0, x1, y1, the shape of each, and the shape of every pixel, 0 for none."""

    pixels: np.ndarray
    boxes: np.ndarray
    labels: np.ndarray
    classes: np.ndarray


def paint(seed: int, size: tuple[int, int] = SIZE, most: int = 3) -> Painted:
    """One to `most` shapes of any colours on a soft background; a shape hides at most a little of another."""
    random = np.random.default_rng(seed)
    height, width = size
    coarse = random.integers(60, 200, (4, 5, 3), dtype=np.uint8)
    picture = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    labels, boxes, classes = [], [], np.zeros(size, np.uint8)
    for _ in range(int(random.integers(1, most + 1))):
        for _ in range(20):
            side = int(random.integers(height // 6, height // 3))
            x, y = int(random.integers(0, width - side)), int(random.integers(0, height - side))
            if not classes[y : y + side, x : x + side].any():
                break
        else:
            continue
        label = int(random.integers(len(SHAPES)))
        colour = tuple(int(value) for value in random.choice([0, 255], 3))
        mask = Image.new("L", (width, height))
        for canvas, fill in ((mask, 255), (picture, colour)):
            _draw(ImageDraw.Draw(canvas), label, x, y, side, fill)
        shown = np.asarray(mask) > 0
        rows, columns = np.flatnonzero(shown.any(1)), np.flatnonzero(shown.any(0))
        boxes.append([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])
        labels.append(label)
        classes[shown] = label + 1
    noisy = np.asarray(picture).astype(np.float64) + random.normal(0, 6, (height, width, 3))
    pixels = np.clip(noisy, 0, 255).astype(np.uint8)
    return Painted(pixels, np.array(boxes, np.float64).reshape(-1, 4), np.array(labels, np.int64), classes)


def _draw(canvas: ImageDraw.ImageDraw, label: int, x: int, y: int, side: int, fill: object) -> None:
    corners = [(x, y), (x + side - 1, y + side - 1)]
    if label == 0:
        canvas.ellipse(corners, fill=fill)
    elif label == 1:
        canvas.rectangle(corners, fill=fill)
    else:
        canvas.polygon([(x, y + side - 1), (x + side - 1, y + side - 1), (x + side // 2, y)], fill=fill)


def paint_many(count: int, seed: int = 0, sizes: tuple[tuple[int, int], ...] = (SIZE,)) -> list[Painted]:
    """Many pictures, of the sizes in turn."""
    return [paint(seed * 1_000_003 + k, sizes[k % len(sizes)]) for k in range(count)]


def outline(box: list[float], label: int) -> list[float]:
    """The polygon of a shape, x and y in turn."""
    x0, y0, x1, y1 = box
    if label == 0:
        turn = np.linspace(0, 2 * np.pi, 48, endpoint=False)
        middle, radius = np.array([x0 + x1, y0 + y1]) / 2, np.array([x1 - x0, y1 - y0]) / 2
        return (middle + radius * np.stack([np.cos(turn), np.sin(turn)], 1)).round(3).ravel().tolist()
    if label == 1:
        return [x0, y0, x1, y0, x1, y1, x0, y1]
    return [x0, y1, x1, y1, (x0 + x1) / 2, y0]


def write_coco(folder: Path, painted: list[Painted], outlines: bool = False, names: tuple[str, ...] = SHAPES) -> Path:
    """Pictures in images/, and annotations.json, with outlines if asked for; shapes may go by other names."""
    images, annotations = [], []
    for k, one in enumerate(painted):
        height, width = one.classes.shape
        name = _save(folder / "images", k, one.pixels)
        images.append({"id": k + 1, "file_name": name, "width": width, "height": height})
        for box, label in zip(one.boxes.tolist(), one.labels.tolist(), strict=True):
            x0, y0, x1, y1 = box
            about = {"id": len(annotations) + 1, "image_id": k + 1, "category_id": label + 1, "iscrowd": 0}
            about |= {"bbox": [x0, y0, x1 - x0, y1 - y0], "area": (x1 - x0) * (y1 - y0)}
            annotations.append({**about, "segmentation": [outline(box, label)]} if outlines else about)
    categories = [{"id": k + 1, "name": name} for k, name in enumerate(names)]
    content = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "annotations.json").write_text(json.dumps(content))
    return folder


def write_yolo(folder: Path, painted: list[Painted]) -> Path:
    """images/, labels/ and data.yaml."""
    (folder / "labels").mkdir(parents=True, exist_ok=True)
    for k, one in enumerate(painted):
        height, width = one.classes.shape
        name = _save(folder / "images", k, one.pixels)
        x0, y0, x1, y1 = one.boxes.T
        shares = np.stack([(x0 + x1) / 2 / width, (y0 + y1) / 2 / height, (x1 - x0) / width, (y1 - y0) / height], 1)
        lines = [f"{label} {' '.join(map(repr, row))}" for label, row in zip(one.labels, shares.tolist(), strict=True)]
        (folder / "labels" / f"{name.rpartition('.')[0]}.txt").write_text("\n".join(lines))
    (folder / "data.yaml").write_text(f"names: [{', '.join(SHAPES)}]\n")
    return folder


def write_voc(folder: Path, painted: list[Painted]) -> Path:
    """JPEGImages/ (of PNG files, so that nothing is lost) and Annotations/."""
    (folder / "Annotations").mkdir(parents=True, exist_ok=True)
    for k, one in enumerate(painted):
        height, width = one.classes.shape
        name = _save(folder / "JPEGImages", k, one.pixels)
        objects = ""
        for (x0, y0, x1, y1), label in zip(one.boxes.astype(int).tolist(), one.labels.tolist(), strict=True):
            sides = f"<xmin>{x0 + 1}</xmin><ymin>{y0 + 1}</ymin><xmax>{x1}</xmax><ymax>{y1}</ymax>"
            objects += f"<object><name>{SHAPES[label]}</name><bndbox>{sides}</bndbox></object>"
        size = f"<size><width>{width}</width><height>{height}</height></size>"
        text = f"<annotation><filename>{name}</filename>{size}{objects}</annotation>"
        (folder / "Annotations" / f"{name.rpartition('.')[0]}.xml").write_text(text)
    return folder


def write_masks(folder: Path, painted: list[Painted]) -> Path:
    """images/, masks/ and classes.txt."""
    for k, one in enumerate(painted):
        _save(folder / "images", k, one.pixels)
        _save(folder / "masks", k, one.classes)
    (folder / "classes.txt").write_text("\n".join(["background", *SHAPES]) + "\n")
    return folder


WRITERS = {"coco": write_coco, "voc": write_voc, "yolo": write_yolo, "masks": write_masks}


def _save(folder: Path, number: int, pixels: np.ndarray) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(folder / f"{number:05d}.png", compress_level=1)
    return f"{number:05d}.png"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=200)
    asked = parser.parse_args()
    made = paint_many(asked.images)
    for name, write in WRITERS.items():
        print(write(asked.folder / name, made))
