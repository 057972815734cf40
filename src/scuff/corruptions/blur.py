"""Blurs: lenses, frosted glass, moving cameras."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape
from scuff.corruptions.registry import HENDRYCKS, register
from scuff.ops import filters
from scuff.ops.resize import clipped_zoom


@register(family="blur", lengths=("sigma",), reference=HENDRYCKS)
def gaussian_blur(x: Tensor, *, sigma: float) -> Tensor:
    """A Gaussian low-pass of standard deviation `sigma` pixels, cut at 4 sigma; edges repeat."""
    return filters.gaussian_blur(x, sigma)


@register(family="blur", lengths=("radius",), reference=HENDRYCKS)
def defocus_blur(x: Tensor, *, radius: float, softness: float) -> Tensor:
    """A lens out of focus: every point becomes a disk of `radius` pixels with an edge softened by a small Gaussian.

    Where the disk fills the kernel's grid (radius 8 and 10) the kernel sums to 1.01, as in the original, and the image
    brightens by a hundredth.
    """
    return filters.correlate(x, filters.disk_kernel(radius, softness), border="mirror")


def _draw_glass(keys: Tensor, shape: Shape, *, reach: int, passes: int) -> dict[str, Tensor]:
    size = (passes, *shape[1:])
    return {
        "dx": random.integers(keys, "dx", size, low=-reach, high=reach - 1),
        "dy": random.integers(keys, "dy", size, low=-reach, high=reach - 1),
    }


@register(family="blur", draw=_draw_glass, lengths=("sigma", "reach"), reference=HENDRYCKS)
def glass_blur(x: Tensor, dx: Tensor, dy: Tensor, *, sigma: float, reach: int, passes: int) -> Tensor:
    """Frosted glass: blur, let every pixel copy a random neighbour `passes` times, blur again.

    The original means to swap pixels but copies them, from the last pixel to the first, each one seeing the copies made
    before it; offsets run from -reach to reach - 1. Both are kept: they are what the published images show.
    """
    blurred = filters.gaussian_blur(x, sigma)
    pixels = kernels.unit_to_bytes(blurred, torch.empty(x.shape, dtype=torch.uint8, device=x.device))
    for step in range(passes):
        pixels = kernels.local_copies(pixels, dy[:, step], dx[:, step], reach)
    return filters.gaussian_blur(kernels.bytes_to_unit(pixels), sigma)


def _draw_angle(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {"angle": random.uniform(keys, "angle", (), -45.0, 45.0)}


@register(family="blur", draw=_draw_angle, domain="byte", lengths=("radius", "sigma"), reference=HENDRYCKS)
def motion_blur(pixels: Tensor, angle: Tensor, *, radius: int, sigma: float) -> Tensor:
    """A camera that moves during the exposure, within 45 degrees of the horizontal.

    One-sided: a half Gaussian of deviation `sigma` that starts at the pixel and is cut after 2 radius + 1 taps. Bytes
    are made as ImageMagick makes them, which the original called.
    """
    levels = filters.motion_blur(pixels.float(), angle, radius, sigma)
    return filters.imagemagick_bytes(levels).to(torch.uint8)


@register(family="blur", reference=HENDRYCKS)
def zoom_blur(x: Tensor, *, steps: int, step: float) -> Tensor:
    """A camera that moves towards its subject: the mean of zooms by 1, 1 + step, ..., with `steps` factors in all.

    The sharp image counts twice, once for itself and once as the zoom by 1.
    """
    increment = (1.0 + step) - 1.0  # the factors of a floating-point range: their rounding decides some crop sizes
    total = x + x
    for k in range(1, steps):
        total += clipped_zoom(x, 1.0 + k * increment)
    return total.div_(steps + 1)
