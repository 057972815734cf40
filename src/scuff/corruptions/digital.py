"""What processing and storage do to pictures."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape, largest, pick, pick_whole
from scuff.corruptions.motion import Motion, field_motion, shifted
from scuff.corruptions.registry import HENDRYCKS, MICHAELIS, NOC, SYN2NAT, register
from scuff.kernels.constants import constant
from scuff.kernels.grids import pixel_grid
from scuff.kernels.portable import divide
from scuff.kernels.reference.filters import affine_reads
from scuff.ops import filters, jpeg, resize, warp
from scuff.ops.tables import map_levels, round8
from scuff.ranges import Range

LIMITS = {
    "gain": Range(-1000.0, 1000.0),
    "shift": Range(-1000.0, 1000.0),
    "alpha": Range(0.0, 100_000.0),
    "sigma": Range(0.0, 20_000.0),
    "jitter": Range(0.0, 100_000.0),
    "reach": Range(0.0, 1.0),
    "smoothness": Range(0.0, 1.0),
    "fraction": Range(0.000_01, 1.0),
    "quality": Range(1, 100),
    "levels": Range(1, 1000),
    "factor": Range(1.0, 100.0),
    "size": Range(1, 100),
    "bits": Range(0, 8),
}

hendrycks = partial(register, family="digital", reference=HENDRYCKS, limits=LIMITS)
noc = partial(register, family="digital", domain="byte", reference=NOC, limits=LIMITS)
syn2nat = partial(register, family="digital", domain="byte", reference=SYN2NAT, limits=LIMITS)


@hendrycks()
def contrast(x: Tensor, *, gain: float) -> Tensor:
    """Flat light: the distance of each channel from its own mean over the image shrinks to `gain`."""
    return kernels.scale_contrast(x, gain)


@hendrycks(colour=True)
def saturate(x: Tensor, *, gain: float, shift: float) -> Tensor:
    """Colours paler or stronger: the saturation of HSV becomes gain * S + shift. A shift tints neutral greys red."""
    return kernels.scale_saturation(x, gain, shift)


def _draw_field(keys: Tensor, shape: Shape, sigma: float | tuple[float, float]) -> Tensor:
    """Smoothed when it is drawn: noise and field need not both be there while pixels move."""
    return smooth(torch.stack([random.uniform(keys, d, shape[1:], -1.0, 1.0) for d in ("dy", "dx")], dim=1), sigma)


def smooth(noise: Tensor, sigma: float | tuple[float, float]) -> Tensor:
    """Noise (N, 2, H, W), down and across, as a field that moves neighbours alike."""
    return filters.gaussian_blur(noise, sigma, truncate=3.0, border="reflect")


def _moved(field: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    """Where pixels are read that a field moves."""
    rows, columns = pixel_grid(field.shape[-2], field.shape[-1], field.device)
    return rows + alpha * field[:, 0], columns + alpha * field[:, 1]


def _draw_elastic(keys: Tensor, shape: Shape, *, sigma: float) -> dict[str, Tensor]:
    return {"pull": random.uniform(keys, "pull", (3, 2), -1.0, 1.0), "field": _draw_field(keys, shape, sigma)}


def _elastic_motion(shape: Shape, pull: Tensor, field: Tensor, *, alpha: float, jitter: float) -> Motion:
    kneaded = Motion(shape[1:], None, *_moved(field, alpha))
    back = warp.pulled(shape, pull, jitter)
    if back is None:
        return kneaded
    rows, columns = affine_reads(back.float(), *kneaded.sources())
    return Motion(shape[1:], rows=rows, columns=columns, ghosts=kneaded.filled())


@hendrycks(draw=_draw_elastic, lengths=("alpha", "sigma", "jitter"), motion=_elastic_motion, copies=4.9)
def elastic_transform(x: Tensor, pull: Tensor, field: Tensor, *, alpha: float, jitter: float) -> Tensor:
    """Stretching and kneading: a random affine map, then a smooth random displacement.

    Three control points move by up to `jitter` pixels; a field of noise, smoothed by `sigma` and scaled by `alpha`
    pixels, moves every pixel. The affine step mirrors at the border, the other one reflects.
    """
    back = warp.pulled(x.shape, pull, jitter)
    if back is None:
        return kernels.sample_displaced(x, field, alpha, "reflect")
    return kernels.sample_kneaded(x, back.float(), field, alpha)


def _draw_knead(keys: Tensor, shape: Shape, *, smoothness: float) -> dict[str, Tensor]:
    return {"field": _draw_field(keys, shape, (smoothness * shape[1], smoothness * shape[2]))}


@register(
    family="digital",
    reference=MICHAELIS,
    limits=LIMITS,
    draw=_draw_knead,
    motion=field_motion(lambda shape, field, *, alpha, reach: _moved(field, alpha * reach * shape[1])),
)
def knead(x: Tensor, field: Tensor, *, alpha: float, reach: float) -> Tensor:
    """Kneading alone: a smooth random displacement, and no affine map before it. COCO-C calls it elastic_transform.

    Noise of up to `reach` of the height is smoothed by a Gaussian of `smoothness` of either side, and multiplied by
    `alpha`: all lengths go with the picture.
    """
    return kernels.sample_displaced(x, field, alpha * reach * x.shape[-2], "reflect")


@hendrycks(domain="byte")
def pixelate(pixels: Tensor, *, fraction: float) -> Tensor:
    """A picture from too few pixels: shrunk to `fraction` of its sides by box means, then enlarged again."""
    height, width = pixels.shape[-2:]
    return kernels.pixelate(pixels, max(1, int(height * fraction)), max(1, int(width * fraction)))


@hendrycks(domain="byte", colour=True)
def jpeg_compression(pixels: Tensor, *, quality: int) -> Tensor:
    """Lossy storage: through a JPEG file of the given quality and back."""
    return jpeg.jpeg(pixels, quality)


@noc(draw=lambda keys, shape, *, levels: {"levels": pick_whole(keys, levels).float()}, ranges=("levels",))
def quantization(pixels: Tensor, levels: Tensor) -> Tensor:
    """Too few bits: every value becomes the nearest multiple of 1 / `levels`, so that `levels` + 1 are left."""
    steps = levels[:, None]
    return map_levels(pixels, lambda level: round8(255.0 * torch.round(divide(steps * level, 255.0)) / steps))


@noc(draw=lambda keys, shape, *, factor: {"shrink": pick(keys, factor)}, ranges=("factor",))
def thumbnail_resize(pixels: Tensor, shrink: Tensor, *, factor: Range | float) -> Tensor:
    """A thumbnail blown up: shrunk by a factor of its own, and enlarged again, both by Pillow's bilinear filter."""
    return resize.through_thumbnail(pixels, shrink, largest(factor))


def _block_motion(shape: Shape, side: Tensor) -> Motion:
    return shifted(shape, torch.stack([length % side.clamp(max=length) // 2 for length in shape[1:]], dim=1))


@noc(
    draw=lambda keys, shape, *, size: {"side": pick_whole(keys, size)},
    domain="real",
    ranges=("size",),
    motion=_block_motion,
)
def block_mean(x: Tensor, side: Tensor, *, size: Range | int) -> Tensor:
    """Coarse pixels: means of squares of 2, 3 or 4 pixels. Rows and columns left over repeat the outer squares."""
    sides = range(int(size.low), int(size.high) + 1) if isinstance(size, Range) else range(size, size + 1)
    return kernels.block_means(x, side, sides)


def _downscale_motion(shape: Shape, *, fraction: float) -> Motion:
    """The pixels that are kept stand for their neighbours right of and below them."""
    late = [(length - 1) / 2 - sum(_kept(length, fraction)) / length for length in shape[1:]]
    return shifted(shape, torch.tensor([late]))


@syn2nat(motion=_downscale_motion)
def downscale(pixels: Tensor, *, fraction: float) -> Tensor:
    """Pixels left out: shrunk to `fraction` and enlarged again, nearest pixels both times."""
    rows, columns = (
        constant(_kept(length, fraction), pixels.device, torch.int32) for length in pixels.shape[-2:]
    )  # fmt: skip
    return kernels.take_pixels(pixels, (rows[:, None] * pixels.shape[-1] + columns)[None])


def _kept(length: int, fraction: float) -> tuple[int, ...]:
    """Which pixel each one shows. The way back uses the exact inverse of `fraction`, not the ratio of the sizes."""
    small = max(1, round(length * fraction))
    return tuple(min(int((j * small // length) * (1.0 / fraction)), length - 1) for j in range(length))


@syn2nat(draw=lambda keys, shape, *, quality: {"quality": pick_whole(keys, quality)}, colour=True, ranges=("quality",))
def swapped_jpeg(pixels: Tensor, quality: Tensor) -> Tensor:
    """Through a JPEG of very low quality and back, with red and blue exchanged for the encoder.

    The original hands RGB to an encoder that expects BGR, so blue counts as red in the luma, and colours suffer
    otherwise than in a plain JPEG. Kept.
    """
    return jpeg.jpeg(pixels, quality, swapped=True)


@syn2nat()
def posterize(pixels: Tensor, *, bits: int) -> Tensor:
    """Only the highest `bits` of every value are kept, the others become 0."""
    return pixels & (256 - (256 >> bits))
