"""Perturbations over time: short films of one picture, which a stable classifier should see as one and the same.

The `apply` of a sequence yields frame after frame, so a film never has to lie in memory as a whole. What the frames
share (flakes, drops) is drawn once; noise is drawn by each frame for itself, from a stream with the frame's number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions import noise, weather
from scuff.corruptions.draws import Shape
from scuff.corruptions.motion import Motion, matrix_motion, ramps, shifted
from scuff.corruptions.registry import HENDRYCKS, register
from scuff.kernels import portable
from scuff.ops import filters, warp
from scuff.ranges import Range

Frames = Iterator[Tensor]
Motions = Iterator[Motion]

LIMITS = {
    **weather.LIMITS,
    "frames": Range(1, 10_000),
    "photons": noise.LIMITS["photons"],
    "first": Range(-1000.0, 1000.0),
    "step": Range(-1000.0, 1000.0),
    "truncate": Range(0.1, 100.0),
    **dict.fromkeys(("up", "stay", "down", "far_down"), Range(0.0, 1.0)),
}

GROWING = {**LIMITS, "first": Range(0.001, 1000.0), "step": Range(0.0, 100.0)}

sequence = partial(register, family="sequence", sequence=True, reference=HENDRYCKS, limits=LIMITS)


def _values(frames: int, first: float, step: float) -> list[float]:
    """One value per frame: first, first + step, ... Rounded, so that a frame of no change has none at all."""
    return [round(first + k * step, 9) for k in range(frames)]


def _whole_levels(levels: Tensor) -> Tensor:
    """Truncate 0..255 as Pillow does, with room for the last bits of float32: a flat area must not lose a level."""
    return torch.floor(levels + 1e-3)


def _scaling(factor: float) -> warp.Matrix2:
    return (1.0 / factor, 0.0), (0.0, 1.0 / factor)


# --- noise: a clean frame, then fresh draws --------------------------------------------------------------------------


def _draw_later(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {"keys": keys}


@sequence(draw=_draw_later)
def gaussian_noise_frames(x: Tensor, keys: Tensor, *, frames: int, std: float) -> Frames:
    """A still scene in low light: a clean frame, then electronic noise that is new in every frame, x + std * n."""
    yield x
    for k in range(1, frames):
        yield noise.gaussian_noise(x, random.normal(keys, f"frame {k}", x.shape[1:]), std=std)


@sequence(draw=_draw_later)
def shot_noise_frames(x: Tensor, keys: Tensor, *, frames: int, photons: float) -> Frames:
    """A still scene in few photons: a clean frame, then Poisson(photons * x) / photons, new in every frame."""
    yield x
    for k in range(1, frames):
        yield noise.shot_noise(x, random.uniform(keys, f"frame {k}", x.shape[1:]), photons=photons)


@sequence(draw=_draw_later)
def speckle_noise_frames(x: Tensor, keys: Tensor, *, frames: int, std: float) -> Frames:
    """A still scene under speckle: a clean frame, then x + x * std * n with n new in every frame."""
    yield x
    for k in range(1, frames):
        yield noise.speckle_noise(x, random.normal(keys, f"frame {k}", x.shape[1:]), std=std)


# --- blur -----------------------------------------------------------------------------------------------------------


@sequence(lengths=("first", "step"), limits=GROWING)
def gaussian_blur_frames(x: Tensor, *, frames: int, first: float, step: float, truncate: float) -> Frames:
    """A lens that slowly loses its focus: Gaussians of deviation first, first + step, ..., cut at `truncate` sigma."""
    for sigma in _values(frames, first, step):
        yield filters.gaussian_blur(x, sigma, truncate)


def _motion_blurs(shape: Shape, *, frames: int, first: float, step: float, radius: int, sigma: float) -> Motions:
    for angle in _values(frames, first, step):
        read = filters.motion_blur(ramps(shape), angle, radius, sigma)
        yield Motion(shape[1:], rows=read[:, 0], columns=read[:, 1])


@sequence(domain="byte", lengths=("radius", "sigma"), motion=_motion_blurs)
def motion_blur_frames(pixels: Tensor, *, frames: int, first: float, step: float, radius: int, sigma: float) -> Frames:
    """A camera that shakes in another direction in every frame: motion blur at the angles first, first + step, ...

    Degrees, clockwise from the right. The filter is that of motion_blur, rounded as ImageMagick does it.
    """
    levels = pixels.float()
    for angle in _values(frames, first, step):
        yield filters.motion_bytes(levels, angle, radius, sigma)


def _about_middle(shape: Shape, back: warp.Matrix2) -> Motion:
    """The motion of `warp.affine`."""
    (a, b), (c, d) = back
    x, y = shape[2] / 2, shape[1] / 2
    return matrix_motion(shape, (a, b, x - a * x - b * y, c, d, y - c * x - d * y))


def _zoom_blurs(shape: Shape, *, frames: int, step: float) -> Motions:
    mean = 0.0
    for k, factor in enumerate(_values(frames, 1.0, step), start=1):
        mean += (1.0 / factor - mean) / k
        yield _about_middle(shape, ((mean, 0.0), (0.0, mean)))


@sequence(domain="byte", limits=GROWING, motion=_zoom_blurs)
def zoom_blur_frames(pixels: Tensor, *, frames: int, step: float) -> Frames:
    """A camera that nears its subject with an open shutter: frame k is the mean of k + 1 zooms by 1, 1 + step, ...

    The zooms are truncated to bytes before they are summed, as in the original.
    """
    levels = pixels.float()
    total = torch.zeros_like(levels)
    for k, factor in enumerate(_values(frames, 1.0, step), start=1):
        total = total + _whole_levels(warp.affine(levels, _scaling(factor)))
        yield torch.floor(portable.divide(total, k)).to(torch.uint8)


# --- weather --------------------------------------------------------------------------------------------------------


def _draw_flakes(keys: Tensor, shape: Shape, *, mean: float, std: float) -> dict[str, Tensor]:
    return {"layer": random.normal(keys, "flakes", (1, *shape[1:]), mean, std)}


@sequence(draw=_draw_flakes, lengths=("zoom", "radius", "sigma"))
def snow_frames(
    x: Tensor, layer: Tensor, *,
    frames: int, first: float, step: float, zoom: float, threshold: float, radius: int, sigma: float, keep: float,
) -> Frames:  # fmt: skip
    """Snow in a turning wind: the same flakes in every frame, smeared along the angles first, first + step, ...

    Degrees, clockwise from the right. Flakes and scene are those of snow.
    """
    flakes, scene = weather.snowflakes(layer, zoom, threshold), kernels.whiten(x, keep)
    for angle in _values(frames, first, step):
        yield kernels.add_streaks(scene, filters.motion_bytes(flakes, angle, radius, sigma))


@sequence()
def brightness_frames(x: Tensor, *, frames: int, first: float, step: float) -> Frames:
    """Daylight that comes and goes: the value of HSV moves by first, first + step, ...; at 0 the picture is itself."""
    for shift in _values(frames, first, step):
        yield kernels.shift_value(x, shift)


@sequence(draw=weather.draw_drops, colour=True, lengths=("sigma",))
def spatter_frames(
    x: Tensor, layer: Tensor, *,
    frames: int, sigma: float, threshold: float, water: float, up: float, stay: float, down: float, far_down: float,
) -> Frames:  # fmt: skip
    """Rain that runs down the lens: the drops of spatter, of strength `water`, sink from frame to frame.

    A share `stay` of the liquid keeps its row, `down` sinks by one row and `far_down` by two, `up` rises by one; what
    leaves the picture is gone.
    """
    layer = weather.liquid(layer, sigma, threshold)
    height = layer.shape[-2]
    for _ in range(frames):
        yield weather.wetted(x, layer, water)
        rows = torch.nn.functional.pad(layer, (0, 0, 2, 1))
        two_above, above, same, below = (rows[:, :, k : k + height] for k in range(4))
        layer = up * below + stay * same + down * above + far_down * two_above


# --- the view moves: made on the whole picture, before it is cropped --------------------------------------------------


def _shifts(shape: Shape, *, frames: int, first: float, step: float) -> Motions:
    for shift in _values(frames, first, step):
        yield shifted(shape, torch.tensor([[0.0, float(round(shift))]]))


@sequence(domain="byte", lengths=("first", "step"), before_crop=True, motion=_shifts)
def translate_frames(pixels: Tensor, *, frames: int, first: float, step: float) -> Frames:
    """A camera that pans: the picture moves right by first, first + step, ... pixels (whole ones), black follows."""
    width = pixels.shape[-1]
    for shift in _values(frames, first, step):
        right = max(-width, min(round(shift), width))
        yield torch.nn.functional.pad(pixels, (right, -right))


def _turn(degrees: float) -> warp.Matrix2:
    sine, cosine = portable.sin(math.radians(degrees)), portable.cos(math.radians(degrees))
    return (cosine, sine), (-sine, cosine)


def _lean(degrees: float) -> warp.Matrix2:
    sine, cosine = portable.sin(math.radians(degrees)), portable.cos(math.radians(degrees))
    return (1.0, sine / cosine), (0.0, 1.0 / cosine)


def _affine_frames(pixels: Tensor, backs: Iterable[warp.Matrix2]) -> Frames:
    levels = pixels.float()
    for back in backs:
        yield _whole_levels(warp.affine(levels, back)).to(torch.uint8)


def _affine_motions(back: Callable[[float], warp.Matrix2]) -> Callable[..., Motions]:
    def motion(shape: Shape, *, frames: int, first: float, step: float) -> Motions:
        return (_about_middle(shape, back(value)) for value in _values(frames, first, step))

    return motion


@sequence(domain="byte", before_crop=True, motion=_affine_motions(_turn))
def rotate_frames(pixels: Tensor, *, frames: int, first: float, step: float) -> Frames:
    """A camera that rolls: the picture turns clockwise by first, first + step, ... degrees about its centre."""
    yield from _affine_frames(pixels, map(_turn, _values(frames, first, step)))


@sequence(domain="byte", before_crop=True, limits=GROWING, motion=_affine_motions(_scaling))
def scale_frames(pixels: Tensor, *, frames: int, first: float, step: float) -> Frames:
    """A subject that comes nearer: the picture, black around it, at first, first + step, ... times its size."""
    yield from _affine_frames(pixels, map(_scaling, _values(frames, first, step)))


@sequence(domain="byte", before_crop=True, motion=_affine_motions(_lean))
def shear_frames(pixels: Tensor, *, frames: int, first: float, step: float) -> Frames:
    """A picture that leans: its columns lean by first, first + step, ... degrees and keep their length.

    So the picture also gets lower by the cosine, as in the original, whose library then understood shear so.
    """
    yield from _affine_frames(pixels, map(_lean, _values(frames, first, step)))


def _tilts(shape: Shape, *, frames: int, first: float, step: float) -> Motions:
    for angle in map(math.radians, _values(frames, first, step)):
        back = warp.inverse(tilt_matrix(angle, *shape[1:]))
        yield matrix_motion(shape, [entry / back[2][2] for row in back for entry in row])


@sequence(domain="real", before_crop=True, motion=_tilts)
def tilt_frames(x: Tensor, *, frames: int, first: float, step: float) -> Frames:
    """A picture on a card that is tilted, by first, first + step, ... degrees about both axes, seen in perspective."""
    for angle in map(math.radians, _values(frames, first, step)):
        yield warp.project(x, tilt_matrix(angle, *x.shape[-2:]))


def tilt_matrix(angle: float, height: int, width: int) -> warp.Matrix3:
    """Where tilting by `angle` (radians) takes the pixel (column, row, 1): 3 x 3.

    The card turns about its vertical, then about its horizontal axis, at the distance of its own diagonal. It lies one
    pixel behind the axes, so that at 0 degrees it shrinks a little, as in the original.
    """
    cos, sin, distance = portable.cos(angle), portable.sin(angle), math.sqrt(width * width + height * height)
    x, y = width / 2, height / 2
    # right, down and away, of a pixel (column, row, 1) on the turned card
    right = (cos, 0.0, -cos * x - sin)
    down = (-sin * sin, cos, sin * sin * x - cos * y - sin * cos)
    away = (sin * cos, sin, cos * cos - sin * cos * x - sin * y + distance)
    return _seen(right, away, distance, x), _seen(down, away, distance, y), away


def _seen(offset: warp.Row3, away: warp.Row3, distance: float, middle: float) -> warp.Row3:
    """A row of the view from a distance, about the middle of the picture."""
    a, b, c = (distance * part + middle * far for part, far in zip(offset, away, strict=True))
    return a, b, c
