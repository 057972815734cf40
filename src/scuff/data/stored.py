"""Where the images of a source are: in one array, or in picture files that have yet to be decoded."""

from __future__ import annotations

import hashlib
import io
import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from scuff.arrays import feed, pieces
from scuff.data.trials import try_picture
from scuff.digests import READ, READERS, digest_files, side_by_side
from scuff.images import ImageError
from scuff.pictures import Cut, failure_reason, read_picture
from scuff.store.places import explaining, open_place

LARGE = 1 << 30  # bytes of an array whose parts are hashed side by side
PIECE = 64 << 20  # bytes of such a part


def as_tensor(array: np.ndarray) -> Tensor:
    """Images (N, H, W) or (N, H, W, C) as a tensor (N, C, H, W) that shares their memory."""
    with warnings.catch_warnings():
        # of a read-only file map, to which nobody writes: images are never modified
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        tensor = torch.from_numpy(array)
    return tensor[:, None] if tensor.ndim == 3 else tensor.permute(0, 3, 1, 2)


def decode(open_file: Callable[[], Any], name: str, cut: Cut | None, border: int = 0) -> np.ndarray:
    """A picture as (H, W, 3). Grey ones become RGB, as in everybody's ImageNet pipeline."""
    try:
        picture = read_picture(open_file()).convert("RGB")
        if border:
            picture = picture.crop((border, border, picture.width - border, picture.height - border))
        return np.asarray(picture if cut is None else cut(picture))
    except Exception as error:  # Pillow's decoders raise whatever they please on a broken file
        remedy = "" if isinstance(error, ImageError) else "; replace the file, or take it out"  # ours have said theirs
        raise ImageError(f"cannot use the picture {name}: {failure_reason(error)}{remedy}") from error


@dataclass(frozen=True, eq=False)
class StoredArray:
    """Images (N, H, W) or (N, H, W, C), uint8, in memory or mapped from a file."""

    array: np.ndarray

    def __len__(self) -> int:
        return len(self.array)

    @property
    def is_mapped(self) -> bool:
        """Whether the pixels lie in a file, to be read as they are needed."""
        return isinstance(self.array, np.memmap)

    def __reduce__(self) -> tuple[Callable, tuple]:
        """For other processes: pixels that lie in a file are not sent, but mapped from it again."""
        place = _place_in_file(self.array) if isinstance(self.array, np.memmap) else None
        return (StoredArray, (np.asarray(self.array),)) if place is None else (_map_again, place)

    def name(self, position: int) -> str:
        """What to call an image in a message."""
        return f"image {position}"

    def decode(self, position: int, cut: Callable[[Image.Image], Image.Image]) -> np.ndarray:
        """One image, cut as a picture, as (H, W, C)."""
        image = np.asarray(self.array[position])
        made = np.asarray(cut(Image.fromarray(image[..., 0] if image.shape[2:] == (1,) else image)))
        return made if made.ndim == 3 else made[..., None]

    def take(self, positions: np.ndarray) -> StoredArray:
        """Some of the images. A run of neighbours stays where it is; anything else is copied."""
        first, count = (int(positions[0]), len(positions)) if len(positions) else (0, 0)
        if np.array_equal(positions, np.arange(first, first + count)):
            return StoredArray(self.array[first : first + count])
        return StoredArray(np.asarray(self.array[positions]))

    def feed(self, state: Any) -> None:
        """Add the pixels to a hash, which takes a second per gigabyte or so; parts of a large array side by side."""
        height, width, *channels = self.array.shape[1:]
        state.update(repr((height, width, *(channels or [1]))).encode())
        if self.array.nbytes < LARGE:
            feed(state, self.array)
            return
        with ThreadPoolExecutor(READERS) as pool:  # hashing needs no lock of Python's
            for digest in pool.map(_digest, pieces(self.array, PIECE)):
                state.update(digest)


def _digest(array: np.ndarray) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(array)).digest()


def _place_in_file(array: np.memmap) -> tuple[str, int, tuple[int, ...]] | None:
    """The file, the first byte in it and the shape of mapped images; None if they are not all of a stretch."""
    whole = array
    while isinstance(whole.base, np.memmap):
        whole = whole.base
    if not array.flags.c_contiguous or whole.filename is None:
        return None
    first, zero = (mapped.__array_interface__["data"][0] for mapped in (array, whole))
    return os.fspath(whole.filename), whole.offset + first - zero, array.shape


def _map_again(file: str, first: int, shape: tuple[int, ...]) -> StoredArray:
    return StoredArray(np.memmap(file, np.uint8, "r", first, shape))


@dataclass(frozen=True, eq=False)
class StoredPictures:
    """Picture files by their sorted paths below a folder; `border` pixels are cut off all around, before anything."""

    root: Path
    names: Sequence[str]
    border: int = 0

    def __len__(self) -> int:
        return len(self.names)

    def name(self, position: int) -> str:
        """What to call a picture in a message: its path."""
        return os.path.join(self.root, self.names[position])

    def content(self, position: int) -> bytes:
        """The bytes of a file."""
        return Path(self.name(position)).read_bytes()

    def decode(self, position: int, cut: Cut | None) -> np.ndarray:
        """One picture as (H, W, 3)."""
        path = self.name(position)
        return decode(lambda: path, path, cut, self.border)

    def try_decoding(self, position: int) -> str | None:
        """Why a picture cannot be read; None if it can be."""
        return try_picture(lambda: self.content(position))

    def take(self, positions: np.ndarray) -> StoredPictures:
        """Some of the pictures."""
        return StoredPictures(self.root, [self.names[k] for k in positions], self.border)

    def feed(self, state: Any) -> None:
        """Add names and contents of the files to a hash."""
        state.update("\n".join([*self.names, repr(self.border)]).encode(errors="surrogateescape"))
        state.update(digest_files(self.root, self.names))


class Encoded:
    """Pictures that are no files of their own, in whatever form files of pictures have."""

    def __len__(self) -> int:
        raise NotImplementedError

    def name(self, position: int) -> str:
        """What to call a picture in a message."""
        raise NotImplementedError

    def content(self, position: int) -> bytes:
        """A picture as a file would hold it."""
        raise NotImplementedError

    def decode(self, position: int, cut: Cut | None) -> np.ndarray:
        """One picture as (H, W, 3)."""
        return decode(lambda: io.BytesIO(self.content(position)), self.name(position), cut)

    def try_decoding(self, position: int) -> str | None:
        """Why a picture cannot be read; None if it can be."""
        return try_picture(lambda: self.content(position))


@dataclass(frozen=True, eq=False)
class StoredRows(Encoded):
    """Pictures in a column of a Hugging Face dataset, encoded as their files were."""

    dataset: Any
    column: str

    def __len__(self) -> int:
        return len(self.dataset)

    def name(self, position: int) -> str:
        """What to call a picture in a message."""
        return f"in row {position}, column {self.column}"

    def content(self, position: int) -> bytes:
        """A picture as its file has it."""
        encoded = self.dataset[int(position)][self.column]
        if encoded is None:
            raise ImageError("the row is empty; take it out")
        return Path(encoded["path"]).read_bytes() if encoded["bytes"] is None else encoded["bytes"]

    def take(self, positions: np.ndarray) -> StoredRows:
        """Some of the rows."""
        return StoredRows(self.dataset.select(positions), self.column)

    def feed(self, state: Any) -> None:
        """Add the encoded pictures to a hash."""
        for row in self.dataset:
            encoded = row[self.column] or {"bytes": None, "path": None}
            state.update(encoded["bytes"] or str(encoded["path"]).encode())


@dataclass(frozen=True, eq=False)
class StoredBytes(Encoded):
    """Encoded pictures in memory, one after the other: of a stream, which can be read but once."""

    together: np.ndarray
    places: np.ndarray  # int64 (N, 2): the first byte of each, and their number

    def __len__(self) -> int:
        return len(self.places)

    def name(self, position: int) -> str:
        """What to call a picture in a message."""
        return f"in row {position}"

    def content(self, position: int) -> bytes:
        """A picture as its file has it."""
        first, size = self.places[position]
        return self.together[first : first + size].tobytes()

    def take(self, positions: np.ndarray) -> StoredBytes:
        """Some of the pictures."""
        return StoredBytes(self.together, self.places[positions])

    def feed(self, state: Any) -> None:
        """Add the encoded pictures to a hash."""
        for position in range(len(self)):
            state.update(self.content(position))


@dataclass(frozen=True, eq=False)
class StoredMembers(Encoded):
    """Pictures inside of larger files, such as tars, on this machine or wherever fsspec gets."""

    files: tuple[str, ...]
    names: Sequence[str]
    places: np.ndarray  # int64 (N, 3): the number of the file, the first byte in it, and how many there are

    def __len__(self) -> int:
        return len(self.names)

    def name(self, position: int) -> str:
        """What to call a picture in a message: its file, and its name in there."""
        return f"{self.files[self.places[position, 0]]}: {self.names[position]}"

    def content(self, position: int) -> bytes:
        """A picture as its file has it."""
        number, first, size = self.places[position].tolist()
        return read_part(self.files[number], first, size)

    def take(self, positions: np.ndarray) -> StoredMembers:
        """Some of the pictures."""
        return StoredMembers(self.files, [self.names[k] for k in positions], self.places[positions])

    def feed(self, state: Any) -> None:
        """Add names and contents to a hash."""
        state.update("\n".join(self.names).encode(errors="surrogateescape"))
        for digests in side_by_side(_Digests(self)):
            state.update(digests)


@dataclass(frozen=True, eq=False)
class _Digests:
    """Digests of pictures, one after the other, some at a time."""

    images: StoredMembers

    def __len__(self) -> int:
        return -(-len(self.images) // READ)

    def __getitem__(self, number: int) -> bytes:
        places = range(number * READ, min((number + 1) * READ, len(self.images)))
        return b"".join(hashlib.blake2b(self.images.content(place)).digest() for place in places)


def read_part(address: str, first: int, size: int) -> bytes:
    """Some bytes of a file, on this machine or elsewhere."""
    if "://" in address:
        files, path = open_place(address)
        with explaining(address):
            return files.cat_file(path, start=first, end=first + size)
    with open(address, "rb") as file:
        file.seek(first)
        return file.read(size)
