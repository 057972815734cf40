"""Tar files for WebDataset whose bytes depend on their content alone."""

from __future__ import annotations

import contextlib
import io
import tarfile
from collections.abc import Callable, Iterator
from typing import BinaryIO

Add = Callable[[str, bytes], None]

MODE = 0o644


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
            about.size, about.mode = len(content), MODE
            tar.addfile(about, io.BytesIO(content))

        yield add
