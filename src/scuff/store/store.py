"""A folder of results under any path that fsspec understands: `runs/r50`, `s3://bucket/runs`, `memory://runs`."""

from __future__ import annotations

import os
import secrets

import fsspec
from fsspec.implementations.local import LocalFileSystem

from scuff.files import write_by_rename


class Store:
    """Small files under one root, by names with slashes. A file is whole or absent, whoever else writes beside it.

    >>> store = Store("memory://doctest/results")
    >>> store.write("rows/fog.txt", b"whole")
    >>> store.exists("rows/fog.txt"), store.read("rows/fog.txt"), store.names("rows", ".txt")
    (True, b'whole', ['rows/fog.txt'])
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.fspath(root)
        if not self.root:
            raise ValueError("results need a folder, got an empty name; use . for the current folder")
        try:
            self._files, self._base = fsspec.core.url_to_fs(self.root)
        except (ValueError, ImportError) as error:
            raise ValueError(f"cannot open {self.root!r} as a place for results: {error}") from error
        if self._files.isfile(self._base):
            raise ValueError(f"{self.root} is a file; expected a folder for results")

    def __repr__(self) -> str:
        return f"Store({self.root!r})"

    def exists(self, name: str) -> bool:
        """Whether there is a file of that name."""
        return self._files.isfile(self._path(name))

    def read(self, name: str) -> bytes:
        """The content of a file."""
        return self._files.cat_file(self._path(name))

    def write(self, name: str, content: bytes) -> None:
        """Write a file under a temporary name, and rename it when it is complete."""
        path = self._path(name)
        if isinstance(self._files, LocalFileSystem):
            with write_by_rename(path) as file:
                file.write(content)
            return
        folder = path.rpartition("/")[0]
        temporary = f"{folder}/.scuff-{secrets.token_hex(8)}.tmp"
        self._files.makedirs(folder, exist_ok=True)
        self._files.pipe_file(temporary, content)
        self._files.mv(temporary, path)

    def remove(self, name: str) -> None:
        """Delete a file, if it is there."""
        if self.exists(name):
            self._files.rm_file(self._path(name))

    def names(self, below: str, suffix: str) -> list[str]:
        """The sorted names of all files in a folder and its folders; none if it does not exist."""
        start = len(self._base.rstrip("/")) + 1
        found = self._files.find(self._path(below))
        return sorted(path[start:] for path in found if path.endswith(suffix))

    def _path(self, name: str) -> str:
        return f"{self._base.rstrip('/')}/{name}"
