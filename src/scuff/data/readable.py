"""Pictures that cannot be read: all of them are found before anything starts, and named or left out."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import PIL

from scuff.data.source import Source
from scuff.data.stored import Encoded, StoredPictures
from scuff.data.trials import try_picture
from scuff.digests import DIGESTS, ask_all, ask_files, digest_content
from scuff.pictures import UnreadablePictures

Progress = Callable[[str, int, int], None]
QUESTION = f"readable-by-pillow-{PIL.__version__}"


def readable(source: Source, skip: bool = False, progress: Progress | None = None) -> Source:
    """The same source once all its pictures have been tried.

    If some cannot be read, UnreadablePictures lists all of them; with `skip`, they are left out instead, and named by
    `source.unreadable`.
    """
    if not source.has_pictures or source.unreadable is not None:
        return source
    failures = find_unreadable(source.images, source.name, skip, progress)
    return replace(without(source, failures), unreadable=failures)


def find_unreadable(
    images: StoredPictures | Encoded, name: str, skip: bool, progress: Progress | None = None
) -> dict[str, str]:
    """Try all pictures. Those that cannot be read, with the reasons, are refused, or returned with `skip`."""
    tell = None if progress is None else partial(progress, "checking pictures")
    failures = {}
    for position in np.flatnonzero(~_tried(images, tell)).tolist():
        reason = images.try_decoding(position)
        if reason is not None:
            failures[_name(images, position)] = reason
    if failures and (not skip or len(failures) == len(images)):
        raise UnreadablePictures(name, len(images), failures)
    return failures


def _tried(images: StoredPictures | Encoded, tell: Callable[[int, int], None] | None) -> np.ndarray:
    """Which pictures can be read, bool (n,). Files that could be are remembered, and not tried again."""
    if isinstance(images, StoredPictures):
        return ask_files(images.root, images.names, (DIGESTS, QUESTION), _examine, tell)[:, 1] != 0
    return ask_all(lambda position: (images.try_decoding(position) is None,), len(images), progress=tell)[:, 0] != 0


def _examine(path: str) -> tuple[int, int]:
    """The digest of a picture, which is wanted next, and whether it can be read, from one reading of the file."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return 0, 0
    return digest_content(content), try_picture(lambda: content) is None


def without(source: Source, names: Collection[str]) -> Source:
    """A source without some of its pictures, by the names that messages about unreadable ones give them."""
    if not names:
        return source
    return source.take(np.array([_name(source.images, position) not in names for position in range(len(source))], bool))


def _name(images: StoredPictures | Encoded, position: int) -> str:
    """The path of a picture below its folder."""
    return images.names[position] if isinstance(images, StoredPictures) else images.name(position)
