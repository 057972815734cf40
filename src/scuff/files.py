"""Files that are either whole or absent."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
LONGEST_NAME = 150  # bytes, which leaves room for what is added to a name
NAME_RULE = f"text without / \\ : or control characters, at most {LONGEST_NAME} bytes, no dot or blank in front"
_SCHEME = re.compile(r"(s3a?|gs|gcs|az|abfss?|https?|s?ftp|ssh|hdfs|webhdfs|oss|oci|hf|memory|file|local):(?!//)")


class Stopped(RuntimeError):
    """The machine could not go on. Every file that is there is valid; a new run continues from there."""


def as_place(address: str | os.PathLike[str]) -> Path | str:
    """A path of this machine as a Path, and any other address as it is.

    >>> as_place("s3://bucket/net.safetensors"), as_place("runs//net.safetensors").as_posix()
    ('s3://bucket/net.safetensors', 'runs/net.safetensors')
    """
    check_place(os.fspath(address))
    return address if isinstance(address, str) and "://" in address else Path(address).expanduser()


def check_place(address: str, writes: bool = False) -> None:
    """Refuse what would silently become a folder of an odd name on this machine, or where nothing can be written."""
    scheme = _SCHEME.match(address)
    if scheme is not None:
        right = f"{scheme[1]}://{address[scheme.end() :].lstrip('/')}"
        raise ValueError(f"{address!r} is no address; did you mean {right}? A folder of this name is ./{address}")
    if "::" in address:
        raise ValueError(f"{address!r} chains addresses with ::, which is not supported; give one folder or address")
    if writes and address.startswith(("http://", "https://")):
        raise ValueError(f"nothing can be written to {address}; give a folder, or an address like s3://bucket/folder")


def check_out(place: str | os.PathLike[str] | None) -> None:
    """Refuse a place for results that cannot be one, before anything is computed for it."""
    if place is not None:
        check_place(os.fspath(place), writes=True)


def is_file_name(name: object) -> bool:
    """Whether a name may become a file or a folder: the one rule for all names that others choose, see NAME_RULE.

    >>> [is_file_name(name) for name in ("fog", "light fog", "../fog", "/fog", ".", "", "a\\0b")]
    [True, True, False, False, False, False, False]
    """
    if not isinstance(name, str) or not name.isprintable() or any(letter in name for letter in "/\\:"):
        return False
    return not name.startswith(".") and name == name.strip() and 0 < len(name.encode()) <= LONGEST_NAME


def file_stamp(path: str | os.PathLike[str]) -> str:
    """Size, times and inode of a file: a text that changes when the file does, found without reading it."""
    return show_stamp(os.stat(path))


def show_stamp(about: os.stat_result) -> str:
    """The same of a file that was looked at already."""
    return f"{about.st_size} {about.st_mtime_ns} {about.st_ctime_ns} {about.st_ino}"


def file_digest(path: str | os.PathLike[str]) -> bytes:
    """A hash of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).digest()


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
    path = Path(path).expanduser()
    if _SCHEME.match(str(path)):  # Path has made s3:/bucket of s3://bucket
        raise ValueError(f"{path} is no path of this machine, which is where this file can be written; give one")
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
