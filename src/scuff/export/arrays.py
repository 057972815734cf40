"""One array of images, corrupted cell by cell: a cell is a corruption at a severity."""

from __future__ import annotations

import contextlib
import shutil
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from scuff.arrays import ArrayFile, npy_bytes, pieces
from scuff.door import corrupt
from scuff.export.work import Done, Work
from scuff.files import write_by_rename
from scuff.pool import raise_if_stopping
from scuff.suites import Levels, Suite

PARTS = ".parts"
PIECE = 2 << 20  # bytes of pixels that are corrupted at a time: a fraction of a second


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


def plan_arrays(job: ArrayJob, source: ArrayFile) -> Work:
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


def _prepare(job: ArrayJob, source: ArrayFile, needed: bool) -> None:
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
                        part.write(npy_bytes(job.labels))
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
                file.write(npy_bytes(np.concatenate([job.labels] * len(levels))))
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
    return pieces(images, PIECE)


def _write_npy(file: BinaryIO, shape: tuple[int, ...], pieces: Iterable[np.ndarray]) -> None:
    """A .npy of uint8 from its pieces. By plain writes: through a memory map, a full disk would kill the process."""
    np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})
    for piece in pieces:
        file.write(np.ascontiguousarray(piece))
