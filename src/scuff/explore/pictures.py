"""The pictures of an explorer: the bundled cat, those of a dataset, and those that its user drops on the page.

Of a dropped picture the middle square is kept, in memory only and at most `LONGEST` pixels wide; the oldest go when
there are more than `KEPT`. A page asks for one of these by its name; no path of a file ever comes from a page.
"""

from __future__ import annotations

import hashlib
import io
import threading
import warnings
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from PIL import Image

from scuff.data import Source
from scuff.images import ImageError
from scuff.pictures import bundled_picture, failure_reason, fit_square, read_picture

MOST_BYTES = 32 << 20  # of a file
MOST_PIXELS = 60_000_000  # of a picture, before it is made smaller
AT_MOST = f"at most {MOST_PIXELS // 1_000_000} million are taken"
LONGEST = 1024  # pixels of a side that is kept or asked for
SHORTEST = 8
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")  # Pillow knows more, and runs other programs for some of them
KEPT = 24  # dropped pictures

CAT = "cat"
OF_DATA, DROPPED = "data-", "own-"  # how names begin


class Gone(LookupError):
    """A dropped picture that is not kept any longer: the page may send it again."""


@dataclass(frozen=True)
class Picture:
    """A picture, what to call it, and the number of its class where that is known."""

    image: Image.Image
    title: str
    label: int | None = None


class Shelf:
    """Where pictures are found by their names: `cat`, `data-12`, `own-0123456789abcdef`."""

    def __init__(self, source: Source | None = None) -> None:
        self.source = source
        self.first = f"{OF_DATA}0" if source is not None else CAT
        self._dropped: OrderedDict[str, Image.Image] = OrderedDict()
        self._last: tuple[tuple[str, int | None], Picture] | None = None  # which a dial asks for again and again
        self._lock, self._reading = threading.Lock(), threading.Lock()

    def drop(self, content: bytes) -> str:
        """Keep a picture from the bytes of its file, and return its name; what is no picture is refused."""
        with self._reading:  # one at a time: a large picture takes much memory while it is read
            image = _read(content)
        name = DROPPED + hashlib.blake2b(image.tobytes(), digest_size=8).hexdigest()
        with self._lock:
            self._dropped[name] = image
            self._dropped.move_to_end(name)
            while len(self._dropped) > KEPT:
                self._dropped.popitem(last=False)
        return name

    def find(self, name: str) -> Picture:
        """A picture by its name."""
        if name == CAT:
            return Picture(bundled_picture(), "the bundled cat")
        if name.startswith(DROPPED):
            with self._lock:
                if name not in self._dropped:
                    raise Gone("the explorer has let go of this picture; drop it again")
                self._dropped.move_to_end(name)
                return Picture(self._dropped[name], "your picture")
        place = name.removeprefix(OF_DATA)
        if self.source is None or not name.startswith(OF_DATA) or not place.isascii() or not place.isdigit():
            raise ValueError(f"there is no picture {name!r}")
        if int(place) >= len(self.source):
            raise ValueError(f"{self.source.name} has {len(self.source)} images, counted from 0; there is no {place}")
        position = int(place)
        title = f"{self.source.image_name(position)} of {self.source.name}"
        return Picture(as_image(self.source.read([position])[0].numpy()), title, int(self.source.labels[position]))

    def square(self, name: str, size: int | None) -> Picture:
        """The middle of a picture at `size` x `size` pixels; None is its own shorter side."""
        key, last = (name, size), self._last
        if last is not None and last[0] == key:
            return last[1]
        picture = self.find(name)
        size = min(*picture.image.size, LONGEST) if size is None else size
        if not SHORTEST <= size <= LONGEST:
            raise ValueError(f"size must be from {SHORTEST} to {LONGEST} pixels, got {size}")
        square = Picture(fit_square(picture.image, size), picture.title, picture.label)
        self._last = key, square
        return square


def _read(content: bytes) -> Image.Image:
    """The middle square of a picture, from the bytes of its file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of large ones, whose size is looked at here
            with Image.open(io.BytesIO(content), formats=FORMATS) as file:
                width, height = file.size
            if width * height > MOST_PIXELS:
                raise ImageError(f"it has {width} x {height} pixels; {AT_MOST}")
            image = read_picture(io.BytesIO(content), formats=FORMATS)
    except Image.DecompressionBombError as error:  # so many that Pillow does not even tell
        raise ImageError(f"this file cannot be used: it has far too many pixels; {AT_MOST}") from error
    except Exception as error:  # decoders raise whatever they like
        raise ImageError(f"this file cannot be used: {failure_reason(error)}") from error
    return fit_square(image, min(*image.size, LONGEST))  # of which squares of all sizes are made


def as_image(array: np.ndarray) -> Image.Image:
    """Pixels (C, H, W) or (H, W, C) or (H, W), uint8, as a picture."""
    if array.ndim == 3 and array.shape[0] in (1, 3) and array.shape[2] not in (1, 3):
        array = np.moveaxis(array, 0, -1)
    return Image.fromarray(array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array)


def to_png(image: Image.Image) -> bytes:
    """The file of a picture to keep, without loss."""
    return _written(image, "PNG", compress_level=1)


def to_bmp(image: Image.Image) -> bytes:
    """The same for a picture that is looked at once, inside this machine: not compressed, and made in no time."""
    return _written(image, "BMP")


def _written(image: Image.Image, form: str, **options: int) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()
