"""Whether a picture can be read, found out without decoding all of it where that is possible.

Most pictures are JPEGs of one scan, whose content is nine tenths of a file and of the time to decode it. libjpeg takes
whatever a scan holds: what it does not understand becomes grey. So such a file can be read if its head can be, with
all tables, and if the scan ends: the head is decoded without the scan, and the scan searched for the mark of its end.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator

import numpy as np

from scuff.pictures import failure_reason, read_picture

START, SCAN, END = 0xD8, 0xDA, 0xD9  # marks of a JPEG: two bytes, of which the first is 255
FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
SEQUENTIAL = {0xC0, 0xC1}  # frames whose scan is coded by Huffman; others may have many scans
WITHOUT_SIZE = {0x01, *range(0xD0, 0xDA)}
# What may follow a 255 inside of a scan: 0 if it is meant as it is, another 255, and marks from which decoding can
# start again.
INSIDE = np.isin(np.arange(256), [0, 0xFF, *range(0xD0, 0xD8)])


def try_picture(read: Callable[[], bytes]) -> str | None:
    """The reason why a picture cannot be read, None if it can be; `read` gets the content of its file."""
    try:
        content = read()
        head = head_of_closed(content)
        if head is not None:
            with contextlib.suppress(Exception):  # decoding all of it gives a better reason, if it fails at all
                read_picture(io.BytesIO(head), is_trial=True)
                return None
        read_picture(io.BytesIO(content), is_trial=True)
    except MemoryError:
        raise
    except Exception as error:  # Pillow's decoders raise whatever they please on a broken file
        return failure_reason(error)
    return None


def head_of_closed(content: bytes) -> bytes | None:
    """A JPEG with nothing in its scan, if there is one scan and it is closed; None for all other files."""
    components = None
    for mark, first, last in _segments(content):
        if mark in FRAMES:
            if mark not in SEQUENTIAL or components is not None:
                return None
            components = content[first + 5 : first + 6]
        if mark == SCAN:
            has_all = components is not None and content[first : first + 1] == components
            return content[:last] + bytes([0xFF, END]) if has_all and _is_closed(content, last) else None
    return None


def _segments(content: bytes) -> Iterator[tuple[int, int, int]]:
    """The mark of each segment of a JPEG, and where its content begins and ends, as far as they follow each other."""
    place = 2 if content[:2] == bytes([0xFF, START]) else len(content)
    while place + 4 <= len(content) and content[place] == 0xFF and content[place + 1] not in WITHOUT_SIZE:
        following = place + 2 + int.from_bytes(content[place + 2 : place + 4], "big")
        if following > len(content):
            return
        yield content[place + 1], place + 4, following
        place = following


def _is_closed(content: bytes, first: int) -> bool:
    """Whether the scan that begins there ends as it should."""
    scan = np.frombuffer(content, np.uint8)[first:]
    marks = scan[1:][scan[:-1] == 0xFF]
    outside = marks[~INSIDE[marks]]
    return len(outside) > 0 and outside[0] == END
