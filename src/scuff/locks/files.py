"""Corrupted images that somebody wrote, cell by cell, in every layout that `scuff corrupt` has, and as published.

NAME.npy with all severities one after the other; NAME/SEVERITY.npz; NAME/SEVERITY/ with pictures or tar files in it.
NAME may lie in a folder of its group, as in ImageNet-C, and entries without levels leave SEVERITY out.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from scuff.ahead import count_processors
from scuff.arrays import check_images, open_arrays, read_array
from scuff.data.published import LABELS, written_levels
from scuff.locks.lock import Lock
from scuff.locks.recipe import Cell
from scuff.locks.sums import content_of
from scuff.pictures import SUFFIXES, list_pictures, read_picture
from scuff.random import image_id

AT_ONCE = 256  # images that are read together
JPEG = (".jpg", ".jpeg")


@dataclass(frozen=True)
class SeenCell:
    """The images of a cell as they lie there: `read(k)` is image k as (H, W, C), known by `ids[k]`."""

    place: Path
    ids: list[int]
    read: Callable[[int], np.ndarray] = field(repr=False)
    labels: list[int] | None = field(default=None, repr=False)
    names: Sequence[str] | None = field(default=None, repr=False)
    has_jpegs: bool = False

    def contents(self, wanted: Iterable[int] | None = None) -> Iterator[tuple[int, bytes]]:
        """Pairs of an id and a content: of all images in order, or of those at some places."""
        places = list(range(len(self.ids)) if wanted is None else wanted)
        with ThreadPoolExecutor(count_processors()) as pool:
            for start in range(0, len(places), AT_ONCE):
                some = places[start : start + AT_ONCE]
                found = pool.map(lambda k: content_of(self.read(k)), some)
                yield from zip((self.ids[k] for k in some), found, strict=True)


def find_cells(lock: Lock, folder: Path, source_ids: Sequence[int] | None = None) -> dict[Cell, SeenCell]:
    """The cells of a lock that are in a folder. `source_ids` are those of the images in their order, if it is known."""
    if not folder.is_dir():
        raise ValueError(f"expected a folder of corrupted images, got {folder}")
    found: dict[Cell, SeenCell] = {}
    for entry, levels in lock.levels.items():
        aliases = [alias for alias, meant in lock.suite.aliases.items() if meant == entry]
        for name in (entry, *aliases):
            for base in (folder / name, *sorted(folder.glob(f"*/{name}"))):
                array = base.with_name(f"{name}.npy")
                if array.is_file():
                    found |= _array_cells(lock, entry, array, source_ids)
                for level in levels:
                    seen = _find_cell(lock, base if level is None else base / str(level), source_ids)
                    if seen is not None:
                        found.setdefault((entry, level), seen)
    if not found:
        names = ", ".join(sorted(p.name for p in folder.iterdir())[:8]) or "nothing"
        first = next(iter(lock.levels))
        raise ValueError(f"{folder} holds no cell of the lock; expected {first}.npy or {first}/1/..., found {names}")
    return found


def _array_cells(
    lock: Lock, entry: str, file: Path, source_ids: Sequence[int] | None
) -> dict[tuple[str, int | None], SeenCell]:
    """The blocks of a .npy, one for each severity."""
    images = read_array(file, mapped=True)
    check_images(file, images)
    own = lock.levels[entry]
    levels = written_levels(file.parent) or (own if len(images) == len(own) * lock.images else lock.suite.levels(entry))
    count = -(-len(images) // len(levels))
    labels = read_array(file.parent / LABELS) if (file.parent / LABELS).exists() else None
    cells = {}
    for place, level in enumerate(levels):
        block = slice(place * count, (place + 1) * count)
        if (entry, level) in lock.cells:
            # One file of labels serves all severities: it may hold them once, or as often as there are severities.
            some = None if labels is None else labels[block] if len(labels) > count else labels
            cells[entry, level] = _array_cell(lock, file, images[block], some, source_ids)
    return cells


def _array_cell(
    lock: Lock, file: Path, images: np.ndarray, labels: np.ndarray | None, source_ids: Sequence[int] | None
) -> SeenCell:
    if lock.known_by == "names" and source_ids is None:
        raise ValueError(
            f"{lock.place} knows pictures by their names, and those in {file} have none; add --data, to know their "
            "order"
        )
    known = source_ids if lock.known_by == "names" and source_ids is not None else range(len(images))
    ids = [*known, *range(-1, -1 - len(images), -1)][: len(images)]  # more images than names: strangers
    return SeenCell(
        file, ids, lambda k: np.atleast_3d(np.asarray(images[k])), None if labels is None else labels.tolist()
    )


def _find_cell(lock: Lock, base: Path, source_ids: Sequence[int] | None) -> SeenCell | None:
    archive, shard = base.with_name(f"{base.name}.npz"), base.with_name(f"{base.name}.tar")
    if archive.is_file():
        arrays = open_arrays(archive)
        return _array_cell(lock, archive, arrays.images, arrays.labels, source_ids)
    tars = [shard] if shard.is_file() else sorted(base.glob("*.tar")) if base.is_dir() else []
    if tars:
        return _tar_cell(lock, base, tars)
    if not base.is_dir():
        return None
    names = list_pictures(base)
    stems = [os.path.splitext(name)[0] for name in names]
    return SeenCell(
        base,
        _ids_of(lock, stems),
        lambda k: _decode(lock, base / names[k]),
        names=names,
        has_jpegs=any(name.lower().endswith(JPEG) for name in names),
    )


def _tar_cell(lock: Lock, base: Path, tars: list[Path]) -> SeenCell:
    """Pictures in tar files. They stay there: each is read when it is needed."""
    pictures: dict[str, tuple[Path, int, int]] = {}
    labels: dict[str, int] = {}
    suffixes = set()
    for path in tars:
        try:
            with tarfile.open(path) as tar:
                for member in tar:
                    stem, suffix = os.path.splitext(member.name)
                    if suffix.lower() in SUFFIXES:
                        pictures[stem] = (path, member.offset_data, member.size)
                        suffixes.add(suffix.lower())
                    elif suffix == ".cls":
                        content = tar.extractfile(member)
                        labels[stem] = int(content.read()) if content is not None else -1
        except (tarfile.TarError, ValueError, EOFError) as error:
            raise ValueError(f"cannot read {path} as a tar file of pictures: {error}") from error
    keys = sorted(pictures)

    def read(k: int) -> np.ndarray:
        path, start, size = pictures[keys[k]]
        with open(path, "rb") as file:
            file.seek(start)
            return _decode(lock, io.BytesIO(file.read(size)))

    own = [labels[key] for key in keys] if labels.keys() == pictures.keys() else None
    names = [unquote(key) for key in keys]
    return SeenCell(base, _ids_of(lock, names), read, own, names, not suffixes.isdisjoint(JPEG))


def _ids_of(lock: Lock, stems: list[str]) -> list[int]:
    """What pictures are known by: their names, or their numbers, or their places in the order of names."""
    if lock.known_by == "names":
        return list(map(image_id, stems))
    numbers = [stem.rpartition("/")[2] for stem in stems]
    if all(number.isdecimal() for number in numbers):
        return [int(number[:18]) for number in numbers]
    return list(range(len(stems)))


def _decode(lock: Lock, file: Path | io.BytesIO) -> np.ndarray:
    """A picture as a lock means it: those with names are RGB, those of arrays have the channels that they have."""
    try:
        picture = read_picture(file)
    except Exception as error:  # Pillow's decoders raise whatever they please on a broken file
        name = file if isinstance(file, Path) else "in a tar file"
        raise ValueError(f"cannot read the picture {name}: {error}") from error
    return np.atleast_3d(np.asarray(picture.convert("RGB") if lock.known_by == "names" else picture))
