"""What training images are treated with besides flips and shifts: a corruption for half of them, noise, a scheme.

A treatment is data, so that it can be written down where weights come from; `treat` carries it out on a block of many
batches at once. Training and test images have the same ids, 0, 1, ...; but a seed of training is never one of testing,
so that a test image meets none of the random numbers that some training image had.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from scuff.augment import Scheme, open_scheme
from scuff.augment.losses import WEIGHT
from scuff.balls import sample_ball
from scuff.door import corrupt, each_its_way, find_entry
from scuff.metrics.norms import parse_norm
from scuff.random import image_keys, integers, sent
from scuff.ranges import is_number
from scuff.suites import Suite, load_suite
from scuff.training.adversarial_noise import AdversarialTraining


@dataclass(frozen=True)
class Corrupted:
    """The first half of every batch is corrupted: each image draws one of the entries, and its severity."""

    suite: Suite
    entries: tuple[str, ...]

    before_crop = False
    bytes_each = 1  # of a value that was treated

    def treat(self, images: Tensor, ids: Tensor, seed: int, batch_size: int) -> Tensor:
        """uint8 images (N, C, H, W) in batches, with their ids (N,): the same with half of every batch corrupted."""
        places = torch.arange(len(images))
        chosen = places[places % batch_size < batch_size // 2]
        there = sent(chosen, images.device)
        images = images.clone() if images.is_contiguous() else images.contiguous()
        images[there] = self.corrupt(images[there], ids[chosen], seed)
        return images

    def corrupt(self, images: Tensor, ids: Tensor, seed: int) -> Tensor:
        """All images corrupted. If their ids are on the CPU, nobody waits for a GPU."""
        ways = [partial(corrupt, name=entry, suite=self.suite, seed=seed, check=False) for entry in self.entries]
        if len(ways) == 1:
            return ways[0](images, ids=ids)
        keys = image_keys(f"{self.suite.name}/{'+'.join(self.entries)}", None, ids, seed)
        return each_its_way(images, ids, integers(keys, "entry", low=0, high=len(ways) - 1), ways)

    def settings(self) -> dict[str, Any]:
        """What determines the weights, as plain data."""
        suite, content = self.suite, self.suite.to_dict()["entries"]
        return {f"{suite.name}/{e}": {"size": suite.size_of(e), **content[e]} for e in self.entries}


@dataclass(frozen=True)
class Noise:
    """Every image is moved to a uniformly random place in the ball around it, anew in every epoch.

    The radius is one of pixels in 0..1. Places outside of [0, 1] are not drawn if `bounds` is "truncate" (L-infinity
    only), are brought back by "clip", and are left by "none".
    """

    radius: float
    norm: float = math.inf
    bounds: str = "truncate"

    before_crop = False
    bytes_each = 4

    def __post_init__(self) -> None:
        if not is_number(self.radius) or self.radius < 0:
            raise ValueError(f"the radius of the noise must be a number of at least 0, got {self.radius!r}")
        object.__setattr__(self, "norm", parse_norm(self.norm))
        if self.radius > 1 and math.isinf(self.norm):
            raise ValueError(f"pixels are from 0 to 1, so noise of up to {self.radius} leaves nothing of them")

    def treat(self, images: Tensor, ids: Tensor, seed: int, batch_size: int) -> Tensor:
        """uint8 images (N, C, H, W) with their ids (N,) to float32 ones, in 0..255 but not rounded to whole levels."""
        pixels, ids = images.to(torch.float32) / 255, sent(ids, images.device)
        return sample_ball(pixels, ids, self.radius, self.norm, seed=seed, bounds=self.bounds).mul_(255)

    def settings(self) -> dict[str, Any]:
        """What determines the weights, as plain data."""
        return {"radius": self.radius, "norm": str(self.norm), "bounds": self.bounds}


@dataclass(frozen=True)
class Augmented:
    """Every image is augmented by a scheme, anew in every epoch.

    With a `consistency` above 0, every image is seen three times, as it is and augmented twice; the loss is the
    cross-entropy of the first, plus `consistency` times the Jensen-Shannon divergence of all three, as in AugMix.
    """

    scheme: Scheme
    consistency: float = 0.0

    def __post_init__(self) -> None:
        if not is_number(self.consistency) or self.consistency < 0:
            raise ValueError(f"the weight of consistency must be a number of at least 0, got {self.consistency!r}")
        if self.consistency and self.scheme.before_crop:
            raise ValueError("the views of one image share its flip and shift, so the scheme must act after these")

    @property
    def before_crop(self) -> bool:
        """Whether images are treated before they are mirrored and shifted."""
        return self.scheme.before_crop

    @property
    def bytes_each(self) -> int:
        """Bytes of a value that was treated: of three views as floats, or of one as it was."""
        return 12 if self.consistency else 1

    def treat(self, images: Tensor, ids: Tensor, seed: int, batch_size: int) -> Tensor:
        """uint8 images (N, C, H, W) with their ids (N,) to augmented ones, or to views float32 (N, 3, C, H, W)."""
        ids = sent(ids, images.device)
        if not self.consistency:
            return self.scheme(images, ids, seed)
        views = (self.scheme(images, ids, one) for one in (seed, second_seed(seed)))
        return torch.stack([images.float(), *(view.float() for view in views)], dim=1)

    def settings(self) -> dict[str, Any]:
        """What determines the weights, as plain data."""
        return {**self.scheme.settings(), **({"consistency": self.consistency} if self.consistency else {})}


def second_seed(seed: int) -> int:
    """The seed of the second of two augmentations of one image."""
    return int.from_bytes(hashlib.blake2b(f"second|{seed}".encode(), digest_size=8).digest(), "little") >> 1


Treatment = Corrupted | Noise | Augmented | AdversarialTraining

CONSISTENT = "-jsd"  # ends the name of a scheme that is trained with its consistency loss
ADVERSARIAL = "ant"


def choose_treatment(
    corruption: str | Sequence[str] | None = None,
    suite: Suite | str | None = None,
    noise: float | Noise | None = None,
    augment: str | Scheme | Augmented | AdversarialTraining | None = None,
) -> Treatment | None:
    """The entries to train with, of one suite, whose levels images draw; or noise; or a scheme; or nothing."""
    given = [corruption is not None or suite is not None, noise is not None, augment is not None]
    if sum(given) > 1:
        raise ValueError("train with a corruption, with noise or with an augmentation, not with two of them")
    if noise is not None:
        return noise if isinstance(noise, Noise) else Noise(noise)
    if augment is not None:
        return _choose_scheme(augment)
    if corruption is None and suite is None:
        return None
    if isinstance(suite, str):
        suite = load_suite(suite)
    names = [corruption] if isinstance(corruption, str) else corruption
    if names is None:
        assert suite is not None
        entries = [(suite, entry) for entry in suite.benchmark()]
    else:
        entries = [find_entry(name, suite) for name in names]
    suites = {of.name: of for of, _ in entries}
    if len(suites) > 1:
        raise ValueError(
            f"expected corruptions of one suite, got {', '.join(suites)}; scuff.suites.combine_suites makes one of them"
        )
    if not entries:
        raise ValueError("no corruption is given")
    return Corrupted(replace(next(iter(suites.values())), draws_levels=True), tuple(entry for _, entry in entries))


def _choose_scheme(augment: str | Scheme | Augmented | AdversarialTraining) -> Augmented | AdversarialTraining:
    """A scheme, or its name: "augmix-jsd" is AugMix with its consistency loss, "ant" learns its noise on the way."""
    if isinstance(augment, (Augmented, AdversarialTraining)):
        return augment
    if isinstance(augment, Scheme):
        return Augmented(augment)
    if not isinstance(augment, str):
        raise ValueError(f"expected the name of a scheme, or a scuff.augment.Scheme, got {type(augment).__name__}")
    if augment == ADVERSARIAL:
        return AdversarialTraining()
    kind, colon, options = augment.partition(":")
    is_consistent = kind.endswith(CONSISTENT)
    scheme = open_scheme(f"{kind.removesuffix(CONSISTENT)}{colon}{options}")
    return Augmented(scheme, WEIGHT if is_consistent else 0.0)
