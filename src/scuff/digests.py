"""What is known of many files, remembered by their size, times and inode: what has not changed is not read again."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from scuff.ahead import Items, can_fork, count_processors, work_ahead
from scuff.files import file_digest, show_stamp, write_by_rename

READERS = 8  # files at once, however few processors there are: disks and networks answer sooner together
READ, SEEN = 64, 4096  # files that are read, or only looked at, at a time
FEW = 16  # such pieces, up to which threads are done before processes have begun
WORTH_IT = 16 << 20  # bytes, from which on answers are remembered: reading less takes a moment
DIGESTS = "digests"
GONE = 1  # the key of a file that is not there

Progress = Callable[[int, int], None]


def digest_files(root: str | os.PathLike[str], names: Sequence[str]) -> np.ndarray:
    """64 bits of a hash of each file's content, uint64 (n,), by the files' paths below a folder."""
    return ask_files(root, names, (DIGESTS,), _digest)[:, 0]


def ask_files(
    root: str | os.PathLike[str],
    names: Sequence[str],
    questions: Sequence[str],
    ask: Callable[[str], Sequence[int]],
    progress: Progress | None = None,
) -> np.ndarray:
    """What `ask` answers to the path of each file, uint64 (n, questions). Answers but 0 are remembered.

    One reading of a file answers all questions, and a file that has several names is read once.
    """
    start = os.path.join(root, "")
    keys, files, sizes = ask_all(partial(_look, start, names), len(names), 3, SEEN, threads=1).T
    places = [_place_of(root, question) for question in questions]
    known = [_read(place) for place in places]
    found = [np.minimum(np.searchsorted(table[:, 0], keys), len(table) - 1) for table in known]
    answers = np.stack([table[at, 1] for table, at in zip(known, found, strict=True)], axis=1)
    is_known = np.all([table[at, 0] == keys for table, at in zip(known, found, strict=True)], axis=0)
    unknown = np.flatnonzero(~is_known)
    _, first, same = np.unique(files[unknown], return_index=True, return_inverse=True)
    order = np.argsort(first)  # that of the names, in which files often lie on a disk
    asked = unknown[first[order]]
    told = ask_all(partial(_ask, ask, start, names, asked), len(asked), len(places), READ, progress)
    answers[unknown] = told[np.argsort(order)[same]]
    if sizes[asked].sum() >= WORTH_IT:
        for column, (place, table) in enumerate(zip(places, known, strict=True)):
            new = unknown[(answers[unknown, column] != 0) & (keys[unknown] != GONE)]  # what failed is tried again
            _remember(place, table, np.stack([keys[new], answers[new, column]], axis=1))
    return answers


def ask_all(
    ask: Callable[[int], Sequence[int]],
    count: int,
    columns: int = 1,
    piece: int = READ,
    progress: Progress | None = None,
    threads: int | None = None,
) -> np.ndarray:
    """What `ask` answers to each of `count` numbers, uint64 (count, columns).

    Few are asked by threads: one is best where answers take no longer than to hand over Python's lock. Many are asked
    by processes, of which each has a lock of its own.
    """
    answers, done = np.zeros((count, columns), np.uint64), 0
    for part in side_by_side(_Pieces(ask, count, piece), threads):
        told = np.frombuffer(part, np.uint64).reshape(-1, columns)
        answers[done : done + len(told)] = told
        done += len(told)
        if progress is not None:
            progress(done, count)
    return answers


def side_by_side(pieces: Items, threads: int | None = None) -> Iterator[Any]:
    """Pieces in order, worked out by threads if they are few, by processes if they are many."""
    workers = max(READERS, count_processors())
    if len(pieces) > FEW and can_fork():
        yield from work_ahead(pieces, workers)
        return
    with ThreadPoolExecutor(threads or workers) as pool:
        yield from pool.map(pieces.__getitem__, range(len(pieces)))


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Answers, a piece at a time, as bytes: they go through a pipe as they are."""

    ask: Callable[[int], Sequence[int]]
    count: int
    size: int

    def __len__(self) -> int:
        return -(-self.count // self.size)

    def __getitem__(self, number: int) -> bytes:
        numbers = range(number * self.size, min((number + 1) * self.size, self.count))
        return np.array([self.ask(each) for each in numbers], np.uint64).tobytes()


def _look(start: str, names: Sequence[str], number: int) -> tuple[int, int, int]:
    """By what a file is remembered, which file it is, whatever its name, and its size. Of a million, in ten seconds."""
    path = start + names[number]
    try:
        about = os.stat(path)
    except OSError:  # whoever needs the file will say so
        return GONE, digest_content(_bytes(path)), 0
    key = digest_content(_bytes(f"{path}|{show_stamp(about)}"))
    file = hash((about.st_dev, about.st_ino)) % (1 << 64) if about.st_ino else key  # 0: nobody knows
    return key, file, about.st_size


def _ask(
    ask: Callable[[str], Sequence[int]], start: str, names: Sequence[str], asked: np.ndarray, number: int
) -> Sequence[int]:
    return ask(start + names[asked[number]])


def _place_of(root: str | os.PathLike[str], question: str) -> Path:
    return cache_folder(question) / f"{digest_content(os.path.realpath(root).encode()):016x}.npy"


def cache_folder(question: str = DIGESTS) -> Path:
    """Where digests are remembered."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "scuff" / question


def _read(place: Path) -> np.ndarray:
    """What is remembered, sorted by keys, uint64 (n, 2): never empty, for a search to find something."""
    with contextlib.suppress(OSError, ValueError, EOFError):
        known = np.load(place, allow_pickle=False)
        if known.dtype == np.uint64 and known.ndim == 2 and known.shape[1] == 2 and len(known):
            return known
    return np.zeros((1, 2), np.uint64)


def _remember(place: Path, known: np.ndarray, new: np.ndarray) -> None:
    together = np.concatenate([new, known])
    _, first = np.unique(together[:, 0], return_index=True)  # sorted, and a file that was asked again only once
    with contextlib.suppress(OSError), write_by_rename(place) as file:  # a home that is full or read-only
        np.save(file, together[first])


def _digest(path: str) -> tuple[int]:
    try:
        return (int.from_bytes(file_digest(path), "little"),)
    except OSError:
        return (0,)


def digest_content(content: bytes) -> int:
    """64 bits of a hash, as of a file with this content."""
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def _bytes(path: str) -> bytes:
    return path.encode(errors="surrogateescape")
