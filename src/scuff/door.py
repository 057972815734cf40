"""The public door: a suite's entry, the registry and the pixel contract brought together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import torch
from torch import Tensor

from scuff.batches import check_memory, each_its_way, through
from scuff.corruptions import Corruption, get
from scuff.corruptions.motion import Motion, joined, mixed
from scuff.corruptions.registry import HENDRYCKS, MICHAELIS
from scuff.images import ImageError, Images, OpenedImages, open_images
from scuff.kernels import sparing_compiler
from scuff.random import Ids, cell_key, given_ids, ids_tensor, image_keys, integers, sent
from scuff.ranges import as_range
from scuff.suites import Suite, is_bundled, load_suite
from scuff.suites.paths import Parameters, Term, between, stretch
from scuff.targets import Rules, Sample, open_sample

PUBLISHED_QUALITY = 85  # the JPEG quality of the published ImageNet-C files
DRAWS = ("level", "shared")


@dataclass(frozen=True)
class Resolved:
    """A corruption with its parameters, and what its randomness is keyed by: the entry, and the level if it has any.

    A severity that is drawn, or fixed inside its range, is no part of the key. So an image keeps all its other draws
    when the severity is fixed, and fixing it at what was drawn changes nothing. `choices` are the levels, where every
    image draws its own; an image that draws level 3 comes out as if it had been called with level 3. A severity between
    levels lies `share` of the way from `lower`, where None is the image itself, to `parameters`.
    """

    corruption: Corruption
    parameters: dict[str, Any]
    entry: str
    level: int | None
    size: int | None
    choices: tuple[Resolved, ...] = ()
    lower: Parameters | None = None
    share: float = 1.0


def resolve(
    name: str,
    severity: float | None = None,
    *,
    suite: Suite | str | None = None,
    parameters: dict[str, Any] | None = None,
    path: str = "levels",
    draws: str = "level",
) -> Resolved:
    """Find what `name` means: "suite/entry" at a severity, an entry of `suite`, or a corruption with `parameters`.

    >>> resolve("noc-candidates/rain").parameters["count"]
    Range(low=12, high=120)
    """
    if parameters is not None:
        if severity is not None or suite is not None:
            raise ValueError("pass either parameters, or a severity of a suite's entry, not both")
        corruption = get(name)
        plain = {p: v.item() if hasattr(v, "item") else v for p, v in parameters.items()}  # numbers of numpy and torch
        values = {p: as_range(v) if isinstance(v, (tuple, list)) else v for p, v in plain.items()}
        corruption.check_parameters(values)
        return Resolved(corruption, values, name, None, None)
    suite, entry = find_entry(name, suite)
    options = (get(suite.corruption(entry)), suite, entry, severity, path, draws)
    plain_options = type(severity) in PLAIN and type(path) is type(draws) is str
    return _remembered_plan(*options) if plain_options else _plan(*options)


def _plan(corruption: Corruption, suite: Suite, entry: str, severity: float | None, path: str, draws: str) -> Resolved:
    levels = suite.listed_levels(entry)
    if suite.draws_levels and levels and severity is None:
        choices = tuple(resolve(entry, level, suite=suite) for level in levels)
        return Resolved(corruption, {}, f"{suite.name}/{entry}", None, suite.size_of(entry), choices)
    if draws not in DRAWS:
        raise ValueError(f"draws must be {' or '.join(DRAWS)}, got {draws!r}")
    lower, upper, share = stretch(suite, entry, severity, path) if levels else (0, severity, 1.0)
    values = suite.parameters(entry, upper)
    corruption.check_parameters(values)
    address, size, level = f"{suite.name}/{entry}", suite.size_of(entry), int(upper) if levels and upper else None
    if not levels or (share == 1.0 and draws == "level"):
        return Resolved(corruption, values, address, level, size)
    begin = suite.parameters(entry, lower) if lower else None
    return Resolved(corruption.sharing_draws(), values, address, None, size, lower=begin, share=share)


PLAIN = (int, float, type(None))
_remembered_plan = lru_cache(maxsize=1024, typed=True)(_plan)  # small batches would wait for it, call after call


def resolve_still(
    name: str,
    severity: float | None = None,
    *,
    suite: Suite | str | None = None,
    parameters: dict[str, Any] | None = None,
    **options: Any,
) -> Resolved:
    """`resolve`, for anything but a sequence of frames."""
    if parameters is None:
        suite, name = find_entry(name, suite)
    corruption, address = name, name
    if isinstance(suite, Suite):
        corruption, address = suite.corruption(name), f"{suite.name}/{name}"
    if get(corruption).sequence:
        raise ValueError(f"{address} is a sequence of frames; make it with scuff.sequence")
    return resolve(name, severity, suite=suite, parameters=parameters, **options)


def find_entry(name: str, suite: Suite | str | None = None) -> tuple[Suite, str]:
    """The suite and its entry that "suite/entry", or an entry's name in `suite`, stand for."""
    if not isinstance(name, str):
        raise ValueError(f"expected the name of one entry, as in 'imagenet-c/fog', got {name!r}; call once for each")
    if suite is None:
        suite, slash, entry = name.rpartition("/")
        if not slash and is_bundled(name):
            entries = load_suite(name).benchmark()
            raise ValueError(f"{name} is a suite; name one of its entries, as in '{name}/{entries[0]}'")
        if not slash:
            raise ValueError(
                f"expected suite/name, as in 'imagenet-c/{name}', got {name!r}; or pass parameters={{...}} of your own"
            )
        name = entry
    if not isinstance(suite, Suite):
        suite = load_suite(suite)
    return suite, suite.find(name)


def corrupt(
    images: Images,
    name: str,
    severity: float | None = None,
    *,
    seed: int = 0,
    ids: Ids = None,
    suite: Suite | str | None = None,
    parameters: dict[str, Any] | None = None,
    path: str = "levels",
    draws: str = "level",
    scale: bool = True,
    as_published: bool = False,
    check: bool = True,
    targets: Rules | None = None,
) -> Images:
    """Corrupt images, and return them as they were given.

    A single image is keyed by its pixels, so that two pictures never share their noise; the images of a batch are keyed
    by their places in it, unless `ids` says otherwise.

    Parameters
    ----------
    images
        torch (C, H, W) or (N, C, H, W); numpy (H, W), (H, W, C) or (N, H, W, C); PIL; or a list of those, of any sizes.
        uint8, or float in [0, 1]; grey or RGB. Never modified. One image may come with boxes, masks, keypoints, depth
        or flow, which then move with it: as a dictionary with the key "image" (`scuff.targets.move` says what else),
        or in anything that holds torchvision's TVTensors.
    name, severity
        An entry of a suite and its level: `"imagenet-c/fog", 3`; or a severity between levels, `2.4`, from 0, which is
        the image itself, to the last level. An entry whose severity is a range is called without
        one, and every image draws its own, or with a value inside the range: `"imagenet-noc/rain", 50`; so is one of a
        suite that draws levels, which on a GPU waits for the device to know how many drew which, unless `ids` are those
        of the CPU. With `suite=` only the entry's name. With `parameters=` the name of a corruption, as in
        `corrupt(x, "fog", parameters={"strength": 2.0, "decay": 1.7})`; a pair of numbers is a range.
    seed, ids
        Randomness is keyed by (seed, entry, level, id). Give the positions in your dataset; or "content", the default
        for a single image, to key every image by its own pixels. Ids of a batch or a list default to 0..n-1.
    path
        Which way severities between levels go: "levels" leads through all of them, "monotone" only through those that
        lead away from the image, where the published ones come back (snow, elastic, saturate).
    draws
        "level": every level has draws of its own, as the benchmark does; severities between levels share theirs.
        "shared": levels share them too, so that a rising severity changes one scene.
    scale
        Lengths in pixels are meant for the suite's image size. By default they are multiplied by (shorter side / that
        size); False takes them as they are.
    as_published
        Send the result through a JPEG of quality 85, as the published ImageNet-C files have been.
    check
        False skips the search for NaN and values outside [0, 1], which on a GPU waits for the device.
    targets
        How boxes and the like are given, and which of them are dropped: `scuff.targets.Rules`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.zeros((2, 32, 32, 3), np.uint8)
    >>> corrupt(x, "cifar10-c/brightness", severity=5)[0, 0, 0].tolist()
    [76, 76, 76]
    """
    plan = resolve_still(name, severity, suite=suite, parameters=parameters, path=path, draws=draws)

    def make(opened: OpenedImages, ids: Ids, sample: Sample | None) -> Images:
        with sparing_compiler(opened.batch.numel()):
            ids = given_ids(ids, opened.batch)
            made = opened.restore(_corrupt_batch(opened.batch, plan, seed, ids, scale, as_published))
        if sample is None:
            return made
        if not sample.has_targets:
            return sample.with_image(made)
        rules = targets or Rules()
        if len(ids) != 1:
            raise ImageError(f"expected one image with its targets, got {len(ids)}; pass a list with a sample for each")
        ids = sent(ids, opened.batch.device)
        (motion,) = motions_of(plan, ids, opened.batch.shape[1:], seed, scale, rules.convention)
        return sample.moved(made, motion, rules)

    sample = open_sample(images)
    if sample is None and isinstance(images, (list, tuple)):
        samples = [open_sample(image) for image in images]
        pictures = [image if s is None else s.image for image, s in zip(images, samples, strict=True)]
        each = open_each(pictures, ids, check)
        return [make(opened, its_id, s) for (opened, its_id), s in zip(each, samples, strict=True)]
    opened = open_images(images if sample is None else sample.image, check)
    return make(opened, default_ids(ids, opened), sample)


def motions(
    name: str,
    severity: float | None = None,
    *,
    size: tuple[int, int],
    ids: Sequence[int] | Tensor,
    seed: int = 0,
    scale: bool = True,
    convention: str = "content",
    **options: Any,
) -> list[Motion]:
    """What `corrupt`, with the same arguments, does to places in images of `size` (height, width): one for each id.

    >>> motions("noc-candidates/rotation", 10, size=(100, 200), ids=[3])[0].matrix.shape
    torch.Size([1, 3, 3])
    """
    plan = resolve_still(name, severity, **options)
    numbers = ids_tensor(ids, torch.empty(len(ids), 1, 1, 1))
    return motions_of(plan, numbers, (3, *size), seed, scale, convention)


def default_ids(ids: Ids, opened: OpenedImages) -> Ids:
    """Ids as given; by default those of its content for a single image, and places for a batch."""
    return "content" if ids is None and opened.single else ids


def open_each(images: Sequence[Images], ids: Ids, check: bool) -> Iterator[tuple[OpenedImages, Ids]]:
    """Open the members of a list, of any kinds and sizes, with their ids: by default their places in the list."""
    numbers = range(len(images)) if ids is None else ids
    if not isinstance(ids, str) and len(numbers) != len(images):
        raise ValueError(f"ids must be {len(images)} whole numbers, one per image, got {len(numbers)}")
    for place, image in enumerate(images):
        opened = open_images(image, check)
        if len(opened.batch) != 1:
            raise ValueError("a list must hold single images; pass a batch on its own, without a list around it")
        yield opened, ids if isinstance(ids, str) else [int(numbers[place])]


def _corrupt_batch(batch: Tensor, plan: Resolved, seed: int, ids: Tensor, scale: bool, as_published: bool) -> Tensor:
    """(N, C, H, W), uint8 or float32, in; the same out. Whatever the input, results lie on the 8-bit grid."""
    if plan.choices:
        drawn = integers(image_keys(plan.entry, None, ids, seed), "level", low=0, high=len(plan.choices) - 1)
        options: dict[str, Any] = {"seed": seed, "scale": scale, "as_published": as_published}
        return each_its_way(batch, ids, drawn, [partial(_corrupt_batch, plan=p, **options) for p in plan.choices])
    terms = weighted_parameters(plan, min(batch.shape[-2:]), scale)
    for parameters in [p for _, p in terms if p is not None]:
        check_memory(plan.corruption, parameters, batch)
    cell = cell_key(plan.entry, plan.level, seed)
    corruption = plan.corruption.taking_bytes() if batch.dtype == torch.uint8 and len(terms) == 1 else plan.corruption
    quality = PUBLISHED_QUALITY if as_published else None
    return through(corruption, terms, batch, sent(ids, batch.device), cell, quality)


def motions_of(
    plan: Resolved, ids: Tensor, shape: Sequence[int], seed: int, scale: bool, convention: str
) -> list[Motion]:
    """What happens to places in the images (C, H, W) that a plan makes, by the same draws: one for each."""
    motion = motion_of(plan, ids, shape, seed, scale, convention)
    return [motion[i] for i in range(len(ids))]


def motion_of(
    plan: Resolved, ids: Tensor, shape: Sequence[int], seed: int, scale: bool, convention: str = "content"
) -> Motion:
    """What happens to places in the images, of all of them together."""
    size = (shape[-2], shape[-1])
    if plan.choices:
        drawn = integers(image_keys(plan.entry, None, ids, seed), "level", low=0, high=len(plan.choices) - 1)
        rest = (shape, seed, scale, convention)
        each = [motion_of(plan.choices[k], ids[i : i + 1], *rest) for i, k in enumerate(drawn.tolist())]
        return joined(each) if each else Motion(size)
    stays = convention == "published" and plan.corruption.reference in (HENDRYCKS, MICHAELIS)
    if plan.corruption.motion is None or stays:
        return Motion(size)
    keys = image_keys(plan.entry, plan.level, ids, seed)
    shape = (3, *size) if plan.corruption.colour else tuple(shape)
    terms = [
        (weight, Motion(size) if parameters is None else plan.corruption.motion_of(keys, shape, parameters))
        for weight, parameters in weighted_parameters(plan, min(size), scale)
    ]
    return mixed(terms).to(ids.device)


def scaled_parameters(plan: Resolved, side: int, parameters: Parameters | None = None) -> Parameters:
    """The parameters of a plan, or others of its entry, for images whose shorter side is `side`."""
    parameters = plan.parameters if parameters is None else parameters
    return parameters if plan.size in (None, side) else plan.corruption.scaled(parameters, side / plan.size)


def weighted_parameters(plan: Resolved, side: int, scale: bool) -> list[Term]:
    """What to apply to images whose shorter side is `side`, and the weights of the results: in general one, of 1."""

    def at_size(parameters: Parameters) -> Parameters:
        return scaled_parameters(plan, side, parameters) if scale else parameters

    lower = None if plan.lower is None else at_size(plan.lower)
    return between(plan.corruption.name, lower, at_size(plan.parameters), plan.share, side)
