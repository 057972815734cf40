"""A folder of pictures becomes a folder of pictures per corruption and severity, file by file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from scuff.engine import Advance
from scuff.export.images import CHUNK, PictureJob, check_names, read_batches
from scuff.export.places import check_seen
from scuff.export.seals import Seals, digest_origin, file_origin, list_outputs, seal_content, seal_output, stamp_origin
from scuff.export.work import Done, Left, Work
from scuff.pool import if_cut_short, raise_if_stopping

Missing = dict[int | None, np.ndarray]  # for each severity a byte per chunk, whose bits are the pictures


@dataclass(frozen=True)
class Chunk:
    """A task: some pictures, by one corruption, at all severities. Bits of a byte per severity: what is missing."""

    names: tuple[str, ...]
    entry: str
    missing: tuple[tuple[int | None, int], ...]

    @property
    def outputs(self) -> int:
        """Files to make."""
        return sum(bits.bit_count() for _, bits in self.missing)

    def __str__(self) -> str:
        return f"{self.entry}, {self.names[0]} to {self.names[-1]}"


def cell_folder(entry: str, severity: int | None) -> str:
    """Where a corruption at a severity lies in the destination.

    >>> cell_folder("fog", 3), cell_folder("fog", None)
    ('fog/3', 'fog')
    """
    return entry if severity is None else f"{entry}/{severity}"


def plan_folder(job: PictureJob, names: list[str], seals: Seals) -> Work:
    """What is left to do: everything but the files that a listing of the destination shows, and that are sealed."""
    other = "jpeg" if job.save == "png" else "png"
    check_names(names, job.output, f", or try --save {other}")
    check = _Outputs(job, names, seals)
    missing = {e: {s: check.missing(cell_folder(e, s)) for s in levels} for e, levels in job.levels.items()}
    return Work(
        len(names) * sum(map(len, job.levels.values())),
        {entry: _left(bits) for entry, bits in missing.items()},
        partial(_chunks, names, missing),
        partial(corrupt_chunk, job),
        stale=check.stale,
    )


class _Outputs:
    """Which outputs are missing, cell by cell; of each source, stamp and digest are found once."""

    def __init__(self, job: PictureJob, names: list[str], seals: Seals) -> None:
        self.store, self.seals, self.stale = job.store, seals, 0
        self.outputs = {name: job.output(name) for name in names}
        self.stamp = cache(lambda name: stamp_origin(job.images.files([name])))
        self.digest = cache(lambda name: digest_origin(job.images.files([name])))

    def missing(self, folder: str) -> np.ndarray:
        """A byte for every eight pictures. Of millions of files in a hundred cells, that is all to be remembered."""
        there = list_outputs(self.store, folder)
        good = np.zeros(len(self.outputs), bool)
        for place, (name, output) in enumerate(self.outputs.items() if there else ()):
            if output in there:
                path, origin = f"{folder}/{output}", (partial(self.stamp, name), partial(self.digest, name))
                good[place] = self.seals.confirm(path, there[output], *origin)
                self.stale += not good[place]
        return np.packbits(~good)


def _left(missing: Missing) -> Left:
    files = sum(map(_count_bits, missing.values()))
    any_of_them = np.bitwise_or.reduce(list(missing.values()))
    return Left(files, files, _count_bits(any_of_them), int(np.count_nonzero(any_of_them)))


def _count_bits(packed: np.ndarray) -> int:
    return int(np.unpackbits(packed).sum())


def _chunks(names: list[str], missing: dict[str, Missing]) -> Iterator[Chunk]:
    """Chunk by chunk, so that a picture's corruptions follow each other while its file is still in the page cache."""
    for number, start in enumerate(range(0, len(names), CHUNK)):
        chunk = tuple(names[start : start + CHUNK])
        for entry, bits in missing.items():
            wanted = tuple((severity, int(of[number])) for severity, of in bits.items() if of[number])
            if wanted:
                yield Chunk(chunk, entry, wanted)


def corrupt_chunk(job: PictureJob, chunk: Chunk, advance: Advance) -> Done:
    """Write what is missing of a chunk. A picture that cannot be read is reported; failing to write one raises."""
    check_seen(job.images.source, job.store)
    missing = {s: {name for k, name in enumerate(chunk.names) if bits & (128 >> k)} for s, bits in chunk.missing}
    wanted = set().union(*missing.values())
    origins = {name: file_origin(job.images.files([name])) for name in wanted}
    batches, failures = read_batches(job.images, [name for name in chunk.names if name in wanted])
    seals: list[int] = []
    begun: list[int] = []  # of the file that is being written
    written = 0

    def keep_seals() -> None:
        """What is written of a task that was stopped counts."""
        unfinished = Seals(job.store)
        unfinished.add([*seals, *begun])
        unfinished.write()

    with if_cut_short(keep_seals):
        for batch in batches:
            for severity, names in missing.items():
                chosen = [(name, pixels) for name, pixels in batch if name in names]
                if not chosen:
                    continue
                folder = cell_folder(chunk.entry, severity)
                for file, content in job.beside(chosen, chunk.entry, severity).items():
                    job.store.write(f"{folder}/{file}", content)
                for name, content in job.corrupt(chosen, chunk.entry, severity).items():
                    raise_if_stopping()
                    path = f"{folder}/{job.output(name)}"
                    begun = [seal_content(path, origins[name], content)]
                    job.store.write(path, content)
                    seals += seal_output(job.store, path, origins[name], content)
                    written += 1
                advance(written, chunk.outputs)
    return Done(written, failures, seals)
