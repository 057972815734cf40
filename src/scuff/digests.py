"""What is known of many files, remembered by their size, times and inode: what has not changed is not read again."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from scuff.files import file_digest, file_stamp, write_by_rename

READERS = 8  # files at once: disks and networks answer sooner together, and hashing needs no lock of Python's
PIECE = 64  # files that a thread asks at a time
WORTH_IT = 16 << 20  # bytes, from which on digests are remembered: reading less takes a moment


def digest_files(root: str | os.PathLike[str], names: Sequence[str]) -> np.ndarray:
    """64 bits of a hash of each file's content, uint64 (n,), by the files' paths below a folder."""
    return ask_files(root, names, "digests", _digest)


def ask_files(
    root: str | os.PathLike[str],
    names: Sequence[str],
    question: str,
    ask: Callable[[str], int],
    readers: int = READERS,
    progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """What `ask` answers to the path of each file, uint64 (n,). Answers but 0 are remembered under the question."""
    paths = [os.path.join(root, name) for name in names]
    keys = np.fromiter(map(_key, paths), np.uint64, len(paths))
    place = _place_of(root, question)
    known = _read(place)
    found = np.minimum(np.searchsorted(known[:, 0], keys), len(known) - 1)
    answers = known[found, 1]
    unknown = np.flatnonzero(known[found, 0] != keys)
    answers[unknown] = ask_all(lambda k: ask(paths[k]), unknown.tolist(), readers, progress)
    new = unknown[answers[unknown] != 0]  # a file that could not be read is tried again
    if sum(os.path.getsize(paths[k]) for k in new) >= WORTH_IT:
        together = np.concatenate([known, np.stack([keys, answers], axis=1)[new]])
        with contextlib.suppress(OSError), write_by_rename(place) as file:  # a home that is full or read-only
            np.save(file, together[np.argsort(together[:, 0], kind="stable")])
    return answers


def ask_all(
    ask: Callable[[int], int],
    numbers: Sequence[int],
    readers: int = READERS,
    progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """What `ask` answers to each number, uint64 (n,), in several threads."""
    answers, done = np.zeros(len(numbers), np.uint64), 0
    pieces = [numbers[start : start + PIECE] for start in range(0, len(numbers), PIECE)]
    with ThreadPoolExecutor(readers) as pool:
        for piece in pool.map(lambda piece: [ask(number) for number in piece], pieces):
            answers[done : done + len(piece)] = piece
            done += len(piece)
            if progress is not None:
                progress(done, len(numbers))
    return answers


def _place_of(root: str | os.PathLike[str], question: str) -> Path:
    return cache_folder(question) / f"{_hash(os.path.realpath(root).encode()):016x}.npy"


def cache_folder(question: str = "digests") -> Path:
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


def _key(path: str) -> int:
    try:
        return _hash(f"{path}|{file_stamp(path)}".encode(errors="surrogateescape"))
    except OSError:  # whoever needs the file will say so
        return 1


def _digest(path: str) -> int:
    try:
        return int.from_bytes(file_digest(path), "little")
    except OSError:
        return 0


def _hash(content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")
