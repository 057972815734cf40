"""Digests of images that add up: the digest of a set is the sum of those of its images, in any order.

An image's *content* is 128 bits of BLAKE2b over its shape and its bytes: height, width and channels, and of a film the
frames too. What it adds to a digest is 96 bits of BLAKE2b over its id and its content; the digest is the sum of these
modulo 2**96, written in 16 letters. So the digest of a whole is the sum of those of its parts, however it is cut into
parts, and a part can be taken away again. This finds accidents; it does not stop somebody who forges data on purpose.
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from scuff.images import Images, open_images

BYTES = 12
MODULUS = 1 << 8 * BYTES
LETTERS = BYTES * 4 // 3
CHECK = 3  # letters that a lock keeps of the content of single images
TAG = 6  # letters by which it knows them
THREADS = 8  # hashing a large image needs no lock of Python's
WORTH_IT = 16 << 20  # bytes from which on threads pay


@dataclass(frozen=True)
class Digest:
    """A sum of what images add; `str` is its text.

    >>> whole, part = digest(np.zeros((3, 8, 8), np.uint8)[..., None]), digest(np.zeros((2, 8, 8, 1), np.uint8))
    >>> rest = digest(np.zeros((1, 8, 8, 1), np.uint8), ids=[2])
    >>> whole == part + rest, whole - rest == part, Digest.of(str(whole)) == whole
    (True, True, True)
    """

    value: int = 0

    def __add__(self, other: Digest) -> Digest:
        return Digest((self.value + other.value) % MODULUS)

    def __sub__(self, other: Digest) -> Digest:
        return Digest((self.value - other.value) % MODULUS)

    def __str__(self) -> str:
        return urlsafe_b64encode(self.value.to_bytes(BYTES, "big")).decode()

    @classmethod
    def of(cls, text: str) -> Digest:
        """A digest from its text."""
        return cls(int.from_bytes(urlsafe_b64decode(text), "big"))


def digest(images: Images, ids: Sequence[int] | None = None) -> Digest:
    """The digest of images of any type: one, a batch, or a list of any sizes.

    An image counts together with its id, by default its place in the batch, 0 for a single one. Floats are taken for
    the nearest of 256 levels, so that bytes and floats of the same picture have the same digest.

    >>> x = np.arange(192, dtype=np.uint8).reshape(1, 8, 8, 3)
    >>> str(digest(x)), digest(x) == digest(x[0]) == digest(torch.from_numpy(x).permute(0, 3, 1, 2) / 255)
    ('sHaQfqb_LhsiFJRz', True)
    """
    each = images if isinstance(images, (list, tuple)) else [images]
    found = [content for some in each for content in contents(_bytes(open_images(some).batch))]
    ids = range(len(found)) if ids is None else ids
    if len(ids) != len(found):
        raise ValueError(f"ids must be {len(found)} whole numbers, one per image, got {len(ids)}")
    return total(zip(map(int, ids), found, strict=True))


def total(contents_by_id: Iterable[tuple[int, bytes]]) -> Digest:
    """The digest of images, from pairs of an id and a content."""
    return Digest(sum(_term(key, content) for key, content in contents_by_id) % MODULUS)


def contents(images: Tensor) -> list[bytes]:
    """The content of each image of uint8 (N, C, H, W), or of each film of (N, T, C, H, W)."""
    return array_contents(images.movedim(-3, -1).contiguous().cpu().numpy())


def array_contents(images: np.ndarray) -> list[bytes]:
    """The same of arrays with channels last."""
    if images.nbytes < WORTH_IT:
        return [content_of(image) for image in images]
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(content_of, images))


def size_words(shape: Sequence[int]) -> str:
    """A shape as a lock writes it.

    >>> size_words((32, 48, 3))
    '32x48x3'
    """
    return "x".join(map(str, shape))


def content_of(image: np.ndarray) -> bytes:
    """The content of one image (H, W, C)."""
    state = hashlib.blake2b(size_words(image.shape).encode(), digest_size=16)
    state.update(np.ascontiguousarray(image))
    return state.digest()


def label_digest(ids: np.ndarray, labels: np.ndarray) -> Digest:
    """The digest of labels, each with the id of its image."""
    return total((int(key), str(int(label)).encode()) for key, label in zip(ids, labels, strict=True))


def check_of(content: bytes) -> str:
    """What a lock keeps of a single image: 18 bits of its content."""
    return urlsafe_b64encode(content[:3]).decode()[:CHECK]


def tag_of(key: int) -> str:
    """36 bits of a hash of an image's id: by these a lock knows the images of its sample."""
    return urlsafe_b64encode(hashlib.blake2b(_key(key), digest_size=6).digest()).decode()[:TAG]


def _term(key: int, content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(_key(key) + content, digest_size=BYTES).digest(), "big")


def _key(key: int) -> bytes:
    return key.to_bytes(8, "little", signed=True)


def _bytes(batch: Tensor) -> Tensor:
    return batch if batch.dtype == torch.uint8 else torch.round(batch * 255.0).to(torch.uint8)
