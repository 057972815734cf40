"""One array of images becomes arrays, a corruption and a severity at a time.

In the layout of CIFAR-10-C, a corruption is one file. It is made in parts, a few thousand images at a severity each, so
that many workers can share it and little is lost when they are stopped; at the end the parts are joined.
"""

from __future__ import annotations

import contextlib
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from scuff.arrays import ArrayFile, npy_bytes, pieces
from scuff.door import corrupt
from scuff.engine import Advance
from scuff.export.folder import cell_folder
from scuff.export.images import ArrayImages, Batch, Name, PictureJob
from scuff.export.places import check_seen
from scuff.export.seals import Seals, file_origin, list_outputs, look, seal_output
from scuff.export.work import Done, Left, Work
from scuff.files import write_by_rename
from scuff.pool import raise_if_stopping
from scuff.store import Store

PARTS = ".parts"
UNPACKED = f"{PARTS}/.source/images.npy"  # the images of an .npz, while they are needed
PART = 16 << 20  # bytes of pixels in a part: five thousand images of CIFAR, half a minute's work
PIECE = 2 << 20  # bytes of pixels that are corrupted at a time: a fraction of a second


@dataclass(frozen=True)
class ArrayJob(PictureJob):
    """What all tasks of an export share."""

    layout: str
    shape: tuple[int, ...]
    labels: np.ndarray | None
    images_key: str
    labels_key: str | None

    def corrupt(self, batch: Batch, entry: str, severity: int | None) -> dict[Name, bytes]:
        """The corrupted pixels of a batch, by the images' positions."""
        names, pixels = zip(*batch, strict=True)
        out = self.corrupt_array(np.stack(pixels), entry, severity, names)
        return {name: corrupted.tobytes() for name, corrupted in zip(names, out, strict=True)}

    def corrupt_array(self, pixels: np.ndarray, entry: str, severity: int | None, ids: Sequence[int]) -> np.ndarray:
        """The corrupted pixels of some images in one array."""
        raise_if_stopping()
        options: dict[str, Any] = {"suite": self.suite, "seed": self.seed, "as_published": self.save == "jpeg"}
        batch = np.array(pixels if pixels.ndim == 4 else pixels[..., None])
        return corrupt(batch, entry, severity, ids=ids, **options).reshape(pixels.shape)

    def ranges(self) -> list[tuple[int, int]]:
        """The images of each task, from here to before there: all of them where a file cannot be made in parts."""
        count = self.shape[0]
        step = count if self.layout == "npz" else max(1, PART // int(np.prod(self.shape[1:])))
        return [(start, min(start + step, count)) for start in range(0, count, step)]


@dataclass(frozen=True)
class Cell:
    """A task: images from `start` to before `stop`, by one corruption, at one severity."""

    entry: str
    severity: int | None
    start: int
    stop: int
    layout: str
    outputs: int = 1

    @property
    def path(self) -> str:
        """Its name in the destination: a file of its own, or a part of what will be the corruption's .npy."""
        if self.layout == "npz":
            return f"{cell_folder(self.entry, self.severity)}.npz"
        return f"{PARTS}/{self.entry}/{self.severity or 0}-{self.start}-{self.stop}"

    def __str__(self) -> str:
        return f"{cell_folder(self.entry, self.severity)}, images {self.start} to {self.stop - 1}"


def joined_name(entry: str) -> str:
    """The file of all severities, in the layout of CIFAR-10-C."""
    return f"{entry}.npy"


def _cells(job: ArrayJob, entry: str) -> list[Cell]:
    return [Cell(entry, s, *between, job.layout) for s in job.levels[entry] for between in job.ranges()]


def plan_arrays(job: ArrayJob, seals: Seals) -> Work:
    """The cells that are left to do."""
    stale: list[str] = []
    cells = {entry: _missing(job, entry, partial(_is_good, job.store, seals, stale)) for entry in job.levels}
    images = {entry: sum(cell.stop - cell.start for cell in of) for entry, of in cells.items()}
    return Work(
        sum(len(_cells(job, entry)) for entry in job.levels),
        {entry: Left(len(of), images[entry], images[entry], len(of)) for entry, of in cells.items()},
        lambda: (cell for of in cells.values() for cell in of),
        partial(corrupt_cell, job),
        finish=partial(_finish, job),
        stale=len(stale),
    )


def _missing(job: ArrayJob, entry: str, is_good: Callable[[str, str | None], bool]) -> list[Cell]:
    cells = _cells(job, entry)
    if job.layout == "npz":
        return [cell for cell in cells if not is_good(cell.path, look(job.store, cell.path))]
    if is_good(joined_name(entry), look(job.store, joined_name(entry))):
        return []
    there = list_outputs(job.store, f"{PARTS}/{entry}")
    return [cell for cell in cells if not is_good(cell.path, there.get(cell.path.rpartition("/")[2]))]


def _is_good(store: Store, seals: Seals, stale: list[str], path: str, stamp: str | None) -> bool:
    """Whether an output is there, and sealed. Of which images it is made, the settings tell."""
    good = stamp is not None and seals.confirm(path, stamp, str, str)
    if stamp is not None and not good:
        stale.append(path)
    return good


def corrupt_cell(job: ArrayJob, cell: Cell, advance: Advance) -> Done:
    """Write one cell, a piece at a time."""
    check_seen(job.images.source, job.store)
    assert isinstance(job.images, ArrayImages)
    made = _corrupt_pieces(job, cell, job.images.open()[cell.start : cell.stop], advance)
    with job.store.writing(cell.path) as file:
        if job.layout == "npy":
            _write_pieces(file, made)
        else:
            with zipfile.ZipFile(file, "w") as archive:
                with archive.open(f"{job.images_key}.npy", "w", force_zip64=True) as part:
                    _write_npy(part, job.shape, made)
                if job.labels is not None:
                    with archive.open(f"{job.labels_key}.npy", "w") as part:
                        part.write(npy_bytes(job.labels))
    return Done(1, seals=seal_output(job.store, cell.path, file_origin(())))


def _corrupt_pieces(job: ArrayJob, cell: Cell, images: np.ndarray, advance: Advance) -> Iterator[np.ndarray]:
    start = cell.start
    for piece in pieces(images, PIECE):
        yield job.corrupt_array(piece, cell.entry, cell.severity, range(start, start + len(piece)))
        start += len(piece)
        advance(start - cell.start, len(images))


def _finish(job: ArrayJob) -> list[int]:
    """For the layout of CIFAR-10-C, join each corruption's parts, mildest first."""
    if job.layout == "npz":
        return []
    seals = [seal for entry in job.levels for seal in _join(job, entry)]
    if job.labels is not None:
        times = len(next(iter(job.levels.values())))  # the same for all
        labels = npy_bytes(np.concatenate([job.labels] * times))
        if not job.store.exists("labels.npy") or job.store.read("labels.npy") != labels:
            job.store.write("labels.npy", labels)
    return seals


def _join(job: ArrayJob, entry: str) -> list[int]:
    """One pass through the parts, each of which fits into memory; they are gone if that was done before."""
    parts, there = [cell.path for cell in _cells(job, entry)], job.store.names(f"{PARTS}/{entry}", "")
    seals = []
    if set(parts) <= set(there):
        with job.store.writing(joined_name(entry)) as file:
            _write_header(file, (job.shape[0] * len(job.levels[entry]), *job.shape[1:]))
            for part in parts:
                file.write(job.store.read(part))
        seals = seal_output(job.store, joined_name(entry), file_origin(()))
    for name in there:
        job.store.remove(name)
    return seals


# --- an .npz, which cannot be mapped ---------------------------------------------------------------------------------


def unpack(source: ArrayFile, images: Path) -> None:
    """Write the images of an .npz as a .npy, once for all workers, unless it is there."""
    if not images.exists():
        with write_by_rename(images) as file:
            _write_npy(file, source.images.shape, pieces(source.images, PIECE))


def tidy(store: Store, entries: Iterable[str]) -> None:
    """Remove the unpacked images, and folders that are empty by now: another run may have parts of its own there."""
    if store.is_local:
        parts = Path(store.address(PARTS))
        shutil.rmtree(Path(store.address(UNPACKED)).parent, ignore_errors=True)
        for folder in (*(parts / entry for entry in entries), parts):
            with contextlib.suppress(OSError):
                folder.rmdir()


# --- files ----------------------------------------------------------------------------------------------------------


def _write_npy(file: IO[bytes], shape: tuple[int, ...], made: Iterable[np.ndarray]) -> None:
    """A .npy of uint8 from its pieces. By plain writes: through a memory map, a full disk would kill the process."""
    _write_header(file, shape)
    _write_pieces(file, made)


def _write_header(file: IO[bytes], shape: tuple[int, ...]) -> None:
    np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})


def _write_pieces(file: IO[bytes], made: Iterable[np.ndarray]) -> None:
    for piece in made:
        file.write(np.ascontiguousarray(piece))
