"""Pictures that cannot be read: all of them are found before anything starts, and named or left out."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from scuff.data.pixels import count_processors
from scuff.data.source import Source
from scuff.data.stored import StoredPictures
from scuff.pictures import UnreadablePictures

Progress = Callable[[str, int, int], None]


def readable(source: Source, skip: bool = False, progress: Progress | None = None) -> Source:
    """The same source once all its pictures have been tried.

    If some cannot be read, UnreadablePictures lists all of them; with `skip`, they are left out instead, and named by
    `source.unreadable`.
    """
    if not source.has_pictures or source.unreadable is not None:
        return source
    failures = {}
    with ThreadPoolExecutor(count_processors()) as pool:  # Pillow decodes without holding Python's lock
        for position, reason in enumerate(pool.map(source.images.try_decoding, range(len(source)))):
            if reason is not None:
                failures[_name(source, position)] = reason
            if progress is not None and (position % 64 == 63 or position + 1 == len(source)):
                progress("checking pictures", position + 1, len(source))
    if failures and (not skip or len(failures) == len(source)):
        raise UnreadablePictures(source.name, len(source), failures)
    return replace(without(source, failures), unreadable=failures)


def without(source: Source, names: Collection[str]) -> Source:
    """A source without some of its pictures, by the names that messages about unreadable ones give them."""
    if not names:
        return source
    return source.take(np.array([_name(source, position) not in names for position in range(len(source))], bool))


def _name(source: Source, position: int) -> str:
    """The path of a picture below its folder."""
    images = source.images
    return images.names[position] if isinstance(images, StoredPictures) else images.name(position)
