"""A folder of pictures, corrupted file by file."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np
from PIL import Image

from scuff.door import PUBLISHED_QUALITY, corrupt
from scuff.export.work import Done, Work
from scuff.files import write_by_rename
from scuff.pictures import crop_centre, failure_reason, read_picture, resize_shorter_side
from scuff.pool import raise_if_stopping
from scuff.random import image_id
from scuff.suites import Levels, Suite

CHUNK = 8  # pictures per task: enough to fill a batch, few enough for a steady progress bar


@dataclass(frozen=True)
class FolderJob:
    """What all tasks of an export share."""

    source: Path
    destination: Path
    suite: Suite
    levels: dict[str, Levels]
    seed: int
    resize: int | None
    crop: int | None
    save: str

    def path(self, name: str, entry: str, severity: int | None) -> str:
        """Where a corrupted picture goes. Plain text, because a large export asks millions of times."""
        level = "" if severity is None else str(severity)
        return os.path.join(self.destination, entry, level, output_name(name, self.save))


@dataclass(frozen=True)
class Chunk:
    """A task: some pictures, by one corruption, at all severities."""

    names: tuple[str, ...]
    entry: str
    outputs: int


def output_name(name: str, save: str) -> str:
    """The name of a corrupted picture: lossless files end in .png, JPEGs keep the name if it was one of a JPEG.

    >>> output_name("cats/a.JPEG", "png"), output_name("cats/a.JPEG", "jpeg"), output_name("cats/a.bmp", "jpeg")
    ('cats/a.png', 'cats/a.JPEG', 'cats/a.jpg')
    """
    path = PurePosixPath(name)
    if save == "png":
        return str(path.with_suffix(".png"))
    return name if path.suffix.lower() in (".jpg", ".jpeg") else str(path.with_suffix(".jpg"))


def check_names(names: list[str], save: str) -> None:
    """Refuse two pictures whose results would have one name."""
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(output_name(name, save), name)
        if other != name:
            raise ValueError(
                f"{other} and {name} would both become {output_name(name, save)}; rename one of them, "
                f"or try --save {'jpeg' if save == 'png' else 'png'}"
            )


def plan_folder(job: FolderJob, names: list[str]) -> Work:
    """The tasks that are left to do."""
    tasks = []
    for start in range(0, len(names), CHUNK):
        chunk = tuple(names[start : start + CHUNK])
        for entry, levels in job.levels.items():
            missing = sum(not os.path.exists(job.path(n, entry, s)) for n in chunk for s in levels)
            if missing:
                tasks.append(Chunk(chunk, entry, missing))
    return Work(len(names) * sum(map(len, job.levels.values())), tasks, partial(corrupt_chunk, job))


def corrupt_chunk(job: FolderJob, chunk: Chunk) -> Done:
    """Write what is missing of a chunk. A picture that cannot be read is reported; failing to write one raises."""
    levels = job.levels[chunk.entry]
    missing = {n: [s for s in levels if not os.path.exists(job.path(n, chunk.entry, s))] for n in chunk.names}
    batches: dict[tuple[int, ...], list[tuple[str, int, np.ndarray]]] = {}
    failures = {}
    for name in chunk.names:
        raise_if_stopping()
        try:
            if missing[name]:
                pixels = _read(job, name)
                batches.setdefault(pixels.shape, []).append((name, image_id(name), pixels))
        except Exception as error:  # Pillow's decoders raise whatever they please on a broken file
            failures[name] = failure_reason(error)
    written = 0
    for pictures in batches.values():
        for severity in levels:
            wanted = [picture for picture in pictures if severity in missing[picture[0]]]
            if not wanted:
                continue
            raise_if_stopping()
            names, ids, pixels = zip(*wanted, strict=True)
            out = corrupt(np.stack(pixels), chunk.entry, severity, suite=job.suite, ids=ids, seed=job.seed)
            for name, corrupted in zip(names, out, strict=True):
                with write_by_rename(job.path(name, chunk.entry, severity)) as file:
                    file.write(_encode(corrupted, job.save))
                written += 1
    return Done(written, failures)


def _read(job: FolderJob, name: str) -> np.ndarray:
    """A picture as (H, W, 3), or (H, W, 1) if it is grey."""
    picture = read_picture(job.source / name)
    if job.resize is not None:
        picture = resize_shorter_side(picture, job.resize)
    if job.crop is not None:
        picture = crop_centre(picture, job.crop)
    return np.atleast_3d(np.asarray(picture))


def _encode(pixels: np.ndarray, save: str) -> bytes:
    """The file's content. Made in memory, because Pillow hides the reason why a file could not be written."""
    picture = Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    file = io.BytesIO()
    if save == "png":
        picture.save(file, "PNG", compress_level=1)  # a third of the default's time, for a tenth more bytes
    else:
        picture.save(file, "JPEG", quality=PUBLISHED_QUALITY, optimize=True)
    return file.getvalue()
