"""A scheme as a module, for anyone's training loop."""

from __future__ import annotations

import hashlib
from typing import Self

import torch
from torch import Tensor

from scuff.augment.scheme import Scheme
from scuff.augment.schemes import open_scheme
from scuff.images import Images, open_images
from scuff.kernels import bytes_to_unit
from scuff.modules import ImageModule
from scuff.ops.tables import round8
from scuff.random import Ids, ids_tensor


class Augment(ImageModule):
    """Augment every image that passes, single or batched, torch, numpy or PIL; in evaluation mode, none.

    Labels and the like pass untouched.

    Bytes come back as bytes, floats in 0..1 as floats, which are not rounded but where the scheme itself makes bytes.
    Floats are rounded to bytes on the way in: all schemes begin with bytes.

    Every call draws anew, and all draws come from the seed, so that the same calls in the same order give the same
    images. In a worker of a DataLoader they also depend on the loader's seed of the epoch, which `torch.manual_seed`
    determines. After `set_epoch(n)` they depend on n and the image alone, whatever the order and the number of workers;
    workers that persist over epochs learn of it too.

    Images are identified by their content, or by `ids=` of the call.

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
        self.epoch = torch.full((), -1, dtype=torch.int64).share_memory_()  # workers of a loader see it change
        self.calls = 0

    def set_epoch(self, epoch: int) -> Self:
        """Let all draws from now on be those of an epoch."""
        self.epoch.fill_(epoch)
        return self

    def change(self, images: Images, ids: Ids) -> Images:
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
        worker = torch.utils.data.get_worker_info()
        if self.epoch >= 0:
            moment = f"epoch {int(self.epoch)}"
        else:  # all workers of an epoch share their loader's seed, but for their numbers
            moment = f"call {self.calls}" + (f" loader {worker.seed - worker.id}" if worker else "")
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
