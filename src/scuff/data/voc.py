"""`voc:DIR` and `voc-masks:DIR`: Pascal VOC, a file of XML per picture, or a map of its classes."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np

from scuff.data.annotated import IGNORED, AnnotatedSource, Collector, number_names
from scuff.data.masks import mapped_pictures

CLASSES = [
    "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog",
    "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor",
]  # fmt: skip
SIDES = ("xmin", "ymin", "xmax", "ymax")
MOST_BYTES = 10 << 20  # of an XML file, which could unfold into anything


def open_voc(path: Path, split: str) -> AnnotatedSource:
    """`voc:DIR`: JPEGImages, Annotations and, for splits, ImageSets/Main. Difficult objects do not count."""
    files = [path / "Annotations" / f"{stem}.xml" for stem in _stems(path, "Main", split)]
    read = [_read(file) for file in files]
    names = [name for _, _, objects in read for name, _, _ in objects]
    class_names = number_names(names, CLASSES)
    found = Collector(path.resolve().name, path / "JPEGImages", class_names)
    for picture, size, objects in read:
        labels = [class_names.index(name) for name, _, _ in objects]
        found.add(picture, size, [box for _, box, _ in objects], labels, [difficult for _, _, difficult in objects])
    return found.source()


def open_voc_masks(path: Path, split: str) -> AnnotatedSource:
    """`voc-masks:DIR`: JPEGImages and SegmentationClass, 20 classes and the background; 255 does not count."""
    stems = _stems(path, "Segmentation", split)
    table = np.full(256, IGNORED, np.uint8)
    table[: len(CLASSES) + 1] = np.arange(len(CLASSES) + 1)
    pairs = {f"JPEGImages/{stem}.jpg": f"SegmentationClass/{stem}.png" for stem in stems}
    return mapped_pictures(path.resolve().name, path, pairs, ["background", *CLASSES], table)


def _stems(path: Path, sets: str, split: str) -> list[str]:
    """The pictures of a split; VOC 2012 has no test annotations, so that its validation set stands in."""
    folder = path / "ImageSets" / sets
    for name in ("test", "val") if split == "test" else (split,):
        if (folder / f"{name}.txt").is_file():
            return [line.split()[0] for line in (folder / f"{name}.txt").read_text().splitlines() if line.strip()]
    if split != "test" or folder.is_dir():
        raise ValueError(f"there is no {split}.txt in {folder}")
    kind, suffix = ("Annotations", ".xml") if sets == "Main" else ("SegmentationClass", ".png")
    stems = sorted(file.stem for file in (path / kind).glob(f"*{suffix}"))
    if not stems:
        raise ValueError(f"{path} is no folder of Pascal VOC: there is nothing in {path / kind}")
    return stems


def _read(file: Path) -> tuple[str, tuple[int, int], list[tuple[str, list[float], bool]]]:
    """The picture, its size, and its objects: name, box and whether it is difficult."""
    try:
        content = file.read_bytes()
        if len(content) > MOST_BYTES or b"<!DOCTYPE" in content or b"<!ENTITY" in content:
            raise ValueError("it declares entities, or is too large")
        root = ElementTree.fromstring(content)
        size = int(root.findtext("size/height", "")), int(root.findtext("size/width", ""))
        objects = []
        for one in root.iter("object"):
            sides = [float(one.findtext(f"bndbox/{side}", "")) for side in SIDES]
            box = [sides[0] - 1, sides[1] - 1, sides[2], sides[3]]  # pixels are counted from 1, the last included
            objects.append((one.findtext("name", ""), box, one.findtext("difficult", "0").strip() == "1"))
        return root.findtext("filename") or f"{file.stem}.jpg", size, objects
    except (OSError, ValueError, ElementTree.ParseError) as error:
        raise ValueError(f"{file} cannot be read as an annotation of Pascal VOC: {error}") from error
