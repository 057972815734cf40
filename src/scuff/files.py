"""Files that are either whole or absent."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class Stopped(RuntimeError):
    """The machine could not go on. Every file that is there is valid; a new run continues from there."""


def as_place(address: str | os.PathLike[str]) -> Path | str:
    """A path of this machine as a Path, and any other address as it is.

    >>> as_place("s3://bucket/net.safetensors"), as_place("runs//net.safetensors").as_posix()
    ('s3://bucket/net.safetensors', 'runs/net.safetensors')
    """
    return address if isinstance(address, str) and "://" in address else Path(address)


@contextlib.contextmanager
def write_by_rename(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Write a binary file under a temporary name beside `path`, and give it its real name when it is complete.

    A reader never sees half of it. If the block fails, or the disk is full, the temporary file is removed and whatever
    was at `path` stays. The folder is made where it is missing. A process that is killed leaves a file that no later
    run mistakes for a result: `.scuff-*.tmp`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_by_rename(f"{folder}/new/note.txt") as file:
    ...         _ = file.write(b"whole")
    ...     print(Path(folder, "new", "note.txt").read_text())
    whole
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # A short name of its own, because the real one may be as long as names can be. Not made by tempfile, whose files
    # nobody else may read.
    temporary = path.with_name(f".scuff-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
