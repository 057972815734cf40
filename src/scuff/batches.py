"""A batch on its way through corruptions: each image its own way, and pixels as a corruption wants them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from scuff import kernels
from scuff.corruptions import Corruption
from scuff.ops.colour import luma
from scuff.random import sent


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


def to_pixels(corruption: Corruption, batch: Tensor, y: Tensor) -> Tensor:
    """What the corruption made of `batch`, as bytes with the channels of `batch`."""
    x = _in_colour(corruption, batch)
    if corruption.domain != "byte":
        y = kernels.unit_to_bytes(y, torch.empty_like(x, dtype=torch.uint8), corruption.domain == "real")
    return y if x.shape[1] == batch.shape[1] else torch.round(luma(y.float())).to(torch.uint8)


def _in_colour(corruption: Corruption, batch: Tensor) -> Tensor:
    return batch.expand(-1, 3, -1, -1) if corruption.colour else batch


def like(batch: Tensor, pixels: Tensor) -> Tensor:
    """Bytes as the batch came: bytes, or floats on the 8-bit grid; in the usual order of memory if the batch has it."""
    if batch.dtype != torch.uint8:
        return kernels.bytes_to_unit(pixels)
    return pixels.contiguous() if batch.is_contiguous() else pixels
