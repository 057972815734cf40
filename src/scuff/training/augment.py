"""What happens to all training images on the way to the network: shuffled, mirrored, shifted.

It happens to a block of many batches at once, on the device. All draws are keyed by seed, epoch and image, so that an
epoch can be made again at any time without those before it.
"""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor
from torch.nn import functional as F

from scuff.random import bernoulli, image_keys, integers


def epoch_seed(seed: int, epoch: int) -> int:
    """A seed for the draws of one epoch: 63 bits that no user would choose for an evaluation."""
    digest = hashlib.blake2b(f"training|{seed}|{epoch}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def shuffled(count: int, seed: int) -> Tensor:
    """The numbers 0 .. count - 1 in an order that the seed decides, on the CPU."""
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed))


def augment(images: Tensor, ids: Tensor, seed: int, *, flip: bool, crop: int) -> Tensor:
    """Images (N, C, H, W), half of them mirrored, all of them shifted by up to `crop` pixels over zeros."""
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
