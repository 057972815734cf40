"""Cells that carry a digest of themselves: one whose bytes have changed is noticed when it is read.

The digest is a word of fixed length somewhere in the file, where the format has room for words: in the metadata of
Parquet and safetensors, in the comment of a zip archive. It is that of the whole file with zeros in its own place.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scuff.arrays import BROKEN
from scuff.store.store import Store

MARK = b"scuff-blake2b-"
BLANK = MARK + 32 * b"0"  # what a writer puts into the file, for the digest to take its place
CHANGED = "its bytes are not those that were written"


def seal(content: bytes) -> bytes:
    """The same with its digest in the place of BLANK.

    >>> is_changed(seal(b"rows " + BLANK)), is_changed(seal(b"rows " + BLANK).replace(b"rows", b"rots"))
    (False, True)
    """
    start = content.rfind(BLANK)
    return content[:start] + _word(content, start) + content[start + len(BLANK) :]


def is_changed(content: bytes) -> bool:
    """Whether a file is not what it was when it was sealed; one without a digest is taken as it is."""
    start = content.rfind(MARK)
    return start >= 0 and content[start : start + len(BLANK)] != _word(content, start)


def _word(content: bytes, start: int) -> bytes:
    state = hashlib.blake2b(memoryview(content)[:start], digest_size=16)
    state.update(BLANK)
    state.update(memoryview(content)[start + len(BLANK) :])
    return MARK + state.hexdigest().encode()


def damaged(store: Store, name: str, reason: object, again: str = "same command") -> ValueError:
    """The error about a cell that cannot be believed."""
    return ValueError(
        f"{store.root}/{name} is damaged ({reason}); delete it and run the {again} again, or let --repair make all "
        "damaged cells again"
    )


def write_arrays(store: Store, name: str, arrays: Mapping[str, Any], is_compressed: bool = False) -> None:
    """Write arrays as one .npz file."""
    file = io.BytesIO()
    (np.savez_compressed if is_compressed else np.savez)(file, **arrays)
    with zipfile.ZipFile(file, "a") as archive:
        archive.comment = BLANK
    store.write(name, seal(file.getvalue()))


def read_arrays(store: Store, name: str, keys: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Arrays of an .npz file: those of `keys`, or all."""
    content = store.read(name)
    try:
        if is_changed(content):
            raise ValueError(CHANGED)
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return {key: file[key] for key in keys or file}
    except (*BROKEN, OSError) as error:
        raise damaged(store, name, error) from error


def remove_damaged(directory: str | os.PathLike[str], only_look: bool = False) -> list[str]:
    """Delete the damaged cells of an evaluation or a study, so that the next run makes them again; return their names.

    Cells without a digest are damaged if they cannot be opened. With `only_look`, nothing is deleted.
    """
    store = Store(directory)
    names = [name for name in store.names("", "") if name.endswith((".parquet", ".npz", ".safetensors"))]
    found = [name for name in names if _is_damaged(name, store.read(name))]
    for name in () if only_look else found:
        store.remove(name)
    return found


def _is_damaged(name: str, content: bytes) -> bool:
    if MARK in content or name.endswith(".safetensors"):
        return is_changed(content)
    try:
        if name.endswith(".npz"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                return archive.testzip() is not None
        import pyarrow.parquet as pq

        pq.read_table(io.BytesIO(content))
    except (*BROKEN, OSError):
        return True
    return False
