"""A Source: labelled images, their ids, and which outputs of a model stand for their classes."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff.arrays import check_images
from scuff.data.stored import StoredArray, StoredMembers, StoredPictures, as_tensor
from scuff.pictures import Cut
from scuff.random import image_id
from scuff.suites import Levels

MOST_CLASSES = 100_000  # that a model has outputs for; larger labels are years or the like


@dataclass(frozen=True)
class ClassMap:
    """Which outputs of a model count, and the class of the source that each of them stands for.

    Several outputs may stand for one class: then a prediction is right if it is any of them. All other outputs are left
    out before the largest is sought.
    """

    outputs: tuple[int, ...]
    classes: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.outputs) != len(self.classes):
            raise ValueError(f"{len(self.outputs)} outputs need as many classes, got {len(self.classes)}")


@dataclass(frozen=True, eq=False)
class Source:
    """A labelled dataset. Opening one decodes nothing.

    `labels` and `ids` are int64 (N,). An image of an array has its position as id; a picture file has a hash of its
    path below the dataset's folder, so that its randomness stays its own when files come and go. `classes` is None
    where outputs of a model and classes are the same, and `cut` where pictures may be cut as the model wants it.
    `unreadable` names pictures that were left out because they cannot be read, with the reasons; None before anyone has
    looked.
    """

    name: str
    images: Any = field(repr=False)  # StoredArray, StoredPictures, or one of the Encoded
    labels: np.ndarray = field(repr=False)
    ids: np.ndarray = field(repr=False)
    class_names: tuple[str, ...] = field(repr=False)
    classes: ClassMap | None = field(default=None, repr=False)
    cut: Cut | None = None
    unreadable: Mapping[str, str] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not len(self.images) == len(self.labels) == len(self.ids):
            counts = f"{len(self.labels)} and {len(self.ids)}"
            raise ValueError(f"{self.name}: {len(self.images)} images need as many labels and ids, got {counts}")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def has_pictures(self) -> bool:
        """Whether images are files that must be decoded and cut; otherwise they are an array, used as it is."""
        return not isinstance(self.images, StoredArray)

    @property
    def has_numbered_classes(self) -> bool:
        """Whether only numbers are known of the classes: then there may be more of them than labels tell."""
        return self.class_names == tuple(map(str, range(len(self.class_names))))

    def fingerprint(self) -> str:
        """A hash of labels, ids, classes and images as they are now: of pixels, or of picture files.

        Of many pictures, digests are remembered in the user's cache, by size, times and inode of their files.
        """
        state = hashlib.blake2b(repr((len(self), self.classes)).encode(), digest_size=8)
        state.update(np.ascontiguousarray(self.labels))
        state.update(np.ascontiguousarray(self.ids))
        self.images.feed(state)
        return state.hexdigest()

    def image_name(self, position: int) -> str:
        """What to call an image in a message: the path of a picture, the number of an image in an array."""
        return self.images.name(position)

    def read(self, positions: Sequence[int] | np.ndarray, cut: Cut | None = None) -> Tensor:
        """A few images, decoded in this process: uint8 (n, C, H, W). Without a cut, the source's own applies."""
        positions = np.asarray(positions, np.int64)
        if isinstance(self.images, StoredArray):
            self.check_cut(cut)
            return as_tensor(np.array(self.images.array[positions]))
        cut = self.cut if cut is None else cut
        pictures = [torch.from_numpy(self.images.decode(k, cut).copy()) for k in positions]
        return torch.stack(pictures).permute(0, 3, 1, 2)

    def check_cut(self, cut: Cut | None) -> None:
        """Refuse to cut an array: what size its images have is up to whoever made it."""
        if cut is not None and not self.has_pictures:
            raise ValueError(f"resize and crop are for pictures; {self.name} is an array: bring it to size itself")

    def take(self, positions: Sequence[int] | np.ndarray) -> Source:
        """Some of the images, with their labels and ids."""
        kind = None if len(positions) else np.int64  # numpy takes an empty list for floats
        positions = np.arange(len(self))[np.asarray(positions, kind)]  # so that masks and negative numbers work too
        return replace(self, images=self.images.take(positions), labels=self.labels[positions], ids=self.ids[positions])


@dataclass(frozen=True, eq=False)
class CorruptedSource:
    """A benchmark of images that somebody has already corrupted: a clean source's worth of images for every cell.

    `entries` maps what was found of the suite to its levels on disk, or to (None,) where an entry has no levels.
    """

    name: str
    suite: str
    entries: Mapping[str, Levels] = field(repr=False)
    open_cell: Callable[[str, int | None], Source] = field(repr=False)

    def cell(self, entry: str, severity: int | None = None) -> Source:
        """The images of one corruption at one severity."""
        if entry not in self.entries:
            raise KeyError(f"{self.name} holds no {entry}; it holds {', '.join(self.entries)}")
        if severity not in self.entries[entry]:
            levels = ", ".join(str(level) for level in self.entries[entry])
            raise ValueError(f"{self.name} holds {entry} at severity {levels}, not {severity}")
        return self.open_cell(entry, severity)

    def fingerprint(self) -> str:
        """A hash of labels and ids, which all cells have in common; `cell(...).fingerprint()` is one of the images."""
        entry = next(iter(self.entries))
        first = self.cell(entry, self.entries[entry][0])
        state = hashlib.blake2b(self.suite.encode(), digest_size=8)
        state.update(np.ascontiguousarray(first.labels))
        state.update(np.ascontiguousarray(first.ids))
        return state.hexdigest()


def array_source(name: str, images: np.ndarray, labels: np.ndarray, class_names: Sequence[str] | None = None) -> Source:
    """A source of an array (N, H, W) or (N, H, W, C), uint8, whose images are known by their positions."""
    images = np.asanyarray(images)
    check_images(name, images)
    labels = whole_labels(name, labels)
    if class_names is None:
        class_names = numbered(name, labels)
    elif labels.max() >= len(class_names):
        raise ValueError(f"{name}: expected labels 0 to {len(class_names) - 1}, got {labels.max()}")
    return Source(name, StoredArray(images), labels, np.arange(len(labels)), tuple(class_names))


def picture_source(
    name: str,
    images: StoredPictures | StoredMembers,
    labels: np.ndarray,
    class_names: Sequence[str],
    classes: ClassMap | None = None,
    cut: Cut | None = None,
) -> Source:
    """A source of picture files, or of members of other files, known by their paths."""
    ids = np.fromiter(map(image_id, images.names), np.int64, len(images))
    return Source(name, images, whole_labels(name, labels), ids, tuple(class_names), classes, cut)


def known_by_stems(source: Source) -> Source:
    """The same pictures, known by their paths without suffix: a corrupted copy of a JPEG may well be a PNG.

    Images that are no files of their own stay as they are.
    """
    if not isinstance(source.images, (StoredPictures, StoredMembers)):
        return source
    stems = (os.path.splitext(name)[0] for name in source.images.names)
    return replace(source, ids=np.fromiter(map(image_id, stems), np.int64, len(source)))


def whole_labels(name: str, labels: np.ndarray | Sequence[int]) -> np.ndarray:
    """Labels as int64 (N,), counted from 0; a column of them will do."""
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iu":
        raise ValueError(f"{name}: labels must be whole numbers, got {labels.dtype}; number the classes from 0")
    per_image = math.prod(labels.shape[1:])
    if per_image != 1:
        raise ValueError(f"{name}: expected one label per image, got {per_image}; use numpy.argmax if one-hot")
    labels = labels.astype(np.int64).reshape(-1)
    if len(labels) and labels.min() < 0:
        raise ValueError(f"{name}: expected labels counted from 0, got {labels.min()}")
    return labels.copy()


def numbered(name: str, labels: np.ndarray) -> tuple[str, ...]:
    """Names for classes of which only numbers are known."""
    if len(labels) and labels.max() >= MOST_CLASSES:
        raise ValueError(
            f"{name}: labels count classes from 0, and {labels.max()} is too large for that; is it a class?"
        )
    return tuple(map(str, range(int(labels.max()) + 1 if len(labels) else 0)))
