"""The public door: a suite's entry, the registry and the pixel contract brought together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from scuff import kernels
from scuff.corruptions import Corruption, get
from scuff.images import Images, open_images
from scuff.ops.colour import luma
from scuff.ops.jpeg import jpeg
from scuff.random import content_ids, image_keys
from scuff.ranges import Range
from scuff.suites import Suite, load_suite

PUBLISHED_QUALITY = 85  # the JPEG quality of the published ImageNet-C files

# Values per inner step: about 27 images of 224 pixels on a CPU, which suits its caches, and about 256 on a GPU. This
# bounds the memory that a huge batch can take; results do not depend on it.
CHUNK = {"cpu": 1 << 22, "cuda": 40_000_000}


@dataclass(frozen=True)
class Resolved:
    """A corruption with its parameters, and what its randomness is keyed by: the entry, and the level if it has any.

    A severity that is drawn, or fixed inside its range, is no part of the key. So an image keeps all its other draws
    when the severity is fixed, and fixing it at what was drawn changes nothing.
    """

    corruption: Corruption
    parameters: dict[str, Any]
    entry: str
    level: int | None
    size: int | None


def resolve(
    name: str,
    severity: float | None = None,
    *,
    suite: Suite | str | None = None,
    parameters: dict[str, Any] | None = None,
) -> Resolved:
    """Find what `name` means: "suite/entry" at a severity, an entry of `suite`, or a corruption with `parameters`.

    >>> resolve("noc-candidates/rain").parameters["count"]
    Range(low=12, high=120)
    """
    if parameters is not None:
        if severity is not None or suite is not None:
            raise ValueError("pass either parameters, or a severity of a suite's entry, not both")
        corruption = get(name)
        values = {p: Range(*v) if isinstance(v, (tuple, list)) else v for p, v in parameters.items()}
        corruption.check_parameters(values)
        return Resolved(corruption, values, name, None, None)
    if suite is None:
        prefix, slash, entry = name.rpartition("/")
        if not slash:
            raise ValueError(
                f"expected suite/name, as in 'imagenet-c/{name}', got {name!r}; or pass parameters={{...}} of your own"
            )
        suite, name = prefix, entry
    if not isinstance(suite, Suite):
        suite = load_suite(suite)
    name = suite.find(name)
    corruption, values = get(suite.corruption(name)), suite.parameters(name, severity)
    corruption.check_parameters(values)
    level = None if suite.levels(name) == (None,) else severity
    return Resolved(corruption, values, f"{suite.name}/{name}", level, suite.size)


def corrupt(
    images: Images,
    name: str,
    severity: float | None = None,
    *,
    seed: int = 0,
    ids: Sequence[int] | Tensor | str | None = None,
    suite: Suite | str | None = None,
    parameters: dict[str, Any] | None = None,
    scale: bool = True,
    as_published: bool = False,
    check: bool = True,
) -> Images:
    """Corrupt images, and return them as they were given.

    Parameters
    ----------
    images
        torch (C, H, W) or (N, C, H, W); numpy (H, W), (H, W, C) or (N, H, W, C); PIL; or a list of those, of any sizes.
        uint8, or float in [0, 1]; grey or RGB. Never modified.
    name, severity
        An entry of a suite and its level: `"imagenet-c/fog", 3`. An entry whose severity is a range is called without
        one, and every image draws its own, or with a value inside the range: `"imagenet-noc/rain", 50`. With `suite=`
        only the entry's name. With `parameters=` the name of a corruption, as in
        `corrupt(x, "fog", parameters={"strength": 2.0, "decay": 1.7})`; a pair of numbers is a range.
    seed, ids
        Randomness is keyed by (seed, entry, level, id). Ids default to 0..n-1; give the positions in your dataset,
        or "content" to key every image by its own pixels.
    scale
        Lengths in pixels are meant for the suite's image size. By default they are multiplied by (shorter side / that
        size); False takes them as they are.
    as_published
        Send the result through a JPEG of quality 85, as the published ImageNet-C files have been.
    check
        False skips the search for NaN and values outside [0, 1], which on a GPU waits for the device.

    >>> import numpy as np
    >>> x = np.zeros((2, 32, 32, 3), np.uint8)
    >>> corrupt(x, "cifar10-c/brightness", severity=5)[0, 0, 0].tolist()
    [76, 76, 76]
    """
    plan = resolve(name, severity, suite=suite, parameters=parameters)
    if plan.corruption.sequence:
        raise ValueError(f"{plan.entry} is a sequence of frames; make it with scuff.sequence")
    if isinstance(images, (list, tuple)):
        return _corrupt_list(images, plan, seed, ids, scale, as_published, check)
    opened = open_images(images, check)
    return opened.restore(_corrupt_batch(opened.batch, plan, seed, ids, scale, as_published))


def _corrupt_list(images: Sequence[Images], plan: Resolved, seed, ids, scale, as_published, check) -> list[Images]:
    """Each member may be of another kind and size; its place in the list is its default id."""
    numbers = range(len(images)) if ids is None else ids
    if not isinstance(ids, str) and len(numbers) != len(images):
        raise ValueError(f"ids must be {len(images)} whole numbers, one per image, got {len(numbers)}")
    out = []
    for place, image in enumerate(images):
        its_id = ids if isinstance(ids, str) else [int(numbers[place])]
        opened = open_images(image, check)
        if len(opened.batch) != 1:
            raise ValueError("a list must hold single images; pass a batch on its own, without a list around it")
        out.append(opened.restore(_corrupt_batch(opened.batch, plan, seed, its_id, scale, as_published)))
    return out


def _corrupt_batch(batch: Tensor, plan: Resolved, seed: int, ids, scale: bool, as_published: bool) -> Tensor:
    """(N, C, H, W), uint8 or float32, in; the same out. Whatever the input, results lie on the 8-bit grid."""
    parameters = plan.parameters
    if scale and plan.size is not None and min(batch.shape[-2:]) != plan.size:
        parameters = plan.corruption.scaled(parameters, min(batch.shape[-2:]) / plan.size)
    keys = image_keys(plan.entry, plan.level, _ids_tensor(ids, batch), seed)
    pieces = [_step(plan.corruption, parameters, batch[p], keys[p], as_published) for p in _pieces(batch)]
    return pieces[0] if len(pieces) == 1 else torch.cat(pieces)


def _pieces(batch: Tensor) -> list[slice]:
    """Slices that cover the batch; a batch of none is one empty slice."""
    count = max(1, CHUNK.get(batch.device.type, 1 << 24) // max(batch[:1].numel(), 1))
    return [slice(start, start + count) for start in range(0, max(len(batch), 1), count)]


def _step(corruption: Corruption, parameters, batch: Tensor, keys: Tensor, as_published: bool) -> Tensor:
    grey = batch.shape[1] == 1 and corruption.colour
    x = batch.expand(-1, 3, -1, -1) if grey else batch
    if corruption.domain == "byte":
        pixels = corruption(x if x.dtype == torch.uint8 else _nearest_bytes(x), keys, parameters)
    else:
        y = corruption(x if x.dtype != torch.uint8 else kernels.bytes_to_unit(x), keys, parameters)
        pixels = kernels.unit_to_bytes(y, torch.empty_like(x, dtype=torch.uint8), corruption.domain == "real")
    if grey:
        pixels = torch.round(luma(pixels.float())).to(torch.uint8)
    if as_published:
        pixels = jpeg(pixels.expand(-1, 3, -1, -1), PUBLISHED_QUALITY)[:, : pixels.shape[1]]
    return pixels if batch.dtype == torch.uint8 else kernels.bytes_to_unit(pixels)


def _nearest_bytes(x: Tensor) -> Tensor:
    return torch.round(x * 255.0).to(torch.uint8)


def _ids_tensor(ids: Sequence[int] | Tensor | str | None, batch: Tensor) -> Tensor:
    if ids is None:
        return torch.arange(len(batch), device=batch.device)
    if isinstance(ids, str):
        if ids != "content":
            raise ValueError(f"ids must be whole numbers, one per image, or 'content'; got {ids!r}")
        return content_ids(batch if batch.dtype == torch.uint8 else _nearest_bytes(batch))
    numbers = torch.as_tensor(ids, device=batch.device)
    if numbers.dtype.is_floating_point or numbers.dtype == torch.bool or numbers.shape != (len(batch),):
        given = f"{tuple(numbers.shape)} {numbers.dtype}"
        raise ValueError(f"ids must be {len(batch)} whole numbers, one per image, got {given}")
    return numbers.long()
