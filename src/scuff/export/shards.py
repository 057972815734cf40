"""Shards for WebDataset: tar files of some hundred pictures each, per corruption and severity.

A shard is streamed into its file while it is made, so that a worker needs memory for a few pictures only, however large
they are. A picture that cannot be read is left out of its shards, and a record beside each says so. Such a shard counts
as finished until the picture can be read: then a later run makes it again.
"""

from __future__ import annotations

import contextlib
import io
import json
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import BinaryIO

import numpy as np

from scuff.engine import Advance
from scuff.export.folder import cell_folder
from scuff.export.images import CHUNK, Name, PictureJob, read_batches
from scuff.export.places import check_seen, list_sizes
from scuff.export.seals import Seals, digest_origin, file_origin, list_outputs, seal_output, stamp_origin
from scuff.export.work import Done, Left, Work
from scuff.readers import read_json
from scuff.store import Store

SIZE = 500  # pictures per shard: of 224 x 224 pixels as PNG, noise and all, at most 77 MB
INDEX = "shards.json"
EXTENSIONS = {"png": "png", "jpeg": "jpg"}
Add = Callable[[str, bytes], None]


@dataclass(frozen=True)
class Contents:
    """What is to be sharded, in order: names, and class indices if they are known."""

    names: Sequence[Name]
    labels: np.ndarray | None
    class_names: tuple[str, ...] | None
    size: int

    @property
    def shards(self) -> int:
        """How many shards a corruption at a severity has."""
        return -(-len(self.names) // self.size)

    def part(self, number: int) -> slice:
        """Which images are in a shard."""
        return slice(number * self.size, (number + 1) * self.size)

    def count(self, number: int) -> int:
        """How many they are."""
        return min(self.size, len(self.names) - number * self.size)


@dataclass(frozen=True)
class Shard:
    """A task: some images, by one corruption, at one severity, into one file."""

    entry: str
    severity: int | None
    number: int
    names: tuple[Name, ...] | range
    labels: tuple[int, ...] | None
    outputs: int = 1

    @property
    def path(self) -> str:
        """Its name in the destination, without suffix."""
        return f"{cell_folder(self.entry, self.severity)}/shard-{self.number:06d}"

    def __str__(self) -> str:
        return f"{self.path}.tar"


def shard_name(number: int) -> str:
    """The name of a shard's file."""
    return f"shard-{number:06d}.tar"


def record_name(number: int) -> str:
    """The name of the record of what a shard lacks."""
    return f"shard-{number:06d}.left-out.json"


def plan_shards(job: PictureJob, contents: Contents, seals: Seals) -> Work:
    """The shards that are not there or not sealed, and those that lack a picture which can be read by now."""
    stale, can_be_read = 0, cache(lambda name: not read_batches(job.images, [name])[1])  # each is tried once
    missing: dict[tuple[str, int | None], list[int]] = {}
    left_out: dict[str, str] = {}
    for entry, levels in job.levels.items():
        for severity in levels:
            there = list_outputs(job.store, cell_folder(entry, severity))
            good = _sealed(job, contents, seals, cell_folder(entry, severity), there)
            stale += sum(shard_name(number) in there for number in range(contents.shards)) - len(good)
            numbers, unreadable = _missing(job, cell_folder(entry, severity), contents.shards, good, there, can_be_read)
            missing[entry, severity] = numbers
            left_out |= unreadable
    return Work(
        contents.shards * len(missing),
        {entry: _left(contents, [missing[entry, s] for s in levels]) for entry, levels in job.levels.items()},
        partial(_tasks, contents, missing),
        partial(write_shard, job),
        finish=partial(write_index, job, contents),
        left_out=left_out,
        stale=stale,
    )


def _sealed(job: PictureJob, contents: Contents, seals: Seals, folder: str, there: Mapping[str, str]) -> set[int]:
    """The shards that are there, and as they were written, of pictures that are as they were."""
    good = set()
    for number in range(contents.shards):
        files = job.images.files(contents.names[contents.part(number)]) if shard_name(number) in there else []
        path, origin = f"{folder}/{shard_name(number)}", (partial(stamp_origin, files), partial(digest_origin, files))
        if shard_name(number) in there and seals.confirm(path, there[shard_name(number)], *origin):
            good.add(number)
    return good


def _missing(
    job: PictureJob,
    folder: str,
    shards: int,
    good: set[int],
    there: Mapping[str, str],
    can_be_read: Callable[[str], bool],
) -> tuple[list[int], dict[str, str]]:
    numbers: list[int] = []
    left_out: dict[str, str] = {}
    for number in range(shards):
        if number not in good:
            numbers.append(number)
        elif record_name(number) in there:
            record = _read_record(job.store, folder, number)
            if any(map(can_be_read, record)):
                numbers.append(number)
            else:
                left_out |= record
    return numbers, left_out


def _left(contents: Contents, missing: list[list[int]]) -> Left:
    numbers = [number for of_level in missing for number in of_level]
    images = sum(map(contents.count, numbers))
    return Left(len(numbers), images, images, len(numbers))


def _tasks(contents: Contents, missing: dict[tuple[str, int | None], list[int]]) -> Iterator[Shard]:
    for (entry, severity), numbers in missing.items():
        for number in numbers:
            part = contents.part(number)
            names = contents.names[part]
            labels = None if contents.labels is None else tuple(contents.labels[part].tolist())
            yield Shard(entry, severity, number, names if isinstance(names, range) else tuple(names), labels)


def write_shard(job: PictureJob, shard: Shard, advance: Advance) -> Done:
    """Write one shard. Its record, if it needs one, comes first: there is no moment without it."""
    check_seen(job.images.source, job.store)
    extension = EXTENSIONS[job.save]
    failures: dict[str, str] = {}
    origin = file_origin(job.images.files(shard.names))
    record = f"{shard.path}.left-out.json"
    with job.store.writing(f"{shard.path}.tar") as file:
        with writing_tar(file) as add:
            for start in range(0, len(shard.names), CHUNK):
                names = shard.names[start : start + CHUNK]
                batches, unreadable = read_batches(job.images, names)
                failures |= unreadable
                made: dict[Name, bytes] = {}
                for batch in batches:
                    made |= job.corrupt(batch, shard.entry, shard.severity)
                for place, name in enumerate(names, start):
                    if name in made:
                        add(f"{job.images.key(name)}.{extension}", made[name])
                        if shard.labels is not None:
                            add(f"{job.images.key(name)}.cls", str(shard.labels[place]).encode())
                advance(start + len(names), len(shard.names))
        if failures:
            job.store.write(record, json.dumps(failures, indent=2).encode())
    if not failures:
        job.store.remove(record)
    return Done(1, failures, seal_output(job.store, f"{shard.path}.tar", origin))


def write_index(job: PictureJob, contents: Contents) -> list[int]:
    """Write down which shards there are: of all corruptions of the suite that are complete, whichever run made them."""
    cells = []
    left_out: dict[str, str] = {}
    names = [shard_name(number) for number in range(contents.shards)]
    for entry in job.suite.entries:
        for severity in job.suite.levels(entry):
            folder = cell_folder(entry, severity)
            sizes = list_sizes(job.store, folder)
            if sizes.keys() >= set(names):
                lacking = [
                    _read_record(job.store, folder, n) if record_name(n) in sizes else {} for n in range(len(names))
                ]
                counts = [contents.count(number) - len(lacks) for number, lacks in enumerate(lacking)]
                cell = {"corruption": entry, "severity": severity, "names": [f"{folder}/{name}" for name in names]}
                cells.append({**cell, "counts": counts, "bytes": [sizes[name] for name in names]})
                left_out.update(pair for lacks in lacking for pair in lacks.items())
    index = {"images": len(contents.names), "classes": contents.class_names, "shards": cells, "left_out": left_out}
    job.store.write(INDEX, (json.dumps(index) + "\n").encode())
    return []


def _read_record(store: Store, folder: str, number: int) -> dict[str, str]:
    name = f"{folder}/{record_name(number)}"
    return read_json(store.read(name), f"{store.root}/{name}", dict[str, str])


@contextlib.contextmanager
def writing_tar(file: BinaryIO) -> Iterator[Add]:
    """A function that adds a file of a name and a content. Times, owners and modes are always the same.

    >>> file = io.BytesIO()
    >>> with writing_tar(file) as add:
    ...     add("a/b.cls", b"7")
    >>> _ = file.seek(0)
    >>> [(member.name, member.mtime, member.size) for member in tarfile.open(fileobj=file)]
    [('a/b.cls', 0, 1)]
    """
    # As a stream: the file may be on its way to another machine, where nobody can go back.
    with tarfile.open(fileobj=file, mode="w|", format=tarfile.PAX_FORMAT) as tar:

        def add(name: str, content: bytes) -> None:
            about = tarfile.TarInfo(name)  # whose times and owners are 0
            about.size, about.mode = len(content), 0o644
            tar.addfile(about, io.BytesIO(content))

        yield add
