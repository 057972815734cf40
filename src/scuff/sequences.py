"""The door for sequences: frames of a perturbation, made by the same engine as single corruptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff import batches, door
from scuff.corruptions import Corruption
from scuff.door import Resolved
from scuff.images import ImageError, Images, open_images
from scuff.random import Ids, ids_tensor, image_keys
from scuff.suites import Levels, Suite
from scuff.suites.paths import Parameters

DIFFICULTIES = 3  # of an entry without levels: there it is the stride of the metric


def sequence(
    images: Images,
    name: str,
    difficulty: int = 1,
    *,
    seed: int = 0,
    ids: Ids = None,
    suite: Suite | str | None = None,
    parameters: dict[str, Any] | None = None,
    scale: bool = True,
    crop: int | None = None,
    check: bool = True,
) -> Images:
    """All frames of a perturbation sequence, stacked: torch (N, T, C, H, W), numpy (N, T, H, W, C).

    A single image comes back without N; a PIL image as a list of T images; a list of images as a list of their
    sequences. `frames` takes the same arguments and yields frame after frame, for films that do not fit into memory.

    Parameters
    ----------
    images, seed, ids, scale, check
        As in `scuff.corrupt`.
    name
        An entry of a suite: `"imagenet-p/tilt"`, or with `suite=` only the entry's name; or, with `parameters=`, the
        name of a registered sequence, `"tilt_frames"`.
    difficulty
        1, 2 or 3. For noise, how strong it is. The frames of all other entries are the same at any difficulty: there it
        is the distance of the frames that a metric compares.
    crop
        Cut the middle `crop` x `crop` pixels out of every frame. Sequences that move the view (translate, rotate, tilt,
        scale, shear) are made on the whole image first, so that its surroundings come into sight; all others on the
        crop. ImageNet-P: images with a shorter side of 256, and `crop=224`. Lengths are then scaled to the crop.

    Examples
    --------
    >>> import numpy as np
    >>> sequence(np.zeros((2, 32, 32, 3), np.uint8), "cifar10-p/translate").shape
    (2, 16, 32, 32, 3)
    """
    options: dict[str, Any] = {"seed": seed, "ids": ids, "suite": suite, "parameters": parameters}
    return _stacked(list(frames(images, name, difficulty, **options, scale=scale, crop=crop, check=check)))


def frames(
    images: Images,
    name: str,
    difficulty: int = 1,
    *,
    seed: int = 0,
    ids: Ids = None,
    suite: Suite | str | None = None,
    parameters: dict[str, Any] | None = None,
    scale: bool = True,
    crop: int | None = None,
    check: bool = True,
) -> Iterator[Images]:
    """The frames of a sequence, one after the other, each like `images`; the arguments are those of `sequence`.

    >>> import torch
    >>> film = frames(torch.rand(8, 3, 32, 32), "cifar10-p/snow")
    >>> next(film).shape
    torch.Size([8, 3, 32, 32])
    """
    plan = resolve_sequence(name, difficulty, suite=suite, parameters=parameters)
    if isinstance(images, (list, tuple)):
        each = list(door.open_each(images, ids, check))
        films = [map(o.restore, _film(o.batch, plan, seed, its_id, scale, crop)) for o, its_id in each]
        return (list(frame) for frame in zip(*films, strict=True))
    opened = open_images(images, check)
    return map(opened.restore, _film(opened.batch, plan, seed, door.default_ids(ids, opened), scale, crop))


def resolve_sequence(
    name: str, difficulty: int = 1, *, suite: Suite | str | None = None, parameters: dict[str, Any] | None = None
) -> Resolved:
    """Find what `name` means, as `door.resolve` does, and refuse what is no sequence or no difficulty of it."""
    levels: Levels = (None,)
    if parameters is None:
        suite, name = door.find_entry(name, suite)
        levels = suite.levels(name)
    graded = levels != (None,)
    hardest = len(levels) if graded else DIFFICULTIES
    if isinstance(difficulty, bool) or not isinstance(difficulty, int) or not 1 <= difficulty <= hardest:
        raise ValueError(f"difficulty must be a whole number from 1 to {hardest}, got {difficulty!r}")
    plan = door.resolve(name, difficulty if graded else None, suite=suite, parameters=parameters)
    if not plan.corruption.sequence:
        raise ValueError(f"{plan.entry} is no sequence of frames; make it with scuff.corrupt")
    return plan


def _film(batch: Tensor, plan: Resolved, seed: int, ids: Ids, scale: bool, crop: int | None) -> Iterator[Tensor]:
    """The frames of a batch (N, C, H, W), uint8 or float32. What makes no sense is refused before the first one."""
    if crop is not None:
        _check_crop(batch, crop)
    parameters = door.scaled_parameters(plan, crop or min(batch.shape[-2:])) if scale else plan.parameters
    keys = image_keys(plan.entry, plan.level, ids_tensor(ids, batch), seed)
    if crop is None:
        return _whole_film(plan.corruption, parameters, batch, keys)
    if plan.corruption.before_crop:
        return (_crop_centre(frame, crop) for frame in _whole_film(plan.corruption, parameters, batch, keys))
    return _whole_film(plan.corruption, parameters, _crop_centre(batch, crop), keys)


def _whole_film(corruption: Corruption, parameters: Parameters, batch: Tensor, keys: Tensor) -> Iterator[Tensor]:
    """A large batch is filmed in pieces, side by side, so that no step takes much memory."""

    def film(part: Tensor, its_keys: Tensor) -> Iterator[Tensor]:
        for frame in corruption(batches.from_pixels(corruption, part), its_keys, parameters):
            yield batches.like(part, batches.to_pixels(corruption, part, frame))

    batches.check_memory(corruption, parameters, batch)
    films = [film(batch[p], keys[p]) for p in batches.pieces_of(batch, corruption)]
    for parts in zip(*films, strict=True):
        yield parts[0] if len(parts) == 1 else torch.cat(parts)


def _check_crop(batch: Tensor, crop: int) -> None:
    height, width = batch.shape[-2:]
    if isinstance(crop, bool) or not isinstance(crop, int) or crop < 1:
        raise ValueError(f"crop must be a whole number of pixels, at least 1, got {crop!r}")
    if crop > min(height, width):
        raise ImageError(f"{width} x {height} pixels are too few for a crop of {crop}; resize to at least that first")


def _crop_centre(batch: Tensor, size: int) -> Tensor:
    """The middle of (N, C, H, W), rounding as `pictures.crop_centre` does."""
    top, left = (round((side - size) / 2) for side in batch.shape[-2:])
    return batch[..., top : top + size, left : left + size]


def _stacked(film: list[Images]) -> Images:
    """Frames along a new axis: the first one, or the second if there is a batch."""
    if film and isinstance(film[0], list):
        return [_stacked(list(one)) for one in zip(*film, strict=True)]
    if film and isinstance(film[0], Tensor):
        return torch.stack(film, dim=int(film[0].ndim == 4))
    if film and isinstance(film[0], np.ndarray):
        return np.stack(film, axis=int(film[0].ndim == 4))
    return film
