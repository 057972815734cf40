"""Array files: images in a .npy, or images and labels in a .npz, checked when they are opened."""

from __future__ import annotations

import contextlib
import hashlib
import io
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

IMAGES_KEYS = ("images", "x", "data")
LABELS_KEYS = ("labels", "y")
# What numpy and zipfile raise on broken files: the header of an array is a text in Python's syntax.
BROKEN = (
    *(ValueError, TypeError, KeyError, EOFError, OverflowError, MemoryError, RecursionError, NotImplementedError),
    *(SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
PIECE = 16 << 20  # bytes that are hashed at a time


@dataclass(frozen=True)
class ArrayFile:
    """Images (N, H, W) or (N, H, W, C), uint8, with or without labels, and the keys they were found under.

    Of data that is no file, `path` is only its name.
    """

    path: Path
    images: np.ndarray
    labels: np.ndarray | None = None
    images_key: str = IMAGES_KEYS[0]
    labels_key: str | None = None
    is_file: bool = True

    def fingerprint(self) -> str:
        """A hash of images and labels, which takes a second per gigabyte or so."""
        state = hashlib.blake2b(repr((self.images.shape, self.labels is None)).encode(), digest_size=8)
        feed(state, self.images)
        if self.labels is not None:
            state.update(npy_bytes(self.labels))
        return state.hexdigest()


def open_arrays(path: Path) -> ArrayFile:
    """Read a .npy of images, or a .npz of images and perhaps labels. Pickled objects are refused: they can run code."""
    with reading_arrays(path), open(path, "rb") as file:
        if file.read(len(np.lib.format.MAGIC_PREFIX)) == np.lib.format.MAGIC_PREFIX:
            opened = ArrayFile(path, np.load(path, mmap_mode="r", allow_pickle=False))
        else:
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                opened = _read_npz(path, arrays)
    check_images(path, opened.images)
    if opened.labels is not None:
        check_count(path, opened.images, opened.labels)
    return opened


@contextlib.contextmanager
def reading_arrays(path: Path | str) -> Iterator[None]:
    """Turn everything that numpy and zipfile raise on a broken file into one error that names it."""
    try:
        yield
    except BROKEN as error:
        raise ValueError(f"cannot read {path} as arrays: {error}") from error


def read_array(path: Path, mapped: bool = False) -> np.ndarray:
    """The array of a .npy, in memory or mapped from the file."""
    with reading_arrays(path):
        return np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)


def _read_npz(path: Path, file: Mapping[str, np.ndarray]) -> ArrayFile:
    images_key, labels_key = (next((k for k in keys if k in file), None) for keys in (IMAGES_KEYS, LABELS_KEYS))
    if images_key is None:
        raise ValueError(f"expected images under {' or '.join(IMAGES_KEYS)}, found the keys {', '.join(file)}")
    labels = None if labels_key is None else file[labels_key]
    return ArrayFile(path, file[images_key], labels, images_key, labels_key)


def check_images(path: Path | str, images: np.ndarray) -> None:
    """Refuse what is not a batch of 8-bit images, grey or RGB, channels last."""
    shape = images.shape
    if images.dtype != np.uint8:
        raise ValueError(f"{path}: expected uint8 pixels, got {images.dtype}; scale to 0..255 and convert")
    grey = len(shape) == 3 and shape[-1] not in (1, 3)  # otherwise it is rather one image with its channels
    if not grey and not (len(shape) == 4 and shape[-1] in (1, 3)):
        raise ValueError(f"{path}: expected images (N, H, W, 3), (N, H, W, 1) or (N, H, W), got {shape}")
    if 0 in shape:
        raise ValueError(f"{path} holds no pixels: its shape is {shape}")


def check_count(path: Path | str, images: np.ndarray, labels: np.ndarray) -> None:
    """Refuse labels that are not one per image."""
    if labels.ndim == 0 or len(labels) != len(images):
        raise ValueError(f"{path}: {len(images)} images need as many labels, got labels of shape {labels.shape}")


def pieces(images: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """The images in order, about `size` bytes at a time."""
    count = max(1, size // max(1, images[:1].nbytes))
    return (images[start : start + count] for start in range(0, len(images), count))


def feed(state: Any, array: np.ndarray) -> None:
    """Add an array to a hash, which takes a second per gigabyte or so."""
    for piece in pieces(array, PIECE):
        state.update(np.ascontiguousarray(piece))


def npy_bytes(array: np.ndarray) -> bytes:
    """The content of a .npy file."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()
