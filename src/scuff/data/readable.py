"""Pictures that cannot be read: all of them are found before anything starts, and named or left out."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from scuff.data.pixels import count_processors
from scuff.data.source import Source
from scuff.data.stored import Encoded, StoredPictures
from scuff.pictures import UnreadablePictures

Progress = Callable[[str, int, int], None]


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
    """Try all pictures; those that cannot be read, with the reasons, are refused, or returned with `skip`."""
    failures = {}
    with ThreadPoolExecutor(count_processors()) as pool:  # Pillow decodes without holding Python's lock
        for position, reason in enumerate(pool.map(images.try_decoding, range(len(images)))):
            if reason is not None:
                failures[_name(images, position)] = reason
            if progress is not None and (position % 64 == 63 or position + 1 == len(images)):
                progress("checking pictures", position + 1, len(images))
    if failures and (not skip or len(failures) == len(images)):
        raise UnreadablePictures(name, len(images), failures)
    return failures


def without(source: Source, names: Collection[str]) -> Source:
    """A source without some of its pictures, by the names that messages about unreadable ones give them."""
    if not names:
        return source
    return source.take(np.array([_name(source.images, position) not in names for position in range(len(source))], bool))


def _name(images: StoredPictures | Encoded, position: int) -> str:
    """The path of a picture below its folder."""
    return images.names[position] if isinstance(images, StoredPictures) else images.name(position)
