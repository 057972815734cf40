"""Keyed randomness: what an image draws depends on the image, never on when or where it is drawn.

Every image of a cell has one 64-bit **key**, made from (seed, suite entry, severity, image id). Each kind of draw that
a corruption makes has a **stream**, named by a word ("angle", "noise"). Element e of a stream is a pure function of
(key, stream, e): a counter-based generator has no state to advance, so nothing depends on batch size, order, worker,
rank or device, and no global generator is read or moved.

The generator is Philox 4x32 with ten rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). It
passes BigCrush, needs only 32-bit multiplications and exclusive ors (so that a CPU, a GPU and plain torch give the same
bits), and makes four words per block with no memory, which is what a GPU thread wants.

>>> import torch
>>> keys = image_keys("imagenet-c/fog", severity=3, ids=torch.arange(4), seed=0)
>>> torch.equal(normal(keys, "noise", (5,))[2:3], normal(keys[2:3], "noise", (5,)))
True
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

from scuff import kernels
from scuff.kernels.constants import constant, remembered

Shape = Sequence[int]
Ids = Sequence[int] | Tensor | str | None  # as a caller gives them: see `ids_tensor`


# --- keys -----------------------------------------------------------------------------------------------------------


def image_id(name: str) -> int:
    """A stable 63-bit id for an image that has a name instead of a number (its path below the dataset's root, say)."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little") >> 1


@lru_cache(maxsize=4096)
def _digest(text: str, size: int) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=size).digest(), "little")


def image_keys(entry: str, severity: int | None, ids: Tensor, seed: int = 0) -> Tensor:
    """One 64-bit key per image, as int64 of shape (N,) on the device of `ids`.

    The cell (seed, entry, severity) becomes a Philox key, the image id its counter, and two output words the image's
    key. So ids may be any int64, and neighbouring ids, severities or seeds share nothing.
    """
    return kernels.derive_keys(ids, cell_key(entry, severity, seed))


def cell_key(entry: str, severity: int | None, seed: int = 0) -> int:
    """The 64-bit Philox key of a cell, from which `kernels.derive_keys` makes those of its images."""
    return _digest(f"{seed}|{entry}|{severity}", 8)


def content_ids(pixels: Tensor) -> Tensor:
    """Ids from the pixels themselves, for pipelines that hand over images without numbers: int64 of shape (N,).

    `pixels` is uint8 (N, C, H, W). Eight bytes at a time are multiplied by a random odd number of their own and summed
    modulo 2**64: integer sums wrap and commute, so every device gets the same id.
    """
    flat = pixels.contiguous().flatten(1)
    flat = torch.nn.functional.pad(flat, (0, -flat.shape[1] % 8))
    lanes = flat.view(torch.int64)
    return (lanes * _odd_numbers(lanes.shape[1], pixels.device)).sum(1)


@remembered(16)
def _odd_numbers(count: int, device: torch.device) -> Tensor:
    words = kernels.words(torch.zeros(1, dtype=torch.int64, device=device), stream_number("content"), 2 * count)[0]
    return words[::2] << 32 | words[1::2] | 1


def ids_tensor(ids: Ids, batch: Tensor) -> Tensor:
    """The ids of a batch as int64 (N,) on its device: given, or counted from 0, or made from the pixels."""
    return sent(given_ids(ids, batch), batch.device)


def given_ids(ids: Ids, batch: Tensor) -> Tensor:
    """`ids_tensor`, wherever they were given: what is drawn by ids of the CPU is known without asking a GPU."""
    if ids is None:
        return _places(len(batch), batch.device)
    if isinstance(ids, str):
        if ids != "content":
            raise ValueError(f"ids must be whole numbers, one per image, or 'content'; got {ids!r}")
        return content_ids(batch if batch.dtype == torch.uint8 else torch.round(batch * 255.0).to(torch.uint8))
    try:
        numbers = torch.as_tensor(ids)
    except (OverflowError, RuntimeError, TypeError, ValueError) as error:
        expected = f"ids must be {len(batch)} whole numbers of at most 64 bits, one per image"
        raise ValueError(f"{expected}; {error}") from error
    if numbers.dtype.is_floating_point or numbers.dtype == torch.bool or numbers.shape != (len(batch),):
        given = f"{tuple(numbers.shape)} {numbers.dtype}"
        raise ValueError(f"ids must be {len(batch)} whole numbers, one per image, got {given}")
    return numbers.long()


@remembered(8)
def _places(count: int, device: torch.device) -> Tensor:
    """0, 1, ...; shared: never write into it."""
    return torch.arange(count, device=device)


def sent(numbers: Tensor, device: torch.device) -> Tensor:
    """Numbers on a device. A GPU gets its copy when it comes to that; nobody waits for what it has still to do."""
    if device.type == "cuda" and not numbers.is_cuda:
        return numbers.pin_memory().to(device, non_blocking=True)
    return numbers.to(device)


def stream_number(name: str) -> int:
    """The 32-bit counter word that a stream's name stands for."""
    return _digest(name, 4)


# --- draws: the first dimension of every result is the image ----------------------------------------------------------


def _draw(primitive, keys: Tensor, stream: str, shape: Shape, *arguments) -> Tensor:
    return primitive(keys, stream_number(stream), math.prod(shape), *arguments).view(len(keys), *shape)


def uniform(keys: Tensor, stream: str, shape: Shape = (), low: float = 0.0, high: float = 1.0) -> Tensor:
    """float32, uniform between low and high: (N, *shape)."""
    return _draw(kernels.uniform, keys, stream, shape, low, high)


def normal(keys: Tensor, stream: str, shape: Shape = (), mean: float = 0.0, std: float = 1.0) -> Tensor:
    """float32, normal: (N, *shape)."""
    return _draw(kernels.normal, keys, stream, shape, mean, std)


def integers(keys: Tensor, stream: str, shape: Shape = (), *, low: int, high: int) -> Tensor:
    """int32, uniform on low, low + 1, ..., high, **both ends included**: (N, *shape).

    By multiplication instead of rejection: the bias is below (high - low + 1) / 2**32.
    """
    if not 0 <= high - low < 2**31:
        raise ValueError(f"integers needs low <= high less than 2**31 apart, got {low} and {high}")
    return _draw(kernels.integers, keys, stream, shape, low, high)


def bernoulli(keys: Tensor, stream: str, shape: Shape = (), *, probability: float) -> Tensor:
    """bool, True with the given probability (to 2**-24): (N, *shape)."""
    return uniform(keys, stream, shape) <= probability


def poisson(keys: Tensor, stream: str, rate: Tensor) -> Tensor:
    """Poisson counts as float32, one for each entry of `rate` (N, ...)."""
    flat = rate.float().flatten(1)
    return kernels.poisson_quantile(uniform(keys, stream, flat.shape[1:]), flat).view(rate.shape)


def permutation(keys: Tensor, stream: str, n: int) -> Tensor:
    """A uniformly random order of 0..n-1 for each image, int64 (N, n): the ranks of n random 63-bit numbers."""
    words = kernels.words(keys, stream_number(stream), 2 * n)
    return torch.argsort(words[:, ::2] << 31 | words[:, 1::2] >> 1, dim=1, stable=True)


def choice(keys: Tensor, stream: str, shape: Shape = (), *, weights: Sequence[float]) -> Tensor:
    """int64 indices into `weights`, each drawn with probability proportional to its weight: (N, *shape)."""
    total = sum(weights)
    edges = constant(tuple(sum(weights[: k + 1]) / total for k in range(len(weights) - 1)), keys.device)
    return torch.bucketize(uniform(keys, stream, shape), edges)
