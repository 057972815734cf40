"""Seals of what an export has made: an output that was damaged, or whose source has changed since, is made again.

A seal is 64 bits of a hash over an output's name, the source that it was made of, and itself. There are two of each:
over size, times and inode of the files, which tells at a glance that nothing has changed; and over their contents,
which still fits when the files were copied elsewhere. The journal of the export keeps them, `progress/*.seals`.
Elsewhere than on this machine, what is known of an output without fetching it is its size and, in a bucket, its entity
tag, which S3, Google and Azure keep for every object: both seals have that.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import fsspec
import numpy as np

from scuff.engine.journal import FOLDER
from scuff.files import file_digest, file_stamp
from scuff.store import Store

SECONDS_BETWEEN = 5.0  # two writings
SUFFIX = ".seals"

TAGS = ("ETag", "md5Hash", "etag")  # what S3, Google and Azure call them

Origin = tuple[str, str]  # of what an output is made of: a stamp, and a digest


def seal_output(store: Store, path: str, origin: Origin, content: bytes | None = None) -> list[int]:
    """The seals of an output that has just been written; with its content, it is not read again."""
    stamp = look(store, path) or "gone"
    if content is not None and store.is_local:
        return [_seal(path, origin[0], stamp), seal_content(path, origin, content)]
    return [_seal(path, origin[0], stamp), _seal(path, origin[1], _digest(store, path, stamp))]


def seal_content(path: str, origin: Origin, content: bytes) -> int:
    """The seal of an output of this machine that may not be written yet: it fits the file once that is complete."""
    return _seal(path, origin[1], hashlib.blake2b(content, digest_size=8).hexdigest())


def look(store: Store, path: str) -> str | None:
    """What is known of an output at a glance; None if it is not there."""
    try:
        return file_stamp(store.address(path)) if store.is_local else _stamp(store.info(path))
    except FileNotFoundError:
        return None


def _stamp(about: Mapping[str, Any]) -> str:
    """What a bucket tells of a file: its size, and a tag that changes with the content, if it has one.

    >>> _stamp({"size": 3, "ETag": '"9e10"'}), _stamp({"size": 3})
    ('3 9e10', '3')
    """
    tag = next((str(about[key]) for key in TAGS if about.get(key)), "")
    return f"{about['size']} {tag}".replace('"', "").strip()


def file_origin(paths: Iterable[str | os.PathLike[str]]) -> Origin:
    """The origin of what is made of some files."""
    paths = list(paths)
    return stamp_origin(paths), digest_origin(paths)


def stamp_origin(paths: Iterable[str | os.PathLike[str]]) -> str:
    """What can be said of files at a glance."""
    return _join(paths, file_stamp)


def digest_origin(paths: Iterable[str | os.PathLike[str]]) -> str:
    """What is said of files by their contents."""
    return _join(paths, lambda path: file_digest(path).hex())


def list_outputs(store: Store, below: str) -> dict[str, str]:
    """The files in a folder and its folders, by their names from there, with what is known of them at a glance."""
    start = len(below) + 1
    if store.is_local:
        names = [name for name in store.names(below, "") if not name.rpartition("/")[2].startswith(".")]
        return {name[start:]: _or_gone(file_stamp, store.address(name)) for name in names}
    files, path = fsspec.core.url_to_fs(store.address(below))
    files.invalidate_cache()  # workers elsewhere have written since
    found = files.find(path, detail=True)
    return {name[len(path.rstrip("/")) + 1 :]: _stamp(about) for name, about in found.items()}


class Seals:
    """The seals of a destination: those that earlier runs have left, and those of this one."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.parts: list[str] | None = None  # files that are known; None before somebody asks
        self.known: np.ndarray = np.empty(0, np.uint64)
        self.fresh: list[int] = []
        self.written = time.monotonic()

    def confirm(self, path: str, stamp: str, origin: Callable[[], str], content: Callable[[], str]) -> bool:
        """Whether an output that is there is sealed; `origin` and `content` give the stamp and digest of its source."""
        if self.parts is None:
            self._load()
        at_a_glance = _seal(path, origin(), stamp)
        if self._holds(at_a_glance):
            return True
        if not self._holds(_seal(path, content(), _digest(self.store, path, stamp))):
            return False
        self.fresh.append(at_a_glance)  # files were copied: next time, a glance will do
        return True

    def add(self, seals: Iterable[int]) -> None:
        """Keep seals, and write them down every few seconds."""
        self.fresh += seals
        if time.monotonic() - self.written >= SECONDS_BETWEEN:
            self.write()

    def write(self) -> None:
        """Write what is new into a file of its own. Without it, outputs are made again: they matter more."""
        self.written = time.monotonic()
        if self.fresh:
            with contextlib.suppress(OSError, ValueError):
                self._save(np.array(self.fresh, np.uint64))
                self.fresh = []

    def close(self) -> None:
        """Write what is new, and put all files together into one."""
        self.write()
        if self.parts is None or len(self.parts) < 2:
            return
        with contextlib.suppress(OSError, ValueError):
            earlier = self.parts
            self._load()
            self._save(self.known)
            for name in earlier:
                self.store.remove(name)

    def _save(self, seals: np.ndarray) -> None:
        name = f"{FOLDER}/{secrets.token_hex(8)}{SUFFIX}"
        self.store.write(name, seals.tobytes())
        self.parts = [*(self.parts or ()), name]

    def _load(self) -> None:
        self.parts = []
        for name in self.store.names(FOLDER, SUFFIX):
            with contextlib.suppress(FileNotFoundError):  # another run has just put it together with others
                content = self.store.read(name)
                self.known = np.union1d(self.known, np.frombuffer(content[: len(content) // 8 * 8], np.uint64))
                self.parts.append(name)

    def _holds(self, seal: int) -> bool:
        place = int(np.searchsorted(self.known, np.uint64(seal)))
        return place < len(self.known) and int(self.known[place]) == seal


def _seal(path: str, origin: str, output: str) -> int:
    text = "\0".join((path, origin, output)).encode(errors="surrogateescape")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def _digest(store: Store, path: str, stamp: str) -> str:
    return _or_gone(lambda place: file_digest(place).hex(), store.address(path)) if store.is_local else stamp


def _join(paths: Iterable[str | os.PathLike[str]], tell: Callable[..., str]) -> str:
    return "|".join(_or_gone(tell, path) for path in paths)


def _or_gone(tell: Callable[..., str], path: str | os.PathLike[str]) -> str:
    try:
        return tell(path)
    except OSError:
        return "gone"
