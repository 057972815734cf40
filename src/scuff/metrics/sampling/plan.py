"""In which order to try images in cells, so that any beginning of the order is a fair sample of the whole.

Images differ so much that a second cell of the same image tells little more than the first. So a step takes the next
image, in a random order, and the next cell, in another; when all images are used up, each goes on at a cell of its own
that it has not met. Every beginning gives all cells equally many images (to within one a visit), and the images of a
cell are a simple random sample. After images x cells steps everything has been tried once. A longer run begins with the
whole of a shorter one.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

GOLDEN = 0.41  # of the cells is an image's stride from one visit to the next, which spreads its visits


@dataclass(frozen=True)
class SamplingPlan:
    """Steps 0 .. images x cells - 1, each of which is an image and a cell.

    >>> plan = SamplingPlan(images=4, cells=3)
    >>> images, cells = plan.steps(0, 12)
    >>> len(set(zip(images.tolist(), cells.tolist())))
    12
    """

    images: int
    cells: int
    seed: int = 0

    def __post_init__(self) -> None:
        if self.images < 1 or self.cells < 1:
            raise ValueError(f"a plan needs images and cells, got {self.images} and {self.cells}")

    def __len__(self) -> int:
        return self.images * self.cells

    @cached_property
    def stride(self) -> int:
        """From a cell of an image to its next one: coprime to the number of cells, so that it meets them all."""
        stride = max(1, round(GOLDEN * self.cells))
        while math.gcd(stride, self.cells) > 1:
            stride += 1
        return stride

    def steps(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """The places of images and of cells of some steps."""
        visit, place = np.divmod(np.arange(start, min(stop, len(self))), self.images)
        return self._images[place], self._cells[(place + self.stride * visit) % self.cells]

    @cached_property
    def _images(self) -> np.ndarray:
        return shuffled_places(self.images, f"images|{self.seed}")

    @cached_property
    def _cells(self) -> np.ndarray:
        return shuffled_places(self.cells, f"cells|{self.seed}")


def shuffled_places(count: int, key: str) -> np.ndarray:
    """The places 0 .. count - 1 in a random order that depends on the key alone, with every version of numpy.

    >>> shuffled_places(5, "images|0").tolist()
    [4, 3, 0, 2, 1]
    """
    return np.argsort(_words(count, key), kind="stable")


def keyed_chances(count: int, key: str) -> np.ndarray:
    """A number in 0..1 for each place, independent of all others."""
    return _words(count, key) / 2.0**64


def _words(count: int, key: str) -> np.ndarray:
    digests = [hashlib.blake2b(f"{key}|{place}".encode(), digest_size=8).digest() for place in range(count)]
    return np.frombuffer(b"".join(digests), "<u8")
