"""CoTTA: Wang et al., Continual test-time domain adaptation, CVPR 2022."""

from __future__ import annotations

import copy
import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scuff import kernels
from scuff.adaptation.method import Method, use_batch_statistics
from scuff.ops.colour import luma
from scuff.random import bernoulli, image_keys, normal, permutation, uniform

BLUR = 5  # taps


class CoTTA(Method):
    """A student learns from a teacher, its moving average, and now and then forgets a little.

    All parameters of the student are learned. Where the network as it came (the anchor) is unsure of a batch, with a
    mean confidence below `unsure`, the teacher's logits are a mean over `copies` of augmented images. Then the teacher
    follows the student (`momentum`), and every weight of the student returns to where it came from with probability
    `restore`. What is returned are the teacher's logits. Draws depend on the seed and on the number of the batch.
    """

    def __init__(
        self,
        network: nn.Module,
        optimiser: str = "adam",
        rate: float = 1e-3,
        unsure: float = 0.92,
        restore: float = 0.01,
        momentum: float = 0.999,
        copies: int = 32,
        symmetric: bool = False,
        seed: int = 0,
    ) -> None:
        use_batch_statistics(network)
        super().__init__(network, network.parameters(), optimiser, rate)
        self.teacher, self.anchor = (copy.deepcopy(network).requires_grad_(False) for _ in range(2))
        self.networks["teacher"] = self.teacher
        self.unsure, self.restore, self.momentum, self.copies = unsure, restore, momentum, copies
        self.symmetric, self.seed = symmetric, seed

    def adapt(self, images: Tensor) -> Tensor:
        number = int(self.memory.get("seen", 0))
        logits, taught = self.network(images), self.teach(images, number)
        self.step(consistency(logits, taught, self.symmetric).mean())
        with torch.no_grad():
            for theirs, its in zip(self.teacher.parameters(), self.network.parameters(), strict=True):
                theirs.lerp_(its, 1 - self.momentum)
            self._forget(number)
        self.memory["seen"] = torch.tensor(number + 1)
        return taught

    @torch.no_grad()
    def teach(self, images: Tensor, number: int) -> Tensor:
        """The teacher's logits of the batch of that number."""
        confidence = self.anchor(images).softmax(1).amax(1).mean()
        if confidence >= self.unsure:
            return self.teacher(images)
        ids = number * self.copies + torch.arange(self.copies)
        keys = image_keys("cotta/augment", None, ids, self.seed)  # on the CPU: a GPU need not be waited for
        return torch.stack([self.teacher(augment(images, keys[k : k + 1])) for k in range(self.copies)]).mean(0)

    def _forget(self, number: int) -> None:
        """Let some weights return to where they came from."""
        ids = torch.tensor([number], device=next(self.network.parameters()).device)
        keys = image_keys("cotta/restore", None, ids, self.seed)
        for (name, weight), start in zip(self.network.named_parameters(), self.anchor.parameters(), strict=True):
            returns = bernoulli(keys, name, weight.shape, probability=self.restore)[0]
            weight.copy_(torch.where(returns, start, weight))


def consistency(logits: Tensor, taught: Tensor, symmetric: bool = False) -> Tensor:
    """The cross-entropy of each prediction with the teacher's; symmetric: half of it, and half of the reverse."""
    loss = -(taught.softmax(1) * logits.log_softmax(1)).sum(1)
    return loss / 2 - (logits.softmax(1) * taught.log_softmax(1)).sum(1) / 2 if symmetric else loss


# --- augmentation -----------------------------------------------------------------------------------------------------


def augment(images: Tensor, key: Tensor) -> Tensor:
    """Images (N, C, H, W) in other colours, turned, shifted, scaled, blurred, perhaps mirrored, and with noise.

    Everything but the noise is the same for the whole batch, and a function of the key (1,), which is on the CPU.
    """
    images = _blur(_move(_recolour(images.clamp(0, 1), key), key), _number(key, "sigma", 0.001, 0.5))
    if _number(key, "mirror", 0, 1) < 0.5:
        images = images.flip(-1)
    return (images + 0.005 * normal(key.to(images.device), "noise", images.shape)[0]).clamp_(0, 1)


def _recolour(images: Tensor, key: Tensor) -> Tensor:
    """Brightness, contrast, saturation, hue and gamma in a random order."""
    for change in permutation(key, "order", 5)[0].tolist():
        if change == 0:
            images = images * _number(key, "brightness", 0.6, 1.4)
        elif change == 1:
            images = _blend(images, luma(images).mean((1, 2, 3), keepdim=True), _number(key, "contrast", 0.7, 1.3))
        elif change == 2:
            images = _blend(images, luma(images), _number(key, "saturation", 0.5, 1.5))
        elif change == 3 and images.shape[1] == 3:
            images = kernels.shift_hue(images, images.new_full((len(images),), _number(key, "hue", -0.06, 0.06)))
        elif change == 4:
            images = images ** _number(key, "gamma", 0.7, 1.3)
        images = images.clamp(0, 1)
    return images


def _blend(images: Tensor, others: Tensor, share: float) -> Tensor:
    return share * images + (1 - share) * others


def _move(images: Tensor, key: Tensor) -> Tensor:
    """Turn, shift and scale about the centre; pixels at the border go on for ever. The blur needs two more around."""
    height, width = images.shape[-2:]
    angle = math.radians(_number(key, "angle", -15, 15))
    scale = _number(key, "scale", 0.9, 1.1)
    # A sixteenth of the image after padding by half of its side on both sides, and in whole pixels.
    right, down = (round(_number(key, way, -side / 8, side / 8)) for way, side in (("right", width), ("down", height)))
    margin = BLUR // 2
    rows = torch.arange(-margin, height + margin, device=images.device) - (height - 1) / 2 - down
    columns = torch.arange(-margin, width + margin, device=images.device) - (width - 1) / 2 - right
    y, x = torch.meshgrid(rows, columns, indexing="ij")
    cos, sin = math.cos(angle) / scale, math.sin(angle) / scale
    grid = torch.stack([(cos * x + sin * y) * 2 / width, (cos * y - sin * x) * 2 / height], -1)
    grid = grid.expand(len(images), -1, -1, -1)
    return F.grid_sample(images, grid, "bilinear", padding_mode="border", align_corners=False)


def _blur(images: Tensor, sigma: float) -> Tensor:
    """A Gaussian of five taps each way; the images lose two pixels on every side."""
    taps = torch.exp(-0.5 * ((torch.arange(BLUR, device=images.device) - BLUR // 2) / sigma) ** 2)
    taps = (taps / taps.sum()).expand(images.shape[1], 1, 1, BLUR)
    images = F.conv2d(images, taps, groups=images.shape[1])
    return F.conv2d(images, taps.transpose(2, 3), groups=images.shape[1])


def _number(key: Tensor, name: str, low: float, high: float) -> float:
    return float(uniform(key, name, (), low, high))
