"""The images of an export: read from a folder or an array, corrupted together where they have one size, encoded."""

from __future__ import annotations

import errno
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import numpy as np
from PIL import Image

from scuff.arrays import open_arrays
from scuff.door import PUBLISHED_QUALITY, corrupt
from scuff.pictures import Cut, failure_reason, read_picture
from scuff.pool import raise_if_stopping
from scuff.random import image_id
from scuff.store import Store
from scuff.suites import Levels, Suite

Name = Any  # of a picture its path below the folder, of an image in an array its position
Batch = list[tuple[Name, np.ndarray]]  # images of one shape

# What a machine suffers from, and not the picture: then another one had better try.
ILL = (errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOTCONN, errno.ETIMEDOUT)
CHUNK = 8  # pictures at a time: enough to fill a batch, few enough for a steady progress bar


class Images(Protocol):
    """Images by their names."""

    @property
    def source(self) -> Path:
        """The folder or file that they are in."""

    def read(self, name: Name) -> np.ndarray:
        """An image as (H, W, 3), or (H, W, 1) if it is grey."""

    def id(self, name: Name) -> int:
        """What keys its randomness."""

    def key(self, name: Name) -> str:
        """Its name in a shard."""

    def files(self, names: Iterable[Name]) -> list[Path]:
        """The files of some images; none of an array, whose content is among the settings of an export."""


@dataclass(frozen=True)
class FolderImages:
    """The pictures of a folder, by their paths below it."""

    source: Path
    cut: Cut
    in_colour: bool = False  # whether grey pictures become RGB

    def read(self, name: str) -> np.ndarray:
        """A picture, brought to size."""
        picture = read_picture(self.source / name)
        return np.atleast_3d(np.asarray(self.cut(picture.convert("RGB") if self.in_colour else picture)))

    def id(self, name: str) -> int:
        """Of its path: other files may come and go."""
        return image_id(name)

    def key(self, name: str) -> str:
        """The path without suffix. What readers of shards would misunderstand is written as in addresses.

        They take everything after the first dot for the extension, and leave out folders like `__this__`.

        >>> images = FolderImages(Path("val"), Cut())
        >>> images.key("v1.0/a.JPEG"), images.key("v1.0/a.b.JPEG"), images.key("__old__/100%.png")
        ('v1.0/a', 'v1.0/a%2Eb', '%5F_old__/100%25')
        """
        folder, slash, file = name.replace("%", quote("%")).rpartition("/")
        key = folder + slash + file.rpartition(".")[0].replace(".", "%2E")
        return f"%5F{key[1:]}" if key.startswith("__") else key

    def files(self, names: Iterable[str]) -> list[Path]:
        """A file each."""
        return [self.source / name for name in names]


@dataclass(frozen=True)
class ArrayImages:
    """The images of an array, by their positions.

    A .npy file is mapped into memory. An .npz cannot be: it is loaded, where it has not been `unpacked`. Images that
    are in no file are `given`, for this process alone: others read them unpacked.
    """

    source: Path
    unpacked: Path | None = None
    given: np.ndarray | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "given": None}

    def open(self) -> np.ndarray:
        """All images."""
        if self.given is not None:
            return self.given
        is_there = self.unpacked is not None and self.unpacked.exists()
        return _open_images(self.unpacked if is_there else self.source)

    def read(self, name: int) -> np.ndarray:
        """An image."""
        return np.atleast_3d(np.array(self.open()[name]))

    def id(self, name: int) -> int:
        """The position."""
        return name

    def key(self, name: int) -> str:
        """The position, with zeros so that sorted names are in order."""
        return f"{name:08d}"

    def files(self, names: Iterable[int]) -> list[Path]:
        """None."""
        return []


@lru_cache(maxsize=1)
def _open_images(path: Path) -> np.ndarray:
    """The images of an array file, once per process."""
    return open_arrays(path).images


@dataclass(frozen=True)
class PictureJob:
    """What all tasks of an export share that makes picture files."""

    images: Images
    store: Store
    suite: Suite
    levels: dict[str, Levels]
    seed: int
    save: str

    def output(self, name: str) -> str:
        """The name of a corrupted picture in the folder of its cell."""
        return output_name(name, self.save)

    def beside(self, batch: Batch, entry: str, severity: int | None) -> dict[str, bytes]:
        """Further files of a batch, by their names in the folder of the cell; they are written before its pictures."""
        return {}

    def corrupt(self, batch: Batch, entry: str, severity: int | None) -> dict[Name, bytes]:
        """The corrupted files of a batch, by the images' names."""
        raise_if_stopping()
        names, pixels = zip(*batch, strict=True)
        ids = [self.images.id(name) for name in names]
        out = corrupt(np.stack(pixels), entry, severity, suite=self.suite, ids=ids, seed=self.seed)
        return {name: encode(corrupted, self.save) for name, corrupted in zip(names, out, strict=True)}


def output_name(name: str, save: str) -> str:
    """The name of a corrupted picture: lossless files end in .png, JPEGs keep the name if it was one of a JPEG.

    >>> output_name("cats/a.JPEG", "png"), output_name("cats/a.JPEG", "jpeg"), output_name("cats/a.bmp", "jpeg")
    ('cats/a.png', 'cats/a.JPEG', 'cats/a.jpg')
    """
    stem, _, suffix = name.rpartition(".")
    if save == "png":
        return f"{stem}.png"
    return name if suffix.lower() in ("jpg", "jpeg") else f"{stem}.jpg"


def read_batches(images: Images, names: Iterable[Name]) -> tuple[list[Batch], dict[Name, str]]:
    """Read some images, those of one size together, and say why others could not be read."""
    batches: dict[tuple[int, ...], Batch] = {}
    failures = {}
    for name in names:
        raise_if_stopping()
        try:
            pixels = images.read(name)
            batches.setdefault(pixels.shape, []).append((name, pixels))
        except Exception as error:  # Pillow's decoders raise whatever they please on a broken file
            if isinstance(error, MemoryError) or getattr(error, "errno", None) in ILL:
                raise
            failures[name] = failure_reason(error)
    return list(batches.values()), failures


def check_names(names: Sequence[str], become: Callable[[str], str], advice: str) -> None:
    """Refuse two pictures whose results would have one name."""
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(become(name), name)
        if other != name:
            raise ValueError(f"{other} and {name} would both become {become(name)}; rename one of them{advice}")


def encode(pixels: np.ndarray, save: str) -> bytes:
    """The file's content. Made in memory, because Pillow hides the reason why a file could not be written."""
    picture = Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    file = io.BytesIO()
    if save == "png":
        picture.save(file, "PNG", compress_level=1)  # a third of the default's time, for a tenth more bytes
    else:
        picture.save(file, "JPEG", quality=PUBLISHED_QUALITY, optimize=True)
    return file.getvalue()
