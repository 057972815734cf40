"""What processing and storage do to pictures."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape
from scuff.corruptions.registry import HENDRYCKS, register
from scuff.kernels.constants import constant
from scuff.ops import filters, jpeg, warp
from scuff.ops.colour import scale_saturation


@register(family="digital", reference=HENDRYCKS)
def contrast(x: Tensor, *, gain: float) -> Tensor:
    """Flat light: the distance of each channel from its own mean over the image shrinks to `gain`."""
    # summed in float64: the mean must not depend on how a device splits the sum
    mean = x.mean((-2, -1), keepdim=True, dtype=torch.float64).float()
    return (x - mean).mul_(gain).add_(mean)


@register(family="digital", colour=True, reference=HENDRYCKS)
def saturate(x: Tensor, *, gain: float, shift: float) -> Tensor:
    """Colours paler or stronger: the saturation of HSV becomes gain * S + shift. A shift tints neutral greys red."""
    return scale_saturation(x, gain, shift)


def _draw_elastic(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {
        "pull": random.uniform(keys, "pull", (3, 2), -1.0, 1.0),
        "dx": random.uniform(keys, "dx", shape[1:], -1.0, 1.0),
        "dy": random.uniform(keys, "dy", shape[1:], -1.0, 1.0),
    }


@register(family="digital", draw=_draw_elastic, lengths=("alpha", "sigma", "jitter"), reference=HENDRYCKS)
def elastic_transform(
    x: Tensor, pull: Tensor, dx: Tensor, dy: Tensor, *, alpha: float, sigma: float, jitter: float
) -> Tensor:
    """Stretching and kneading: a random affine map, then a smooth random displacement.

    Three control points move by up to `jitter` pixels; a field of noise, smoothed by `sigma` and scaled by `alpha`
    pixels, moves every pixel. The affine step mirrors at the border, the other one reflects.
    """
    height, width = x.shape[-2:]
    rows, columns = warp.pixel_grid(height, width, x.device)
    third = min(height, width) // 3
    across, down = width // 2, height // 2
    corners = ((across + third, down + third), (across + third, down - third), (across - third, down - third))
    points = constant(corners, x.device, torch.float64)
    if third:
        back = warp.affine_through(points + jitter * pull.double(), points.expand(len(x), 3, 2)).float()
        to_column, to_row = back[:, :, :, None, None].unbind(1)
        x = kernels.sample_bilinear(
            x,
            to_row[:, 0] * columns + to_row[:, 1] * rows + to_row[:, 2],
            to_column[:, 0] * columns + to_column[:, 1] * rows + to_column[:, 2],
            border="mirror",
        )
    field = filters.gaussian_blur(torch.stack((dy, dx), dim=1), sigma, truncate=3.0, border="reflect")
    return kernels.sample_bilinear(x, rows + alpha * field[:, 0], columns + alpha * field[:, 1], border="reflect")


@register(family="digital", domain="byte", reference=HENDRYCKS)
def pixelate(pixels: Tensor, *, fraction: float) -> Tensor:
    """A picture from too few pixels: shrunk to `fraction` of its sides by box means, then enlarged again."""
    height, width = pixels.shape[-2:]
    return kernels.pixelate(pixels, max(1, int(height * fraction)), max(1, int(width * fraction)))


@register(family="digital", domain="byte", colour=True, reference=HENDRYCKS)
def jpeg_compression(pixels: Tensor, *, quality: int) -> Tensor:
    """Lossy storage: through a JPEG file of the given quality and back."""
    return jpeg.jpeg(pixels, quality)
