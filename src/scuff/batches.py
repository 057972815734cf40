"""A batch on its way through corruptions: in pieces, each image its own way, and pixels as a corruption wants them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from scuff import kernels
from scuff.corruptions import Corruption
from scuff.corruptions.registry import Parameters
from scuff.kernels.replay import replay
from scuff.memory import available_memory, available_on, keep_freed_memory
from scuff.ops.colour import luma
from scuff.ops.jpeg import jpeg
from scuff.random import sent

# Values that keep a processor busy: on a GPU those of about 256 images of 224 pixels, on a CPU of 36, which take 21 MiB
# as floats. This bounds the memory that a huge batch can take; results do not depend on it.
CHUNK = {"cpu": 36 * 3 * 224 * 224, "cuda": 40_000_000}
# More than 12 threads get three of these images each, since with two they wait longer. No more than 17 do: glibc keeps
# blocks of at most 32 MiB, and larger ones are cleared page by page, which took 1.3 to 3.7 times as long an image.
FEW_THREADS, MANY_THREADS = 12, 17
MOST_IMAGES = 65_535 // 3  # per inner step: kernels count their channels along an axis of a CUDA grid that has 65535
ALWAYS_THERE = 1 << 30  # bytes of memory about which nobody asks

Terms = list[tuple[float, Parameters | None]]  # weights and what to apply; None is the image itself


def through(
    corruption: Corruption, terms: Terms, batch: Tensor, ids: Tensor, cell: int, quality: int | None = None
) -> Tensor:
    """What a corruption makes of a batch, a piece at a time, and if asked a JPEG of that; as the batch came.

    Images draw by keys of their ids and the cell. These are made in every step, so that a recording makes them as well.
    """
    kind = _kind(corruption, terms, cell, quality)
    send = partial(replay, kind, partial(_step, corruption, terms, cell, quality))
    pieces = pieces_of(batch, corruption)
    if len(pieces) == 1:
        return send(batch, ids)
    keep_freed_memory()
    out = _room_for_result(batch)
    for piece in pieces:
        send(batch[piece], ids[piece], out=out[piece])
    return out


def _room_for_result(batch: Tensor) -> Tensor:
    """Room for bytes that lie as those of the batch do, or for floats in the usual order.

    On a CPU it is numpy's, which asks the system for pages of 2 MiB where torch gets 512 of 4 KiB instead: to be handed
    these one by one took two threads a tenth of the time of a batch.
    """
    as_it_came = batch.dtype == torch.uint8
    if batch.device.type != "cpu":
        return torch.empty_like(batch) if as_it_came else torch.empty(batch.shape, device=batch.device)
    like = torch.empty_like(batch, device="meta") if as_it_came else torch.empty(batch.shape, device="meta")
    room = torch.from_numpy(np.empty(like.nbytes, np.uint8))
    return room.view(like.dtype).as_strided(like.shape, like.stride())


def _kind(corruption: Corruption, terms: Terms, cell: int, quality: int | None) -> Hashable:
    """All that a step depends on but images and ids, the seed among it, which is in the cell.

    None for corruptions of others, which may have a state: they are not recorded.
    """
    if not all(str(function.__module__).startswith("scuff.") for function in (corruption.draw, corruption.apply)):
        return None
    values = tuple((weight, None if of is None else tuple(of.items())) for weight, of in terms)
    return corruption.name, corruption.domain, corruption.draw, values, cell, quality


def pieces_of(batch: Tensor, corruption: Corruption) -> list[slice]:
    """Slices of about one size that cover the batch; on a CPU, all but the last with as many images for each thread.

    A batch of none is one empty slice.
    """
    number, most = batch.shape[0], most_at_once(batch, corruption)
    threads = min(most, torch.get_num_threads()) if batch.device.type == "cpu" else 1
    count = max(1, -(-number // (most // threads * threads)))
    size = max(1, -(-number // (count * threads)) * threads)
    return [slice(start, start + size) for start in range(0, max(number, 1), size)]


def most_at_once(batch: Tensor, corruption: Corruption) -> int:
    """How many images of a batch may be on their way at once.

    On a CPU, bytes come twice as many. On a GPU, a corruption that holds many copies of its images gets so much
    fewer of them that, with the result of all pieces, no more than two copies of 256 images of 224 pixels are held.
    """
    where, room = batch.device.type, float(CHUNK.get(batch.device.type, 1 << 24))
    if where == "cpu":
        room = room * min(max(FEW_THREADS, torch.get_num_threads()), MANY_THREADS) // FEW_THREADS
        room *= 2 if corruption.domain == "byte" else 1
    elif where == "cuda" and corruption.copies > 2.0:
        room /= corruption.copies
    return min(max(1, int(room / max(1, math.prod(batch.shape[1:])))), MOST_IMAGES)


def check_memory(corruption: Corruption, parameters: Parameters, batch: Tensor) -> None:
    """Refuse what would take more memory than there is: three copies of the images, and what the corruption needs."""
    images, shape = min(len(batch), most_at_once(batch, corruption)), tuple(batch.shape[1:])
    beyond = corruption.memory(images, shape, parameters) if corruption.memory else 0.0
    needed = 4.0 * (3 * images * math.prod(shape) + beyond)
    if needed < ALWAYS_THERE:
        return
    there = available_on(batch.device) if batch.device.type == "cuda" else available_memory()
    if needed > there:
        height, width = batch.shape[-2:]
        raise ValueError(
            f"{corruption.name} with {parameters} takes about {needed / 2**30:.3g} GiB of memory on images of {width} "
            f"x {height} pixels, and {there / 2**30:.3g} GiB are free; take smaller images or other parameters"
        )


def _step(
    corruption: Corruption,
    terms: Terms,
    cell: int,
    quality: int | None,
    batch: Tensor,
    ids: Tensor,
    out: Tensor | None = None,
) -> Tensor:
    """The result for a batch; where it is made as bytes in the end, it is made in `out`."""
    if terms == [(1.0, None)] and quality is None:
        return batch.clone()
    made = _weighted(corruption, terms, from_pixels(corruption, batch), kernels.derive_keys(ids, cell))
    if quality is None and batch.dtype != torch.uint8 and corruption.domain != "byte" and made.shape == batch.shape:
        return kernels.unit_on_grid(made, corruption.domain == "real")
    pixels = to_pixels(corruption, batch, made, out if batch.dtype == torch.uint8 and quality is None else None)
    if quality is not None:
        pixels = jpeg(pixels.expand(-1, 3, -1, -1), quality)[:, : pixels.shape[1]]
    return like(batch, pixels)


def _weighted(corruption: Corruption, terms: Terms, x: Tensor, keys: Tensor) -> Tensor:
    """The weighted mean of results, all of the same draws; what is alike in all of them stays exactly that."""
    made = [x if parameters is None else corruption(x, keys, parameters) for _, parameters in terms]
    if len(made) == 1:
        return made[0]
    is_byte = corruption.domain == "byte"
    made = [y.float() if is_byte else y.clamp(0.0, 1.0) for y in made]
    mean = made[0]
    for (weight, _), y in zip(terms[1:], made[1:], strict=True):
        mean = mean + weight * (y - made[0])
    return torch.round(mean).to(torch.uint8) if is_byte else mean


def each_its_way(batch: Tensor, ids: Tensor, chosen: Tensor, ways: Sequence[Callable[..., Tensor]]) -> Tensor:
    """Send every image i through `ways[chosen[i]](images, ids=...)`, those of one way together.

    How many images go each way must be known. A GPU is asked for that, and waited for, if `chosen` is there; if `ids`
    and `chosen` are on the CPU, nobody waits.
    """
    counts = torch.bincount(chosen.long(), minlength=len(ways)).tolist()
    order = chosen.argsort(stable=True)
    out = torch.empty_like(batch)
    parts = (sent(order, batch.device).split(counts), ids[order].split(counts))
    for way, places, known in zip(ways, *parts, strict=True):
        if len(places):
            out[places] = way(batch[places], ids=known)
    return out


def from_pixels(corruption: Corruption, batch: Tensor) -> Tensor:
    """A batch as the corruption wants it: bytes or unit floats, and three channels if it needs colour."""
    x = _in_colour(corruption, batch)
    if corruption.domain == "byte":
        return x if x.dtype == torch.uint8 else kernels.nearest_bytes(x)
    return x if x.dtype != torch.uint8 else kernels.bytes_to_unit(x)


def to_pixels(corruption: Corruption, batch: Tensor, y: Tensor, out: Tensor | None = None) -> Tensor:
    """What the corruption made of `batch`, as bytes with the channels of `batch`: in `out`, if bytes fit in there."""
    x = _in_colour(corruption, batch)
    if corruption.domain != "byte":
        if out is None or out.shape != x.shape:
            out = torch.empty_like(x, dtype=torch.uint8)
        y = kernels.unit_to_bytes(y, out, corruption.domain == "real")
    return y if x.shape[1] == batch.shape[1] else torch.round(luma(y.float())).to(torch.uint8)


def _in_colour(corruption: Corruption, batch: Tensor) -> Tensor:
    return batch.expand(-1, 3, -1, -1) if corruption.colour else batch


def like(batch: Tensor, pixels: Tensor) -> Tensor:
    """Bytes as the batch came: bytes, or floats on the 8-bit grid; in the usual order of memory if the batch has it."""
    if batch.dtype != torch.uint8:
        return kernels.bytes_to_unit(pixels)
    return pixels.contiguous() if batch.is_contiguous() else pixels
