"""`masks:DIR` and `cityscapes:DIR`: pictures, and for each a picture whose numbers are the classes of its pixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from scuff.data.annotated import IGNORED, AnnotatedSource, StoredMaps, annotated_pictures
from scuff.pictures import find_pictures

CITYSCAPES = {  # the classes that count, by the numbers that they have in the files called labelIds
    7: "road", 8: "sidewalk", 11: "building", 12: "wall", 13: "fence", 17: "pole", 19: "traffic light",
    20: "traffic sign", 21: "vegetation", 22: "terrain", 23: "sky", 24: "person", 25: "rider", 26: "car", 27: "truck",
    28: "bus", 31: "train", 32: "motorcycle", 33: "bicycle",
}  # fmt: skip
VALIDATION = {"train": "train", "test": "val"}  # whose test annotations are not public


def open_masks(path: Path) -> AnnotatedSource:
    """`masks:DIR`: images/ and masks/ with the same tree; 255 does not count, classes.txt names the others."""
    for folder in ("images", "masks"):
        if not (path / folder).is_dir():
            raise ValueError(f"masks:{path} needs the folders images and masks; there is no {folder}")
    maps = {name.rpartition(".")[0]: name for name in find_pictures(path / "masks")}
    names = find_pictures(path / "images")
    unmapped = [name for name in names if name.rpartition(".")[0] not in maps]
    if unmapped:
        raise ValueError(f"{path}: {len(unmapped)} of {len(names)} pictures have no map in masks: {unmapped[0]}, ...")
    pairs = {f"images/{name}": f"masks/{maps[name.rpartition('.')[0]]}" for name in names}
    file = path / "classes.txt"
    if not file.is_file():
        raise ValueError(
            f"masks:{path} needs a file classes.txt, with the name of class 0 in its first line, and so on"
        )
    class_names = [line.strip() for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    table = np.full(256, IGNORED, np.uint8)
    table[: len(class_names)] = np.arange(len(class_names))
    return mapped_pictures(path.resolve().name, path, pairs, class_names, table)


def open_cityscapes(path: Path, split: str) -> AnnotatedSource:
    """`cityscapes:DIR`: leftImg8bit/val and gtFine/val, by the 19 classes that are scored."""
    pictures, maps = (path / folder / VALIDATION[split] for folder in ("leftImg8bit", "gtFine"))
    if not pictures.is_dir() or not maps.is_dir():
        raise ValueError(f"cityscapes:{path} needs the folders {pictures} and {maps}")
    below = [pictures.relative_to(path) / name for name in find_pictures(pictures)]
    pairs = {}
    for name in below:
        start = name.name.removesuffix("_leftImg8bit.png")
        pairs[name.as_posix()] = (maps.relative_to(path) / name.parent.name / f"{start}_gtFine_labelIds.png").as_posix()
    table = np.full(256, IGNORED, np.uint8)
    for number, label in enumerate(CITYSCAPES):
        table[label] = number
    return mapped_pictures("cityscapes", path, pairs, list(CITYSCAPES.values()), table)


def mapped_pictures(
    name: str, root: Path, pairs: Mapping[str, str], class_names: Sequence[str], table: np.ndarray
) -> AnnotatedSource:
    """Pictures and their maps below one folder."""
    if not 1 <= len(class_names) <= IGNORED:
        raise ValueError(f"{name}: expected 1 to {IGNORED} classes, got {len(class_names)}")
    missing = [each for each in pairs.values() if not (root / each).is_file()]
    if missing:
        raise ValueError(f"{name}: {len(missing)} of {len(pairs)} maps are not in {root}: {missing[0]}, ...")
    source = annotated_pictures(name, root, list(pairs), class_names)
    return replace(source, maps=StoredMaps(root, list(pairs.values()), table))
