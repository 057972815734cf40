"""What happens to training images on the way to the network: mirrored, shifted, and half of them corrupted.

It happens to a block of many batches at once, on the device. All draws are keyed by seed, epoch and image, so that an
epoch can be made again at any time without those before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from scuff.door import corrupt, each_its_way
from scuff.random import bernoulli, image_keys, integers
from scuff.suites import Suite

Distort = Callable[[Tensor, Tensor, int], Tensor]  # images (N, C, H, W), their ids (N,), a seed -> images


def corruption_of(suite: Suite, entries: Sequence[str]) -> Distort:
    """A function that corrupts every image by one of some entries, which the image draws; levels are drawn too.

    Images for training and for testing have the same ids, 0, 1, ...; a seed of training is never one of testing, so
    that a test image meets none of the random numbers that some training image had.
    """
    suite.choose(only=entries)  # refuses unknown names

    def distort(images: Tensor, ids: Tensor, seed: int) -> Tensor:
        ways = [partial(corrupt, name=entry, suite=suite, seed=seed, check=False) for entry in entries]
        if len(ways) == 1:
            return ways[0](images, ids=ids)
        keys = image_keys(f"{suite.name}/{'+'.join(entries)}", None, ids, seed)
        return each_its_way(images, ids, integers(keys, "entry", low=0, high=len(ways) - 1), ways)

    return distort


def epoch_seed(seed: int, epoch: int) -> int:
    """A seed for the draws of one epoch: 63 bits that no user would choose for an evaluation."""
    digest = hashlib.blake2b(f"training|{seed}|{epoch}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def shuffled(count: int, seed: int) -> Tensor:
    """The numbers 0 .. count - 1 in an order that the seed decides, on the CPU."""
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed))


def augment(images: Tensor, ids: Tensor, seed: int, *, flip: bool, crop: int) -> Tensor:
    """uint8 images (N, C, H, W), half of them mirrored, all of them shifted by up to `crop` pixels over zeros."""
    keys = image_keys("training", None, ids, seed)
    if flip:
        mirrored = bernoulli(keys, "flip", (1, 1, 1), probability=0.5)
        images = torch.where(mirrored, images.flip(-1), images)
    if crop:
        _, _, height, width = images.shape
        windows = F.pad(images, (crop,) * 4).unfold(2, height, 1).unfold(3, width, 1)
        top, left = integers(keys, "shift", (2,), low=0, high=2 * crop).long().unbind(1)
        images = windows[torch.arange(len(images), device=images.device), :, top, left]
    return images


def corrupt_half(images: Tensor, ids: Tensor, seed: int, distort: Distort, batch_size: int) -> Tensor:
    """Corrupt the first half of every batch of a block."""
    places = torch.arange(len(images), device=images.device)
    chosen = places[places % batch_size < batch_size // 2]
    images = images.clone() if images.is_contiguous() else images.contiguous()
    images[chosen] = distort(images[chosen], ids[chosen], seed)
    return images
