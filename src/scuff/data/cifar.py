"""CIFAR-10: the pickles of its Python version, read without trusting them, or an .npz; and CIFAR-10.1."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from scuff.arrays import check_count, check_images, read_array, reading_arrays
from scuff.data.source import Source, array_source

CLASS_NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
BATCHES = {"train": tuple(f"data_batch_{k}" for k in range(1, 6)), "test": ("test_batch",)}
PUBLISHED_FOLDER = "cifar-10-batches-py"
PLANES = (3, 32, 32)  # a row of a batch: red, green, blue


def open_cifar10(path: Path, split: str) -> Source:
    """`cifar10:DIR`: the pickles in DIR, or an .npz with x_train, y_train, x_test, y_test, in DIR or given itself."""
    batches = path / PUBLISHED_FOLDER if (path / PUBLISHED_FOLDER).is_dir() else path
    has_batches = any((batches / name).exists() for names in BATCHES.values() for name in names)
    images, labels = _read_batches(batches, split) if has_batches else _read_npz(_find_npz(path), split)
    return array_source("cifar10", images, labels, CLASS_NAMES)


def open_cifar10_1(path: Path) -> Source:
    """`cifar10.1:DIR`: version 6, or the version whose data file is given."""
    data = path / "cifar10.1_v6_data.npy" if path.is_dir() else path
    if not data.name.endswith("_data.npy"):
        raise ValueError(f"expected a folder, or a file such as cifar10.1_v4_data.npy, got {path}")
    labels = data.with_name(data.name.removesuffix("_data.npy") + "_labels.npy")
    for file in (data, labels):
        if not file.exists():
            raise ValueError(f"there is no {file}; for version 4, give the file cifar10.1_v4_data.npy itself")
    images, numbers = read_array(data, mapped=True), read_array(labels)
    check_images(data, images)
    check_count(data, images, numbers)
    return array_source("cifar10.1", images, numbers, CLASS_NAMES)


def _find_npz(path: Path) -> Path:
    if path.is_file():
        return path
    archives = sorted(path.glob("*.npz"))
    if len(archives) != 1:
        names = ", ".join(file.name for file in archives) or "neither"
        raise ValueError(f"expected {BATCHES['test'][0]} and the like, or one .npz, in {path}; found {names}")
    return archives[0]


def _read_npz(path: Path, split: str) -> tuple[np.ndarray, np.ndarray]:
    keys = f"x_{split}", f"y_{split}"
    with reading_arrays(path), np.load(path, allow_pickle=False) as arrays:
        missing = [key for key in keys if key not in arrays]
        if missing:
            raise ValueError(f"expected {' and '.join(keys)}, found the keys {', '.join(arrays)}")
        images, labels = (arrays[key] for key in keys)
    check_images(path, images)
    check_count(path, images, labels)
    return images, labels


def _read_batches(path: Path, split: str) -> tuple[np.ndarray, np.ndarray]:
    """The images as (N, H, W, C): a view, because channels come first in the files, as torch wants them."""
    batches = [_read_batch(path / name) for name in BATCHES[split]]
    pixels = np.concatenate([data for data, _ in batches])
    return pixels.reshape(-1, *PLANES).transpose(0, 2, 3, 1), np.concatenate([labels for _, labels in batches])


def _read_batch(file: Path) -> tuple[np.ndarray, np.ndarray]:
    if not file.exists():
        raise ValueError(f"there is no {file}; unpack cifar-10-python.tar.gz again")
    try:
        with open(file, "rb") as content:
            batch = _PlainUnpickler(content, encoding="bytes").load()
        batch = {key.decode() if isinstance(key, bytes) else key: value for key, value in batch.items()}
        data, labels = batch["data"], np.asarray(batch["labels"])
    except Exception as error:  # a damaged pickle is a program that does anything, among what it is allowed
        raise ValueError(f"cannot read {file} as a batch of CIFAR-10: {error or type(error).__name__}") from error
    expected = np.prod(PLANES)
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 2 or data.shape[1] != expected:
        raise ValueError(f"{file}: expected data of (N, {expected}) bytes, got {getattr(data, 'shape', type(data))}")
    check_count(file, data, labels)
    return data, labels


def _dtype(name: bytes | str, align: int = 0, copy: int = 0) -> np.dtype:
    """numpy.dtype as Python 2 called it: with bytes, and with numbers for truths, of which newer numpys warn."""
    return np.dtype(name.decode() if isinstance(name, bytes) else name, bool(align), bool(copy))


_RECONSTRUCT = np.empty(0).__reduce__()[0]  # how numpy makes an array from a pickle; its module has moved

ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): _dtype,
    ("_codecs", "encode"): lambda text, encoding: text.encode("latin1"),  # how Python 3 writes bytes for Python 2
}


class _PlainUnpickler(pickle.Unpickler):
    """A pickle is a program. This one may build dictionaries, lists, numbers, texts and numpy arrays, nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which CIFAR-10 does not need")
        return ALLOWED[module, name]

    def persistent_load(self, identifier: Any) -> Any:
        raise pickle.UnpicklingError("it refers to something outside of the file")
