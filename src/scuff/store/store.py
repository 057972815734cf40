"""A folder of results under any path that fsspec understands: `runs/r50`, `s3://bucket/runs`, `memory://runs`."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import fsspec

from scuff.files import DISK_FULL, check_place, write_by_rename
from scuff.store.places import Unreachable, check_bucket, explaining, is_local, is_object_store, open_place, protocols

TOGETHER = 64  # files that are fetched at once: a few hundred kilobytes each


def find_file(address: str | os.PathLike[str]) -> tuple[Store, str]:
    """The folder of a file, and its name in it.

    >>> find_file("memory://nets/standard.safetensors")
    (Store('memory://nets'), 'standard.safetensors')
    """
    text = os.fspath(address)
    folder, _, name = text.rpartition("/")
    if not name:
        raise ValueError(f"expected the address of a file, got {text!r}")
    if folder.endswith(":/"):  # of memory://name, which is in no folder
        folder += "/"
    return Store(folder or ("/" if text.startswith("/") else ".")), name


class Store:
    """Small files under one root, by names with slashes. A file is whole or absent, whoever else writes beside it.

    Many processes on many machines may use the same root at once: what one has written, the others see. A store can be
    sent to other processes, which open it for themselves.

    >>> store = Store("memory://doctest/results")
    >>> store.write("rows/fog.txt", b"whole")
    >>> store.exists("rows/fog.txt"), store.read("rows/fog.txt"), store.names("rows", ".txt")
    (True, b'whole', ['rows/fog.txt'])
    >>> store.address("rows/fog.txt")
    'memory://doctest/results/rows/fog.txt'
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.path.expanduser(os.fspath(root))
        if not self.root:
            raise ValueError("results need a folder, got an empty name; use . for the current folder")
        check_place(self.root)
        self._opened, self._base = open_place(self.root)
        self._process = os.getpid()
        self.is_local = is_local(self._opened)
        check_bucket(self._opened, self._base)
        if not is_object_store(self._opened) and self._opened.isfile(self._base):
            raise ValueError(f"{self.root} is a file; expected a folder for results")

    def __repr__(self) -> str:
        return f"Store({self.root!r})"

    def __getstate__(self) -> dict[str, Any]:
        # There, the current folder may be another one, and connections are not sent.
        root = self._base if self.is_local else self.root
        return {"root": root, "_base": self._base, "is_local": self.is_local, "_process": None}

    @property
    def is_shared(self) -> bool:
        """Whether other processes see what is written here: all but memory://."""
        return "memory" not in protocols(self._files)

    # --- one file -----------------------------------------------------------------------------------------------------

    def exists(self, name: str) -> bool:
        """Whether there is a file of that name. For many names, `names` is one question instead of many."""
        if self.is_local:
            return os.path.isfile(self._path(name))
        with explaining(self.root):
            try:
                return self._fresh().info(self._path(name))["type"] == "file"
            except FileNotFoundError:
                return False

    def read(self, name: str, start: int | None = None, end: int | None = None) -> bytes:
        """The content of a file, or the bytes from `start` up to `end` of it, and no others are fetched."""
        with self._explaining():
            return self._files.cat_file(self._path(name), start=start, end=end)

    def read_each(self, names: Sequence[str]) -> Iterator[bytes]:
        """The contents of many files, one after the other; of a far place, many are fetched at once."""
        for start in range(0, len(names), TOGETHER):
            paths = [self._path(name) for name in names[start : start + TOGETHER]]
            with self._explaining():
                contents = self._files.cat_ranges(paths, None, None, on_error="raise")
            yield from contents

    def write(self, name: str, content: bytes) -> None:
        """Write a whole file. Of several writers at the same time, the last one wins."""
        if is_object_store(self._files):
            with self._explaining():
                self._files.pipe_file(self._path(name), content)
            return
        with self.writing(name) as file:
            file.write(content)

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """A file to write into, which has its name when the block ends. If the block fails, all is as it was.

        >>> with Store("memory://doctest/results").writing("a.txt") as file:
        ...     _ = file.write(b"whole")
        """
        path = self._path(name)
        if self.is_local:
            with write_by_rename(path) as file:
                yield file
        elif is_object_store(self._files):  # an upload that was begun could not be taken back: write here first
            with tempfile.NamedTemporaryFile(prefix="scuff-") as file:
                try:
                    yield file
                    file.flush()
                except OSError as error:
                    if error.errno not in DISK_FULL:
                        raise
                    raise Unreachable(
                        f"no room for temporary files in {tempfile.gettempdir()} of {socket.gethostname()}; make some, "
                        "or set TMPDIR"
                    ) from error
                with self._explaining():
                    self._files.put_file(file.name, path)
        else:
            folder = path.rpartition("/")[0]
            temporary = f"{folder}/.scuff-{secrets.token_hex(8)}.tmp"
            with self._explaining():
                self._files.makedirs(folder, exist_ok=True)
            try:
                with self._files.open(temporary, "wb") as file:
                    yield file
                with self._explaining():
                    self._files.mv(temporary, path)
            except BaseException:
                with contextlib.suppress(Exception):
                    self._files.rm_file(temporary)
                raise

    def remove(self, name: str) -> None:
        """Delete a file, if it is there."""
        with contextlib.suppress(FileNotFoundError), self._explaining():
            self._files.rm_file(self._path(name))

    def info(self, name: str) -> dict[str, Any]:
        """What its file system tells of a file; `size`, its bytes, at least."""
        with self._explaining():
            return self._fresh().info(self._path(name))

    def stamp(self, name: str) -> str:
        """A text that changes when the file is written anew."""
        with self._explaining():
            return self._fresh().ukey(self._path(name))

    def address(self, name: str) -> str:
        """Where a file is, for whoever opens it without this store, in this folder or another one."""
        root = self._base if self.is_local else self.root
        return f"{root}{name}" if root.endswith("/") else f"{root}/{name}"

    # --- folders ------------------------------------------------------------------------------------------------------

    def names(self, below: str, suffix: str) -> list[str]:
        """The sorted names of all files in a folder and its folders; none if it does not exist."""
        start = len(self._base.rstrip("/")) + 1
        return sorted(path[start:] for path in self._find(self._path(below)) if path.endswith(suffix))

    def child(self, name: str) -> Store:
        """The store of a folder in this one."""
        return Store(f"{self.root}{name}" if self.root.endswith("/") else f"{self.root}/{name}")

    def _find(self, folder: str) -> list[str]:
        if self.is_local:
            # Names alone: fsspec would ask for the size of every file, which takes five times as long.
            return [f"{where}/{name}" for where, _, names in os.walk(folder.rstrip("/") or "/") for name in names]
        with explaining(self.root):
            try:
                return self._fresh().find(folder)
            except FileNotFoundError:
                return []

    def _path(self, name: str) -> str:
        if ".." in name.split("/"):  # names are checked where they come from; this is the last door
            raise ValueError(f"{name!r} leads out of {self.root}")
        return f"{self._base.rstrip('/')}/{name}"

    # --- the file system ----------------------------------------------------------------------------------------------

    @property
    def _files(self) -> fsspec.AbstractFileSystem:
        if self._process != os.getpid():  # after a fork, or in the process that it was sent to
            self._opened, self._process = open_place(self.root)[0], os.getpid()
        return self._opened

    def _fresh(self) -> fsspec.AbstractFileSystem:
        """The file system without what it remembers of folders: others write into them, too."""
        files = self._files
        files.invalidate_cache()
        return files

    def _explaining(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self.is_local else explaining(self.root)
