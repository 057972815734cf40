"""A scheme as a module, for anyone's training loop."""

from __future__ import annotations

import hashlib
from typing import Self

import torch
from torch import Tensor, nn

from scuff.augment.scheme import Scheme
from scuff.augment.schemes import open_scheme
from scuff.images import Images, open_images
from scuff.kernels import bytes_to_unit
from scuff.ops.tables import round8
from scuff.random import Ids, ids_tensor


class Augment(nn.Module):
    """Augment every image that passes, single or batched, torch, numpy or PIL; in evaluation mode, none.

    Bytes come back as bytes, floats in 0..1 as floats, which are not rounded but where the scheme itself makes bytes.
    Floats are rounded to bytes on the way in: all schemes begin with bytes.

    Every call draws anew, and all draws come from the seed, so that the same calls in the same order give the same
    images. After `set_epoch(n)` they depend on n and the image alone, not on the order. Use this with workers of a
    DataLoader, each of which has a copy of the module that counts for itself, and begins again in every epoch.

    Images are identified by their content, or by `ids` given to the call.

    >>> import torch
    >>> augment = Augment("augmix")
    >>> x = torch.rand(4, 3, 32, 32)
    >>> augment(x).shape, torch.equal(augment(x), augment(x)), torch.equal(augment.eval()(x), x)
    (torch.Size([4, 3, 32, 32]), False, True)
    """

    def __init__(self, scheme: Scheme | str, seed: int = 0, *, check: bool = True) -> None:
        super().__init__()
        self.scheme = open_scheme(scheme) if isinstance(scheme, str) else scheme
        if not isinstance(self.scheme, Scheme):
            raise ValueError(f"expected a scheme or its address, as in 'augmix' or AugMix(); got {scheme!r}")
        self.seed, self.check = seed, check
        self.epoch: int | None = None
        self.calls = 0

    def set_epoch(self, epoch: int) -> Self:
        """Let all draws from now on be those of an epoch."""
        self.epoch = epoch
        return self

    def forward(self, images: Images, ids: Ids = None) -> Images:
        if torch.compiler.is_compiling():  # kernels are compiled already; as a decorator this would slow down imports
            return torch.compiler.disable(self._augment)(images, ids)
        return self._augment(images, ids)

    def _augment(self, images: Images, ids: Ids) -> Images:
        if not self.training:
            return images
        opened = open_images(images, self.check)
        batch = opened.batch
        pixels = round8(batch * 255) if batch.is_floating_point() else batch
        augmented = self.scheme(pixels, ids_tensor("content" if ids is None else ids, pixels), self._draw_seed())
        return opened.restore(_like(batch, augmented))

    def _draw_seed(self) -> int:
        moment = f"epoch {self.epoch}" if self.epoch is not None else f"call {self.calls}"
        self.calls += 1
        digest = hashlib.blake2b(f"augment|{self.seed}|{moment}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little") >> 1

    def extra_repr(self) -> str:
        return f"{self.scheme}, seed={self.seed}"


def _like(batch: Tensor, augmented: Tensor) -> Tensor:
    """Levels 0..255, bytes or floats, as the batch came."""
    if batch.is_floating_point():
        return augmented / 255 if augmented.is_floating_point() else bytes_to_unit(augmented)
    return round8(augmented) if augmented.is_floating_point() else augmented
