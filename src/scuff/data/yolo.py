"""`yolo:DIR`: pictures, and for each a text with a line per object: its class, and its box as shares of the sides."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from scuff.data.annotated import AnnotatedSource, Collector, picture_size
from scuff.pictures import find_pictures
from scuff.readers import read_yaml


def open_yolo(path: Path) -> AnnotatedSource:
    """`yolo:DIR`: images/ and labels/ with the same tree; names from data.yaml, if it is there. No text: no objects."""
    if not (path / "images").is_dir() or not (path / "labels").is_dir():
        raise ValueError(f"yolo:{path} needs the folders images and labels")
    names = find_pictures(path / "images")
    lines = [_read(path / "labels" / f"{name.rpartition('.')[0]}.txt") for name in names]
    most = max((label for of in lines for label, _, _ in of), default=0)
    found = Collector(path.resolve().name, path / "images", _class_names(path, most))
    with ThreadPoolExecutor() as pool:
        sizes = list(pool.map(picture_size, (path / "images" / name for name in names)))
    for name, size, of in zip(names, sizes, lines, strict=True):
        sides = np.array(size[::-1])
        boxes = [box * np.tile(sides, 2) for _, box, _ in of]
        more = [{} if outline is None else {"segmentation": [(outline * sides).ravel().tolist()]} for *_, outline in of]
        found.add(name, size, boxes, [label for label, _, _ in of], more=more)
    return found.source()


def _class_names(path: Path, most: int) -> list[str]:
    file = next((path / name for name in ("data.yaml", "dataset.yaml") if (path / name).is_file()), None)
    names = None if file is None else read_yaml(file.read_bytes(), str(file)).get("names")
    if isinstance(names, dict) and sorted(names) == list(range(len(names))):
        names = [names[number] for number in range(len(names))]
    if names is None:
        return list(map(str, range(most + 1)))
    if not isinstance(names, list):
        raise ValueError(f"{file}: names must list the classes, got {names!r}")
    return [str(name) for name in names]


def _read(file: Path) -> list[tuple[int, np.ndarray, np.ndarray | None]]:
    """Classes, boxes as shares, and outlines (n, 2), which have the boxes around them."""
    if not file.is_file():
        return []
    objects: list[tuple[int, np.ndarray, np.ndarray | None]] = []
    for number, line in enumerate(file.read_text().splitlines(), 1):
        try:
            values = [float(word) for word in line.split()]
        except ValueError as error:
            raise ValueError(f"{file}, line {number}: expected numbers, got {line!r}") from error
        if not values:
            continue
        if not values[0].is_integer() or len(values) < 5 or (len(values) > 5 and len(values) % 2 == 0):
            raise ValueError(f"{file}, line {number}: expected a class and x, y, width, height, got {line!r}")
        places = np.array(values[1:]).reshape(-1, 2)
        if len(values) == 5:
            middle, size = places
            objects.append((int(values[0]), np.concatenate((middle - size / 2, middle + size / 2)), None))
        else:
            objects.append((int(values[0]), np.concatenate((places.min(0), places.max(0))), places))
    return objects
