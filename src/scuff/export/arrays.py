"""One array of images, corrupted cell by cell: a cell is a corruption at a severity."""

from __future__ import annotations

import contextlib
import hashlib
import io
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from scuff.door import corrupt
from scuff.export.work import Done, Levels, Work
from scuff.files import write_by_rename
from scuff.pool import raise_if_stopping
from scuff.suites import Suite

IMAGES_KEYS = ("images", "x", "data")
LABELS_KEYS = ("labels", "y")
PARTS = ".parts"
PIECE = 2 << 20  # bytes of pixels that are corrupted at a time: a fraction of a second


# --- sources --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ArraySource:
    """Images (N, H, W) or (N, H, W, C), uint8, with or without labels, and the keys they were found under."""

    path: Path
    images: np.ndarray
    labels: np.ndarray | None = None
    images_key: str = IMAGES_KEYS[0]
    labels_key: str | None = None

    def fingerprint(self) -> str:
        """A hash of images and labels, which takes a second per gigabyte or so."""
        state = hashlib.blake2b(repr((self.images.shape, self.labels is None)).encode(), digest_size=8)
        for piece in _pieces(self.images):
            state.update(np.ascontiguousarray(piece))
        if self.labels is not None:
            state.update(_npy_bytes(self.labels))
        return state.hexdigest()


def open_arrays(path: Path) -> ArraySource:
    """Read a .npy of images, or a .npz of images and perhaps labels. Pickled objects are refused: they can run code."""
    try:
        with open(path, "rb") as file:
            if file.read(len(np.lib.format.MAGIC_PREFIX)) == np.lib.format.MAGIC_PREFIX:
                source = ArraySource(path, np.load(path, mmap_mode="r", allow_pickle=False))
            else:
                file.seek(0)
                with np.load(file, allow_pickle=False) as arrays:
                    source = _read_npz(path, arrays)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"cannot read {path} as arrays: {error}") from error
    _check(source)
    return source


def _read_npz(path: Path, file: Mapping[str, np.ndarray]) -> ArraySource:
    images_key = next((k for k in IMAGES_KEYS if k in file), None)
    labels_key = next((k for k in LABELS_KEYS if k in file), None)
    if images_key is None:
        raise ValueError(f"expected images under {' or '.join(IMAGES_KEYS)}, found the keys {', '.join(file)}")
    labels = None if labels_key is None else file[labels_key]
    return ArraySource(path, file[images_key], labels, images_key, labels_key)


def _check(source: ArraySource) -> None:
    images, labels = source.images, source.labels
    shape = images.shape
    if images.dtype != np.uint8:
        raise ValueError(f"{source.path}: expected uint8 pixels, got {images.dtype}; scale to 0..255 and convert")
    grey = len(shape) == 3 and shape[-1] not in (1, 3)  # otherwise it is rather one image with its channels
    if not grey and not (len(shape) == 4 and shape[-1] in (1, 3)):
        raise ValueError(f"{source.path}: expected images (N, H, W, 3), (N, H, W, 1) or (N, H, W), got {shape}")
    if 0 in shape:
        raise ValueError(f"{source.path} holds no pixels: its shape is {shape}")
    if labels is not None and (labels.ndim == 0 or len(labels) != len(images)):
        raise ValueError(f"{source.path}: {len(images)} images need as many labels, got labels of shape {labels.shape}")


# --- tasks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ArrayJob:
    """What all tasks of an export share. Workers map `images`, a .npy file, into memory instead of loading it."""

    images: Path
    destination: Path
    layout: str
    suite: Suite
    levels: dict[str, Levels]
    seed: int
    as_published: bool
    labels: np.ndarray | None
    images_key: str
    labels_key: str | None

    def path(self, entry: str, severity: int | None) -> Path:
        """Where a cell goes: its own .npz, or a part of what will be the corruption's .npy."""
        if self.layout == "npz":
            return self.destination / (f"{entry}.npz" if severity is None else f"{entry}/{severity}.npz")
        return self.parts(entry) / f"{severity or 0}.npy"

    def parts(self, entry: str) -> Path:
        """The folder of a corruption's parts, until they are joined."""
        return self.destination / PARTS / entry

    def joined(self, entry: str) -> Path:
        """The file of all severities, in the layout of CIFAR-10-C."""
        return self.destination / f"{entry}.npy"


@dataclass(frozen=True)
class Cell:
    """A task: all images, by one corruption, at one severity."""

    entry: str
    severity: int | None
    outputs: int = 1


def plan_arrays(job: ArrayJob, source: ArraySource) -> Work:
    """The cells that are left to do."""
    cells = [Cell(e, s) for e, levels in job.levels.items() if not _is_joined(job, e) for s in levels]
    cells = [c for c in cells if not job.path(c.entry, c.severity).exists()]
    return Work(
        sum(map(len, job.levels.values())),
        cells,
        partial(corrupt_cell, job),
        partial(_prepare, job, source, bool(cells)),
        partial(_finish, job),
    )


def _is_joined(job: ArrayJob, entry: str) -> bool:
    return job.layout == "npy" and job.joined(entry).exists()


def _prepare(job: ArrayJob, source: ArraySource, needed: bool) -> None:
    """Unpack the images of an .npz, which cannot be mapped, once for all workers."""
    if needed and job.images != source.path and not job.images.exists():
        with write_by_rename(job.images) as file:
            _write_npy(file, source.images.shape, _pieces(source.images))


def unpacked(destination: Path) -> Path:
    """Where the images of an .npz lie while they are needed."""
    return destination / PARTS / ".source" / "images.npy"


def corrupt_cell(job: ArrayJob, cell: Cell) -> Done:
    """Write one cell, a piece at a time."""
    images = np.load(job.images, mmap_mode="r", allow_pickle=False)
    with write_by_rename(job.path(cell.entry, cell.severity)) as file:
        if job.layout == "npy":
            _write_npy(file, images.shape, _corrupt_pieces(job, cell, images))
        else:
            with zipfile.ZipFile(file, "w") as archive:
                with archive.open(f"{job.images_key}.npy", "w", force_zip64=True) as part:
                    _write_npy(part, images.shape, _corrupt_pieces(job, cell, images))
                if job.labels is not None:
                    with archive.open(f"{job.labels_key}.npy", "w") as part:
                        part.write(_npy_bytes(job.labels))
    return Done(1)


def _corrupt_pieces(job: ArrayJob, cell: Cell, images: np.ndarray) -> Iterator[np.ndarray]:
    start = 0
    for piece in _pieces(images):
        raise_if_stopping()
        batch = np.array(piece if piece.ndim == 4 else piece[..., None])
        ids = range(start, start + len(piece))
        options = {"suite": job.suite, "seed": job.seed, "as_published": job.as_published}
        yield corrupt(batch, cell.entry, cell.severity, ids=ids, **options).reshape(piece.shape)
        start += len(piece)


def _finish(job: ArrayJob) -> None:
    """For the layout of CIFAR-10-C, join each corruption's parts, mildest first; then remove what was temporary."""
    if job.layout == "npy":
        for entry, levels in job.levels.items():
            _join(job, entry, levels)
        labels = job.destination / "labels.npy"
        if job.labels is not None and not labels.exists():
            with write_by_rename(labels) as file:
                file.write(_npy_bytes(np.concatenate([job.labels] * len(levels))))
    shutil.rmtree(unpacked(job.destination).parent, ignore_errors=True)
    with contextlib.suppress(OSError):  # there may be parts of corruptions that another run has begun
        (job.destination / PARTS).rmdir()


def _join(job: ArrayJob, entry: str, levels: Levels) -> None:
    if not job.joined(entry).exists():
        parts = [np.load(job.path(entry, s), mmap_mode="r", allow_pickle=False) for s in levels]
        with write_by_rename(job.joined(entry)) as file:
            count, *shape = parts[0].shape
            _write_npy(file, (count * len(parts), *shape), (piece for part in parts for piece in _pieces(part)))
    shutil.rmtree(job.parts(entry), ignore_errors=True)


# --- files ----------------------------------------------------------------------------------------------------------


def _pieces(images: np.ndarray) -> Iterator[np.ndarray]:
    count = max(1, PIECE // max(1, images[:1].nbytes))
    return (images[start : start + count] for start in range(0, len(images), count))


def _write_npy(file: BinaryIO, shape: tuple[int, ...], pieces: Iterable[np.ndarray]) -> None:
    """A .npy of uint8 from its pieces. By plain writes: through a memory map, a full disk would kill the process."""
    np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})
    for piece in pieces:
        file.write(np.ascontiguousarray(piece))


def _npy_bytes(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()
