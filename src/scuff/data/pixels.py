"""The pixels of a source on the way to a model: decoded ahead by other processes, decoded once, kept where they fit.

An evaluation passes over the same images for every corruption. Bytes are kept, not floats: 50 000 images of 224 pixels
are 7 GiB. Batches come in the source's order, on the device. Decoded pictures may also be kept in a folder, for the
next run.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from scuff.ahead import count_processors, work_ahead
from scuff.data.source import Source
from scuff.data.stored import StoredArray, as_tensor
from scuff.files import DISK_FULL, write_by_rename
from scuff.images import ImageError
from scuff.memory import available_memory, available_on
from scuff.pictures import Cut

Progress = Callable[[int, int], None]
Batches = Iterator[tuple[slice, Tensor]]

CHUNK = 8  # pictures that a worker decodes at a time: few, because chunks wait in shared memory, which may be scarce
PIECE = 64 << 20  # bytes of an array that are moved to a GPU at a time
DECODERS = ("pillow", "nvjpeg")


@dataclass(frozen=True, eq=False)
class Pixels:
    """uint8 images (N, C, H, W) and where they are kept, as words for a message; `images` is None if nowhere."""

    shape: tuple[int, int, int, int]
    kept: str
    run: Callable[[int], Batches]
    images: Tensor | None = None

    def __len__(self) -> int:
        return self.shape[0]

    def batches(self, size: int) -> Batches:
        """The images in order, `size` at a time, each batch with its place: (slice, tensor on the device)."""
        if size < 1:
            raise ValueError(f"a batch needs at least 1 image, got {size}")
        return self.run(size)


def load_pixels(
    source: Source,
    cut: Cut | None = None,
    device: torch.device | str = "cpu",
    workers: int | None = None,
    progress: Progress | None = None,
    keep: bool = True,
    cache: str | os.PathLike[str] | None = None,
    decoder: str = "pillow",
) -> Pixels:
    """Make a source's images ready for passes over them.

    Arrays are used as they are, and moved to a GPU if they take less than half of its free memory. Pictures are decoded
    and cut by `workers` processes (as many as there are processors, up to 16; 0 for this process) and kept on the GPU,
    or in memory, under the same condition; if there is no room, they are decoded again, ahead, in every pass.
    `progress(done, total)` is called while pictures are decoded. Without `keep`, that is in every pass in any case.
    With a folder as `cache`, decoded pictures are written there, and later calls map the file. `decoder` "nvjpeg"
    decodes JPEGs on the GPU, to other pixels.
    """
    device = torch.device(device)
    if decoder not in DECODERS:
        raise ValueError(f"the decoder must be one of {', '.join(DECODERS)}, got {decoder!r}")
    if workers is not None and workers < 0:
        raise ValueError(f"workers must be at least 0, got {workers}")
    if isinstance(source.images, StoredArray):
        source.check_cut(cut)
        return _load_array(as_tensor(source.images.array), device, source.images.is_mapped)
    cut = source.cut if cut is None else cut
    if decoder == "nvjpeg":
        if device.type != "cuda":
            raise ValueError("the decoder nvjpeg needs a GPU; leave it out, or choose the device cuda")
        from scuff.data.nvjpeg import GpuDecoder

        decoding: Any = GpuDecoder(source, cut, device)
    else:
        decoding = _Decoder(source, cut, workers)
    if cache is not None:
        place = Path(cache).expanduser() / f"{_key(source, cut, decoder)}.npy"
        return _load_array(torch.from_numpy(_cached(decoding, place, progress)), device, is_mapped=True)
    return _load_pictures(decoding, device, progress, keep)


def _size(count: int) -> str:
    return f"{count / 2**30:.2f} GiB"


def _load_array(images: Tensor, device: torch.device, is_mapped: bool) -> Pixels:
    size = _size(images.nbytes)
    if images.nbytes <= available_on(device) // 2:
        return _kept(_upload(images, device), device, f"{size} on the GPU")
    return _kept(images, device, f"{size} {'mapped from the file' if is_mapped else 'in memory'}")


def _upload(images: Tensor, device: torch.device) -> Tensor:
    """Images on the device, in the order of memory that torch prefers, without a second copy of them anywhere."""
    kept = torch.empty(images.shape, dtype=torch.uint8, device=device)
    for part in _split(0, len(images), max(1, PIECE // max(1, images[0].nbytes))):
        kept[part] = images[part].to(device)
    return kept


def _key(source: Source, cut: Cut | None, decoder: str) -> str:
    """A name for what is decoded: a hash of the pictures, how they are cut, and by what they are decoded."""
    import PIL

    what = (source.fingerprint(), cut, decoder, PIL.__version__)
    return hashlib.blake2b(repr(what).encode(), digest_size=12).hexdigest()


def _cached(decoder: Any, place: Path, progress: Progress | None) -> np.ndarray:
    """The decoded pictures, mapped from a file, which is written if it is not there yet."""
    shape = (decoder.total, *decoder.shape)
    with contextlib.suppress(OSError, ValueError, EOFError):  # not there, or not whole
        found = np.load(place, mmap_mode="c", allow_pickle=False)  # torch wants to be able to write; nobody does
        if (found.shape, found.dtype) == (shape, np.uint8):
            return found
    try:
        with write_by_rename(place) as file:
            header = {"descr": "|u1", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            for where, chunk in decoder.run(_split(0, decoder.total, CHUNK)):
                file.write(chunk.cpu().numpy().data)
                if progress is not None:
                    progress(where.stop, decoder.total)
    except OSError as error:
        if error.errno in DISK_FULL:
            raise ValueError(
                f"the disk of {place.parent} has no room for the decoded pictures, {_size(math.prod(shape))}; give "
                "another folder, or none"
            ) from error
        raise
    return np.load(place, mmap_mode="c", allow_pickle=False)


def _load_pictures(decoder: Any, device: torch.device, progress: Progress | None, keep: bool) -> Pixels:
    shape = (decoder.total, *decoder.shape)
    count = math.prod(shape)
    if keep and count <= available_on(device) // 2:
        place, words = device, "on the GPU"
    elif keep and count <= available_memory() // 2:
        place, words = torch.device("cpu"), "in memory"
    else:
        reason = f"{_size(count)} do not fit, so " if keep else ""
        words = f"nowhere: {reason}pictures are decoded in every pass"
        return Pixels(shape, words, lambda size: _sent(_streamed(decoder, size), device))
    kept = torch.empty(shape, dtype=torch.uint8, device=place)
    for where, chunk in decoder.run(_split(0, decoder.total, CHUNK), pinned=place.type == "cuda"):
        kept[where].copy_(chunk, non_blocking=True)
        if progress is not None:
            progress(where.stop, decoder.total)
    return _kept(kept, device, f"{_size(count)} {words}")


def _streamed(decoder: Any, size: int) -> Batches:
    """Batches put together from chunks, none of which belongs to two batches."""
    batches = _split(0, decoder.total, size)
    chunks = decoder.run([chunk for batch in batches for chunk in _split(batch.start, batch.stop, CHUNK)])
    for place in batches:
        batch = torch.empty((place.stop - place.start, *decoder.shape), dtype=torch.uint8)
        filled = 0
        while filled < len(batch):
            _, chunk = next(chunks)
            batch[filled : filled + len(chunk)] = chunk
            filled += len(chunk)
        yield place, batch


def _split(start: int, stop: int, size: int) -> list[slice]:
    return [slice(first, min(first + size, stop)) for first in range(start, stop, size)]


class _Decoder:
    """Decodes pictures and cuts them to (3, H, W), all of one size: that of the first."""

    def __init__(self, source: Source, cut: Cut | None, workers: int | None):
        if not len(source):
            raise ValueError(f"{source.name} has no pictures")
        self.source, self.cut, self.total = source, cut, len(source)
        height, width, channels = source.images.decode(0, cut).shape
        self.shape = channels, height, width
        self.workers = count_processors() if workers is None else workers

    def run(self, places: list[slice], pinned: bool = False) -> Batches:
        """The pictures of each slice, in order, decoded ahead."""
        chunks = _Chunks(self.source, self.cut, self.shape, places)
        workers = min(self.workers, len(places)) if len(places) > 1 else 0  # one chunk is read faster than one starts
        # Only the loop holds the results: with it, whatever its end, the workers end too.
        for place, result in zip(places, work_ahead(chunks, workers, pinned), strict=True):
            if isinstance(result, str):
                raise ImageError(result)
            yield place, result


@dataclass(frozen=True, eq=False)
class _Chunks(Dataset):
    """What workers see: pictures by chunks, as (n, 3, H, W), or the reason why a chunk cannot be had.

    A reason and no exception, because torch would wrap that into the tracebacks of two processes.
    """

    source: Source
    cut: Cut | None
    shape: tuple[int, int, int]
    places: list[slice]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, number: int) -> Tensor | str:
        place = self.places[number]
        chunk = torch.empty((place.stop - place.start, *self.shape), dtype=torch.uint8)
        channels, height, width = self.shape
        for row, position in enumerate(range(place.start, place.stop)):
            try:
                pixels = self.source.images.decode(position, self.cut)
            except ImageError as error:
                return str(error)
            if pixels.shape != (height, width, channels):
                return (
                    f"pictures must have one size, but {self.source.image_name(position)} has {pixels.shape[1]} x "
                    f"{pixels.shape[0]} pixels and {self.source.image_name(0)} has {width} x {height}; bring them to "
                    "one with --resize and --crop"
                )
            chunk.numpy()[row] = pixels.transpose(2, 0, 1)
        return chunk


def _kept(images: Tensor, device: torch.device, words: str) -> Pixels:
    def run(size: int) -> Batches:
        slices = ((place, images[place]) for place in _split(0, len(images), size))
        return slices if images.device.type == device.type else _sent(slices, device)

    n, channels, height, width = images.shape
    return Pixels((n, channels, height, width), words, run, images)


def _sent(batches: Batches, device: torch.device) -> Batches:
    """Batches on the device; on a GPU, each is on its way while the one before is being used."""
    if device.type != "cuda":
        yield from ((place, batch.to(device)) for place, batch in batches)
        return
    stream = torch.cuda.Stream(device)
    coming = None
    for place, batch in batches:
        with torch.cuda.stream(stream):
            following = place, batch.pin_memory().to(device, non_blocking=True), stream.record_event()
        if coming is not None:
            yield _arrived(*coming)
        coming = following
    if coming is not None:
        yield _arrived(*coming)


def _arrived(place: slice, batch: Tensor, copied: torch.cuda.Event) -> tuple[slice, Tensor]:
    """Let the stream that uses the batch wait for its copy, and the allocator know that this stream uses it."""
    current = torch.cuda.current_stream(batch.device)
    current.wait_event(copied)
    batch.record_stream(current)
    return place, batch
