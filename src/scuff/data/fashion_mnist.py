"""Fashion-MNIST: the part that comes with the package, and the four idx files as they were published."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from importlib import resources
from pathlib import Path

import numpy as np

from scuff.data.folders import check_folder
from scuff.data.source import Source, array_source

CLASSES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")
PREFIXES = {"train": "train", "test": "t10k"}
UNSIGNED_BYTES = 0x08  # the third byte of an idx file: the kind of its numbers


def open_embedded(split: str, name: str = "fashion", border: int = 0) -> Source:
    """`fashion`: 10 000 training and 5 000 test images, as many of each class.

    `fashion-32` has a black `border` of two pixels around each: corruptions made for 32 pixels are then as strong as
    their authors meant them, not scaled to 28 pixels, where small kernels no longer grow with every severity.
    """
    archive = resources.files(__package__) / "fashion" / "fashion.npz"
    with archive.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        images = np.pad(arrays[f"x_{split}"], ((0, 0), (border, border), (border, border)))
        return array_source(name, images, arrays[f"y_{split}"], CLASSES)


def open_fashion_mnist(path: Path, split: str) -> Source:
    """`fashion-mnist:DIR`: the idx files, packed by gzip or plain."""
    check_folder(path)
    images = read_idx(_find(path, f"{PREFIXES[split]}-images-idx3-ubyte"), 3)
    labels = read_idx(_find(path, f"{PREFIXES[split]}-labels-idx1-ubyte"), 1)
    if len(images) != len(labels):
        raise ValueError(f"{path}: {len(images)} images need as many labels, got {len(labels)}")
    return array_source("fashion-mnist", images, labels, CLASSES)


def _find(path: Path, name: str) -> Path:
    for file in (path / f"{name}.gz", path / name):
        if file.exists():
            return file
    raise ValueError(f"there is neither {name}.gz nor {name} in {path}")


def read_idx(file: Path, dimensions: int) -> np.ndarray:
    """An array from an idx file: a magic number, the size of every dimension (big endian), then the bytes."""
    try:
        content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"cannot unpack {file}: {error}; fetch it again") from error
    start = 4 + 4 * dimensions
    if content[:4] != bytes((0, 0, UNSIGNED_BYTES, dimensions)) or len(content) < start:
        begins = content[:4].hex()
        raise ValueError(f"{file} is no idx file of bytes in {dimensions} dimensions: it begins with {begins}")
    shape = struct.unpack(f">{dimensions}I", content[4:start])
    if len(content) - start != math.prod(shape):
        size = " x ".join(map(str, shape))
        raise ValueError(f"{file} should hold {size} bytes, got {len(content) - start}; fetch it again")
    return np.frombuffer(bytearray(content[start:]), np.uint8).reshape(shape)
