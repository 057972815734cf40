"""Pictures of any sizes on the way to a model: those of one size together, decoded by threads, kept where they fit.

A corruption depends on the size of what it corrupts, so that nothing is resized or padded here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from scuff.ahead import count_processors
from scuff.data.annotated import AnnotatedSource, picture_size
from scuff.memory import available_memory, available_on

Batches = Iterator[tuple[np.ndarray, Tensor]]
Progress = Callable[[int, int], None]
AHEAD = 64  # pictures that are decoded before they are asked for


@dataclass(eq=False)
class SizedPixels:
    """uint8 pictures in groups (n, 3, H, W) of one size; `kept` says where they are, for a message."""

    source: AnnotatedSource
    device: torch.device
    groups: list[np.ndarray]  # positions of pictures of one size
    place: torch.device | None
    kept: str
    workers: int
    progress: Progress | None = None
    _pixels: dict[int, Tensor] | None = None

    def batches(self, values: int) -> Batches:
        """Positions and their pictures on the device, as many at a time as hold about `values` values."""
        kept: dict[int, Tensor] = {} if self._pixels is None else self._pixels
        done = 0
        with ThreadPoolExecutor(max(1, self.workers)) as pool:
            for number, group in enumerate(self.groups):
                if self.place is not None and number not in kept:
                    kept[number] = self._decode(pool, group).to(self.place)
                    done += len(group)
                    if self.progress is not None:
                        self.progress(done, len(self.source))
                step = max(1, values // int(3 * np.prod(self._size(group))))
                for start in range(0, len(group), step):
                    chosen = group[start : start + step]
                    some = kept[number][start : start + step] if number in kept else self._decode(pool, chosen)
                    yield chosen, some.to(self.device)
        if self.place is not None:
            self._pixels = kept

    def _size(self, group: np.ndarray) -> tuple[int, int]:
        assert self.source.sizes is not None
        height, width = self.source.sizes[group[0]]
        return int(height), int(width)

    def _decode(self, pool: ThreadPoolExecutor, group: np.ndarray) -> Tensor:
        pixels = torch.empty((len(group), 3, *self._size(group)), dtype=torch.uint8)

        def read(row: int) -> None:
            picture = self.source.images.decode(int(group[row]), None)
            self.source.check_size(int(group[row]), *picture.shape[:2])
            pixels.numpy()[row] = picture.transpose(2, 0, 1)

        list(pool.map(read, range(len(group))))
        return pixels


def load_sized(
    source: AnnotatedSource, device: torch.device | str, workers: int | None = None, progress: Progress | None = None
) -> SizedPixels:
    """Make the pictures of a source ready for passes over them; they are decoded in the first, and kept if they fit."""
    device = torch.device(device)
    source = with_sizes(source)
    assert source.sizes is not None
    count = int(3 * source.sizes.prod(axis=1).sum())
    if count <= available_on(device) // 2:
        place, words = device, "on the GPU" if device.type == "cuda" else "in memory"
    elif count <= available_memory() // 2:
        place, words = torch.device("cpu"), "in memory"
    else:
        place, words = None, "nowhere: they do not fit, so that pictures are decoded in every pass"
    _, numbers = np.unique(source.sizes, axis=0, return_inverse=True)
    groups = [np.flatnonzero(numbers.ravel() == k) for k in range(int(numbers.max()) + 1)]
    threads = count_processors() if workers is None else workers
    return SizedPixels(source, device, groups, place, f"{count / 2**30:.2f} GiB {words}", threads, progress)


def with_sizes(source: AnnotatedSource) -> AnnotatedSource:
    """The same source with the sizes of its pictures, read from their heads where no annotation tells them."""
    if source.sizes is not None:
        return source
    with ThreadPoolExecutor() as pool:
        paths = (Path(source.image_name(k)) for k in range(len(source)))
        return replace(source, sizes=np.array(list(pool.map(picture_size, paths)), np.int64).reshape(-1, 2))
