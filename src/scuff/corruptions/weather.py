"""Weather between the camera and the subject, and on the lens."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions import frost_textures
from scuff.corruptions.draws import Shape
from scuff.corruptions.motion import Motion
from scuff.corruptions.registry import HENDRYCKS, register
from scuff.kernels.constants import constant
from scuff.ops import edges, filters
from scuff.ops.resize import clipped_zoom
from scuff.ops.textures import plasma_size
from scuff.ranges import Range

LIMITS = {
    "mean": Range(-100.0, 100.0),
    "std": Range(0.0, 100.0),
    "zoom": Range(0.0, 10_000.0),
    "threshold": Range(-100.0, 100.0),
    "radius": Range(0, 1000),
    "sigma": Range(0.001, 10_000.0),
    "keep": Range(-100.0, 100.0),
    "ice": Range(-100.0, 100.0),
    "scale": Range(0.000_001, 1000.0),
    "strength": Range(0.0, 1000.0),
    "decay": Range(0.1, 1000.0),
    "shift": Range(-10.0, 10.0),
    "water": Range(0.0, 100.0),
    "mud": Range(0.0, 10_000.0),
}

hendrycks = partial(register, family="weather", reference=HENDRYCKS, limits=LIMITS)


def _draw_snow(keys: Tensor, shape: Shape, *, mean: float, std: float) -> dict[str, Tensor]:
    return {
        "layer": random.normal(keys, "flakes", (1, *shape[1:]), mean, std),
        "angle": random.uniform(keys, "angle", (), -135.0, -45.0),
    }


@hendrycks(draw=_draw_snow, lengths=("zoom", "radius", "sigma"), copies=2.8)
def snow(
    x: Tensor, layer: Tensor, angle: Tensor, *, zoom: float, threshold: float, radius: int, sigma: float, keep: float
) -> Tensor:
    """Falling snow: bright flakes, smeared along their fall, over a scene that turns pale.

    Noise of the given `mean` and `std` is magnified by `zoom`; what exceeds `threshold` are flakes. The layer is added
    twice, once rotated by half a turn. A share 1 - `keep` of the scene is whitened.
    """
    # smeared before there is a second scene: what that takes is then given back
    streaks = filters.motion_bytes(snowflakes(layer, zoom, threshold), angle, radius, sigma)
    return kernels.add_streaks(kernels.whiten(x, keep), streaks)


def snowflakes(layer: Tensor, zoom: float, threshold: float) -> Tensor:
    """Flakes at rest, from noise (N, 1, H, W): bytes."""
    return kernels.bytes_above(clipped_zoom(layer, max(zoom, 1.0)), threshold)


def _draw_frost(keys: Tensor, shape: Shape, *, scale: float) -> dict[str, Tensor]:
    _, height, width = shape
    texture = random.choice(keys, "texture", weights=frost_textures.WEIGHTS)
    sizes = constant(frost_textures.sizes(scale, height, width), keys.device, torch.int64)
    room = sizes[texture] - constant((height, width), keys.device, torch.int64)
    corner = (random.uniform(keys, "corner", (2,)) * room).long()
    return {"texture": texture, "corner": torch.minimum(corner, room - 1)}


@hendrycks(draw=_draw_frost, colour=True, lengths=("scale",))
def frost(x: Tensor, texture: Tensor, corner: Tensor, *, keep: float, ice: float, scale: float) -> Tensor:
    """Ice crystals on the lens: keep * x + ice * f, with f a random window of one of four frost textures.

    The textures are our own, synthesised to the published statistics of the originals (see docs/frost.md). `scale` is
    their size relative to a 224-pixel image.
    """
    return frost_textures.laid_over(x, keep, texture, corner, scale, ice)


def _draw_fog(keys: Tensor, shape: Shape, *, decay: float) -> dict[str, Tensor]:
    _, height, width = shape
    size = plasma_size(height, width)
    cloud = kernels.plasma(random.uniform(keys, "cloud", (size, size), -1.0, 1.0), decay)
    return {"cloud": cloud[:, None, :height, :width]}


@hendrycks(draw=_draw_fog, memory=lambda images, shape, _: 2 * images * plasma_size(*shape[1:]) ** 2)
def fog(x: Tensor, cloud: Tensor, *, strength: float) -> Tensor:
    """Fog as a plasma fractal: add `strength` times a cloud, then scale so that the image keeps its own maximum.

    `decay` sets how fast the cloud's detail fades from octave to octave.
    """
    return kernels.add_cloud(x, cloud, strength)


@hendrycks()
def brightness(x: Tensor, *, shift: float) -> Tensor:
    """Daylight that varies: the value of HSV moves by `shift`, hue and saturation stay."""
    return kernels.shift_value(x, shift)


WATER = (175.0 / 255.0, 238.0 / 255.0, 238.0 / 255.0)
MUD = (63.0 / 255.0, 42.0 / 255.0, 20.0 / 255.0)


def draw_drops(keys: Tensor, shape: Shape, *, mean: float, std: float) -> dict[str, Tensor]:
    return {"layer": random.normal(keys, "drops", (1, *shape[1:]), mean, std)}


def _muddy(layer: Tensor, sigma: float, threshold: float, mud: float) -> Tensor:
    """How much of each pixel mud covers, (N, 1, H, W)."""
    cover = filters.gaussian_blur((liquid(layer, sigma, threshold) > threshold).float(), mud)
    return torch.where(cover < 0.8, 0.0, cover)


def _spatter_motion(shape: Shape, layer: Tensor, *, sigma: float, threshold: float, water: float, mud: float) -> Motion:
    return Motion(shape[1:], covered=None if water > 0 else _muddy(layer, sigma, threshold, mud)[:, 0] > 0)


@hendrycks(draw=draw_drops, colour=True, lengths=("sigma", "mud"), motion=_spatter_motion, copies=2.7)
def spatter(x: Tensor, layer: Tensor, *, sigma: float, threshold: float, water: float, mud: float) -> Tensor:
    """Drops on the lens: rain that brightens (`water` > 0 is its strength) or mud that covers.

    Smoothed noise above `threshold` gives the blobs. For water their edges are found, embossed and lit; for mud the
    blobs are blurred by `mud` pixels and laid over the picture.
    """
    if water > 0:
        return wetted(x, liquid(layer, sigma, threshold), water)
    return kernels.lay_over(x, _muddy(layer, sigma, threshold, mud), MUD)


def liquid(layer: Tensor, sigma: float, threshold: float) -> Tensor:
    """Blobs of liquid from noise (N, 1, H, W): smoothed, and 0 below the threshold."""
    layer = filters.gaussian_blur(layer, sigma)
    return torch.where(layer < threshold, 0.0, layer)


def wetted(x: Tensor, layer: Tensor, water: float) -> Tensor:
    """Light in drops of water: it only brightens."""
    return kernels.add_light(x, water * _wet_relief(layer), WATER)


def _wet_relief(layer: Tensor) -> Tensor:
    """How much light each drop throws, scaled to a maximum of 1: (N, 1, H, W).

    Byte arithmetic throughout, as in the original: the layer wraps modulo 256 where smoothed noise exceeds 1.
    """
    drops = torch.floor(255.0 * layer[:, 0]).to(torch.int32).remainder(256)
    distance = kernels.chamfer_distance(edges.canny(drops, 50, 150), cap=20.0)
    relief = kernels.equalise(torch.floor(kernels.mean_of_nine(distance)))
    relief = torch.round(kernels.mean_of_nine(kernels.emboss(relief)))
    lit = (drops * relief)[:, None]
    strongest = lit.amax((1, 2, 3), keepdim=True)
    return torch.where(strongest > 0, lit / strongest, 0.0)
