"""Noise as augmentation: Gaussian on all pixels or on a patch, and uniform.

Lengths of noise are those of pixels in 0..1, patches are in pixels. Results are brought back into 0..255, and not
rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from scuff.augment.scheme import Scheme, draw_centres, patch_mask
from scuff.ops.textures import each
from scuff.random import normal, uniform
from scuff.ranges import is_number


@dataclass(frozen=True)
class PatchGaussian(Scheme):
    """Gaussian noise on a square patch, of a strength that each image draws (Lopes et al. 2019).

    Parameters
    ----------
    width
        The side of the patch: 25 for images of 32 pixels, 250 for 224. It is taken as given for any image. The centre
        is anywhere in the image, so that borders cut most patches.
    varies
        Draw each side uniformly from 0 to `width`, as the comparison of Mintun et al. (2021) does for ImageNet. A fixed
        side is its way for CIFAR-10, where it acts before images are mirrored and shifted.
    sigma
        The standard deviation is drawn uniformly from 0 to this number.
    """

    width: int = 25
    varies: bool = False
    sigma: float = 1.0

    kind: ClassVar[str] = "patch-gaussian"

    def __post_init__(self) -> None:
        if not isinstance(self.width, int) or self.width < 1:
            raise ValueError(f"the width of a patch is a number of pixels, 1 or more; got {self.width!r}")
        _check_strength("sigma", self.sigma)

    @property
    def before_crop(self) -> bool:  # type: ignore[override]  # which most schemes know beforehand
        return not self.varies

    def __call__(self, images: Tensor, ids: Tensor, seed: int = 0) -> Tensor:
        keys, size = self.keys(ids, seed), images.shape[-2:]
        side = uniform(keys, "width", (), 0.0, float(self.width)) if self.varies else self.width
        mask = patch_mask(draw_centres(keys, size), side, size)
        noise = normal(keys, "noise", images.shape[1:]).mul_(each(uniform(keys, "sigma", (), 0.0, 255 * self.sigma)))
        return noise.mul_(mask).add_(images).clamp_(0.0, 255.0)


@dataclass(frozen=True)
class GaussianNoise(Scheme):
    """Gaussian noise on all pixels, of standard deviation `sigma`, or drawn from 0 to it if that `varies`."""

    sigma: float
    varies: bool = False

    kind: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        _check_strength("sigma", self.sigma)

    def __call__(self, images: Tensor, ids: Tensor, seed: int = 0) -> Tensor:
        keys, strength = self.keys(ids, seed), 255 * self.sigma
        noise = normal(keys, "noise", images.shape[1:])
        noise.mul_(each(uniform(keys, "sigma", (), 0.0, strength)) if self.varies else strength)
        return noise.add_(images).clamp_(0.0, 255.0)


@dataclass(frozen=True)
class UniformNoise(Scheme):
    """Uniform noise on all pixels, between minus and plus `radius`."""

    radius: float

    kind: ClassVar[str] = "uniform"

    def __post_init__(self) -> None:
        _check_strength("radius", self.radius)

    def __call__(self, images: Tensor, ids: Tensor, seed: int = 0) -> Tensor:
        reach = 255 * self.radius
        noise = uniform(self.keys(ids, seed), "noise", images.shape[1:], -reach, reach)
        return noise.add_(images).clamp_(0.0, 255.0)


def _check_strength(name: str, value: float) -> None:
    if not is_number(value) or value < 0:
        raise ValueError(f"{name} must be a number of at least 0, got {value!r}; pixels are in 0..1")
