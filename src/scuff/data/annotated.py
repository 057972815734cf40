"""Annotated pictures: what there is to find in each of them, as boxes with labels, or as a map of classes.

Boxes are x0, y0, x1, y1 in pixels from the left upper corner of the picture, whose first pixel covers [0, 1] x [0, 1].
Annotations that cannot be meant are dropped and counted; files that cannot be read as what they are said to be are
errors.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from scuff.data.source import Source
from scuff.data.stored import StoredPictures
from scuff.digests import digest_files
from scuff.images import ImageError
from scuff.pictures import failure_reason
from scuff.random import image_id
from scuff.words import listed

IGNORED = 255  # in a map of classes: pixels that do not count


@dataclass(frozen=True, eq=False)
class Objects:
    """The objects of one picture: boxes (n, 4), the class of each, and which of them are crowds: found or not, they do
    not count. `more` is what else a file says of each, as it stands there: outlines and keypoints of COCO.
    """

    boxes: np.ndarray
    labels: np.ndarray
    crowd: np.ndarray
    more: tuple[Mapping[str, Any], ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    def feed(self, state: Any) -> None:
        """Add them to a hash."""
        for values in (self.boxes, self.labels, self.crowd):
            state.update(np.ascontiguousarray(values))


@dataclass(frozen=True, eq=False)
class StoredMaps:
    """Maps of classes in picture files, one per image; `table` (256,) turns their numbers into classes."""

    root: Path
    names: Sequence[str]
    table: np.ndarray = field(repr=False)

    def read(self, position: int, size: tuple[int, int]) -> np.ndarray:
        """The classes of all pixels, uint8 (H, W); refused if the map is not of its picture's size."""
        path = self.root / self.names[position]
        try:
            with Image.open(path) as file:
                numbers = np.asarray(file)
        except Exception as error:  # Pillow's decoders raise whatever they please on a broken file
            raise ImageError(f"cannot use the map of classes {path}: {failure_reason(error)}") from error
        if numbers.ndim != 2 or numbers.dtype.kind not in "iub" or numbers.max(initial=0) > 255:
            raise ImageError(
                f"{path}: expected one number from 0 to 255 per pixel, got {numbers.dtype} {numbers.shape}"
            )
        if numbers.shape != size:
            tall, wide = size
            raise ImageError(
                f"{path} has {numbers.shape[1]} x {numbers.shape[0]} pixels, and its picture {wide} x {tall}"
            )
        return self.table[numbers.astype(np.uint8)]

    def take(self, positions: np.ndarray) -> StoredMaps:
        """Some of them."""
        return replace(self, names=[self.names[k] for k in positions])

    def feed(self, state: Any) -> None:
        """Add names and contents of the files to a hash."""
        state.update("\n".join(self.names).encode(errors="surrogateescape"))
        state.update(self.table)
        state.update(digest_files(self.root, self.names))


@dataclass(frozen=True, eq=False)
class AnnotatedSource(Source):
    """Pictures of any sizes with `objects` to be detected, one entry per picture, or `maps` to be segmented.

    `sizes` (N, 2), height and width, are those of which the annotations speak. `dropped` counts annotations that cannot
    be meant, by the reason. Its labels are all 0: pictures as a whole have no class.
    """

    objects: Sequence[Objects] | None = field(default=None, repr=False)
    maps: StoredMaps | None = field(default=None, repr=False)
    sizes: np.ndarray | None = field(default=None, repr=False)
    dropped: Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def task(self) -> str:
        """What the annotations are for."""
        return "detection" if self.objects is not None else "segmentation"

    def take(self, positions: Sequence[int] | np.ndarray) -> AnnotatedSource:
        """Some of the pictures, with their annotations."""
        taken = super().take(positions)
        assert isinstance(taken, AnnotatedSource)
        kind = None if len(positions) else np.int64
        places = np.arange(len(self))[np.asarray(positions, kind)]
        return replace(
            taken,
            objects=None if self.objects is None else [self.objects[k] for k in places],
            maps=None if self.maps is None else self.maps.take(places),
            sizes=None if self.sizes is None else self.sizes[places],
        )

    def fingerprint(self) -> str:
        """A hash of pictures and annotations."""
        state = hashlib.blake2b(super().fingerprint().encode(), digest_size=8)
        state.update("\n".join(self.class_names).encode())
        for objects in self.objects or ():
            objects.feed(state)
        if self.maps is not None:
            self.maps.feed(state)
        return state.hexdigest()

    def check_size(self, position: int, height: int, width: int) -> None:
        """Refuse a picture that is not of the size its annotations are about."""
        if self.sizes is not None and tuple(self.sizes[position]) != (height, width):
            tall, wide = self.sizes[position]
            raise ImageError(
                f"{self.image_name(position)} has {width} x {height} pixels, and its annotations are of a picture of "
                f"{wide} x {tall}; are they for each other?"
            )


class Collector:
    """Takes annotations one by one, drops those that cannot be meant, and counts them."""

    def __init__(self, name: str, root: Path, class_names: Sequence[str]) -> None:
        self.name, self.root, self.class_names = name, root, tuple(class_names)
        self.dropped: Counter[str] = Counter()
        self.pictures: list[str] = []
        self.sizes: list[tuple[int, int]] = []
        self.objects: list[Objects] = []

    def add(
        self,
        picture: str,
        size: tuple[int, int],
        boxes: Sequence[Sequence[float]],
        labels: Sequence[int],
        crowd: Sequence[bool] | None = None,
        more: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """The annotations of a picture of `size` (height, width). Boxes that reach beyond it are clipped."""
        given = np.asarray(boxes, np.float64).reshape(len(labels), 4)
        whose = np.asarray(labels, np.int64)
        if len(whose) and not 0 <= whose.min() <= whose.max() < len(self.class_names):
            wrong = whose[(whose < 0) | (whose >= len(self.class_names))][0]
            raise ValueError(
                f"{self.name}: {picture} has an object of class {wrong}; there are {len(self.class_names)}"
            )
        height, width = size
        clipped = np.clip(given, 0.0, [width, height, width, height])
        finite = np.isfinite(given).all(axis=1)
        empty = finite & ((given[:, 2] <= given[:, 0]) | (given[:, 3] <= given[:, 1]))
        outside = finite & ~empty & ((clipped[:, 2] <= clipped[:, 0]) | (clipped[:, 3] <= clipped[:, 1]))
        for words, which in (("not a number", ~finite), ("empty", empty), ("outside of the picture", outside)):
            self.dropped[words] += int(which.sum())
        kept = np.flatnonzero(finite & ~empty & ~outside)
        crowds = np.zeros(len(whose), bool) if crowd is None else np.asarray(crowd, bool)
        self.pictures.append(picture)
        self.sizes.append(size)
        others = tuple(more[k] for k in kept.tolist()) if more else ()
        self.objects.append(Objects(clipped[kept], whose[kept], crowds[kept], others))

    def source(self) -> AnnotatedSource:
        """All of them, in the order of the pictures' paths."""
        if not self.pictures:
            raise ValueError(f"{self.name} has no annotated pictures")
        order = sorted(range(len(self.pictures)), key=self.pictures.__getitem__)
        source = annotated_pictures(self.name, self.root, [self.pictures[k] for k in order], self.class_names)
        return replace(
            source,
            objects=[self.objects[k] for k in order],
            sizes=np.array([self.sizes[k] for k in order], np.int64),
            dropped={words: count for words, count in self.dropped.items() if count},
        )


def annotated_pictures(name: str, root: Path, names: Sequence[str], class_names: Sequence[str]) -> AnnotatedSource:
    """Pictures that are known by their paths, still without annotations."""
    missing = [picture for picture in names if not (root / picture).is_file()]
    if missing:
        raise ValueError(f"{name}: {len(missing)} of {len(names)} pictures are not in {root}: {missing[0]}, ...")
    ids = np.fromiter(map(image_id, names), np.int64, len(names))
    labels = np.zeros(len(names), np.int64)
    return AnnotatedSource(name, StoredPictures(root, list(names)), labels, ids, tuple(class_names))


def picture_size(path: Path) -> tuple[int, int]:
    """Height and width of a picture as it is read, upright; only the head of the file is."""
    try:
        with Image.open(path) as file:
            turned = file.getexif().get(0x0112, 1) >= 5
            return (file.width, file.height) if turned else (file.height, file.width)
    except Exception as error:  # Pillow's decoders raise whatever they please on a broken file
        raise ImageError(f"cannot use the picture {path}: {failure_reason(error)}") from error


def number_names(names: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The classes of a dataset: the known ones if all names are among them, else the names, sorted."""
    return tuple(known) if set(names) <= set(known) else tuple(sorted(set(names)))


def dropped_words(source: Source) -> str:
    """What was dropped, as a sentence; empty if nothing was."""
    counts = getattr(source, "dropped", {})
    said = listed([f"{count} {words}" for words, count in counts.items()])
    return f"Of all annotations, {sum(counts.values())} were dropped: {said}" if counts else ""


def annotated(source: Any, task: str) -> AnnotatedSource:
    """The source itself; refused if it has no annotations for a task."""
    if not isinstance(source, AnnotatedSource) or source.task != task:
        ways = {
            "detection": "coco:DIR, voc:DIR, yolo:DIR",
            "segmentation": "cityscapes:DIR, voc-masks:DIR, masks:DIR",
        }
        raise ValueError(f"{getattr(source, 'name', source)} has no annotations for {task}; give {ways[task]}")
    return source
