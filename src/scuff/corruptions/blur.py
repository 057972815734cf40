"""Blurs and other filters of the neighbourhood: lenses, frosted glass, moving cameras, relief."""

from __future__ import annotations

import math
from functools import lru_cache, partial

import torch
from torch import Tensor

from scuff import kernels, random
from scuff.corruptions.draws import Shape, largest, pick, pick_whole
from scuff.corruptions.motion import filter_motion, ramps
from scuff.corruptions.registry import HENDRYCKS, NOC, SYN2NAT, register
from scuff.kernels.constants import constant
from scuff.kernels.grids import pixel_grid
from scuff.ops import filters
from scuff.ops.resize import mean_zoom
from scuff.ranges import Range

LIMITS = {
    "sigma": Range(0.0, 10_000.0),
    "radius": Range(0.0, 10_000.0),
    "softness": Range(0.001, 1000.0),
    "reach": Range(1, 1000),
    "passes": Range(0, 100),
    "steps": Range(1, 1000),
    "step": Range(0.0, 10.0),
    "share": Range(0.0, 1.0),
    "size": Range(1, 1000),
    "alpha": Range(-100.0, 100.0),
    "lightness": Range(-100.0, 100.0),
    "strength": Range(-100.0, 100.0),
}
WHOLE_TAPS = {"radius": Range(0, 1000), "sigma": Range(0.001, 10_000.0)}

hendrycks = partial(register, family="blur", reference=HENDRYCKS, limits=LIMITS)
noc = partial(register, family="blur", domain="real", reference=NOC, limits=LIMITS)
syn2nat = partial(register, family="blur", domain="byte", reference=SYN2NAT, limits=LIMITS)


@hendrycks(lengths=("sigma",))
def gaussian_blur(x: Tensor, *, sigma: float) -> Tensor:
    """A Gaussian low-pass of standard deviation `sigma` pixels, cut at 4 sigma; edges repeat."""
    return filters.gaussian_blur(x, sigma)


@hendrycks(lengths=("radius",), copies=2.3)
def defocus_blur(x: Tensor, *, radius: float, softness: float) -> Tensor:
    """A lens out of focus: every point becomes a disk of `radius` pixels with an edge softened by a small Gaussian.

    Where the disk fills the kernel's grid (radius 8 and 10) the kernel sums to 1.01, as in the original, and the image
    brightens by a hundredth.
    """
    return filters.disk_blur(x, radius, softness)


OFFSETS = torch.int16  # twice `passes` of them for each pixel: of large pictures, they take as much room as these


def _draw_glass(keys: Tensor, shape: Shape, *, reach: int, passes: int) -> dict[str, Tensor]:
    size = (passes, *shape[1:])
    return {axis: random.integers(keys, axis, size, low=-reach, high=reach - 1).to(OFFSETS) for axis in ("dx", "dy")}


def _draw_real_glass(keys: Tensor, shape: Shape, *, reach: float, passes: float) -> dict[str, Tensor]:
    """Reach and passes may be fractions: these are the chances of a pixel to reach farther, and to take part once more.

    A pixel that would reach beyond the border stays.
    """
    _, height, width = shape
    size = (math.ceil(passes), height, width)
    radius = math.floor(reach) + (random.uniform(keys, "reach", size) <= reach % 1.0).float()
    turn = torch.arange(size[0], device=keys.device)[:, None, None]
    stays = random.uniform(keys, "part", size) > passes - turn
    for length, at in zip((height, width), pixel_grid(height, width, keys.device), strict=True):
        stays = stays | (at <= radius) | (at > length - radius)
    drawn = {}
    for axis in ("dx", "dy"):
        offset = torch.floor(2.0 * radius * random.uniform(keys, axis, size)).clamp(max=2.0 * radius - 1.0) - radius
        drawn[axis] = torch.where(stays, 0.0, offset).to(OFFSETS)
    return drawn


def _glass_ramps(shape: Shape, dx: Tensor, dy: Tensor, *, sigma: float, reach: float, passes: float) -> Tensor:
    """Rows and columns as the glass copies them, in two bytes each; copies of copies drift down and to the right."""
    whole = ramps(shape, dx).int()
    copied = torch.cat((whole & 255, whole >> 8), dim=1).to(torch.uint8)
    for step in range(math.ceil(passes)):
        copied = kernels.local_copies(copied, dy[:, step], dx[:, step], int(reach))
    low, high = copied.float().split(2, dim=1)
    return filters.gaussian_blur(low + 256.0 * high, sigma)


@hendrycks(
    draw=_draw_glass,
    lengths=("sigma", "reach"),
    shared_draw=_draw_real_glass,
    motion=filter_motion(_glass_ramps),
    copies=5.3,
)
def glass_blur(x: Tensor, dx: Tensor, dy: Tensor, *, sigma: float, reach: float, passes: float) -> Tensor:
    """Frosted glass: blur, let every pixel copy a random neighbour `passes` times, blur again.

    The original means to swap pixels but copies them, from the last pixel to the first, each one seeing the copies made
    before it; offsets run from -reach to reach - 1. Both are kept: they are what the published images show.
    """
    pixels = torch.empty(x.shape, dtype=torch.uint8, device=x.device)
    pixels = kernels.unit_to_bytes(filters.gaussian_blur(x, sigma), pixels)
    for step in range(math.ceil(passes)):
        pixels = kernels.local_copies(pixels, dy[:, step], dx[:, step], int(reach))
    return filters.gaussian_blur(pixels, sigma)


def _draw_angle(keys: Tensor, shape: Shape) -> dict[str, Tensor]:
    return {"angle": random.uniform(keys, "angle", (), -45.0, 45.0)}


@hendrycks(
    draw=_draw_angle,
    domain="byte",
    lengths=("radius", "sigma"),
    limits=WHOLE_TAPS,
    motion=filter_motion(
        lambda shape, angle, *, radius, sigma: filters.motion_blur(ramps(shape, angle), angle, radius, sigma)
    ),
)
def motion_blur(pixels: Tensor, angle: Tensor, *, radius: int, sigma: float) -> Tensor:
    """A camera that moves during the exposure, within 45 degrees of the horizontal.

    One-sided: a half Gaussian of deviation `sigma` that starts at the pixel and is cut after 2 radius + 1 taps. Bytes
    are made as ImageMagick makes them, which the original called.
    """
    return filters.motion_bytes(pixels, angle, radius, sigma)


@lru_cache(maxsize=8)
def _zoom_ramps(shape: Shape, *, steps: int, step: float) -> Tensor:
    """The same for all pictures of a size, and so made once."""
    return zoom_blur(ramps(shape), steps=steps, step=step)


@hendrycks(motion=filter_motion(_zoom_ramps))
def zoom_blur(x: Tensor, *, steps: int, step: float) -> Tensor:
    """A camera that moves towards its subject: the mean of zooms by 1, 1 + step, ..., with `steps` factors in all.

    The sharp image counts twice, once for itself and once as the zoom by 1.
    """
    increment = (1.0 + step) - 1.0  # the factors of a floating-point range: their rounding decides some crop sizes
    return mean_zoom(x, tuple(1.0 + k * increment for k in range(1, steps)))


# --- kernels drawn per image ----------------------------------------------------------------------------------------


@noc(draw=lambda keys, shape, *, share: {"share": pick(keys, share)}, ranges=("share",))
def mixed_box_blur(x: Tensor, share: Tensor) -> Tensor:
    """A share of the picture replaced by its blur: five 3 x 3 means, black beyond the border."""
    return kernels.mix_box_blur(x, share)


def _odd(size: int) -> int:
    """The size of a kernel: odd and at least 3."""
    return max(3, size // 2 * 2 + 1)


def _pick_odd(keys: Tensor, size: Range | int) -> Tensor:
    """One of the odd numbers of a range, all with equal chances: int32 (N,)."""
    if isinstance(size, Range):
        return 2 * pick_whole(keys, Range(_odd(int(size.low)) // 2, _odd(int(size.high)) // 2)) + 1
    return pick_whole(keys, _odd(size))


@syn2nat(draw=lambda keys, shape, *, size: {"side": _pick_odd(keys, size)}, lengths=("size",), ranges=("size",))
def box_blur(pixels: Tensor, side: Tensor, *, size: Range | int) -> Tensor:
    """The mean over a square whose odd side each image draws for itself; an even one counts as the next odd one."""
    return kernels.box_mean(pixels, side, _odd(largest(size)))


def _draw_gaussian(keys: Tensor, shape: Shape, *, size: Range | int) -> dict[str, Tensor]:
    sizes = (pick_whole(keys, size) // 2 * 2 + 1).clamp(min=3)  # an even size goes up by one
    offsets, weights = filters.gaussian_kernels(sizes, _odd(largest(size)))
    return {"offsets": offsets, "weights": weights}


@syn2nat(draw=_draw_gaussian, domain="real", bytes_too=True, lengths=("size",), ranges=("size",))
def kernel_gaussian_blur(x: Tensor, offsets: Tensor, weights: Tensor) -> Tensor:
    """A Gaussian whose kernel's size each image draws; its deviation follows from the size by OpenCV's rule."""
    return filters.separable(x, offsets, weights, "mirror")


@syn2nat(draw=lambda keys, shape, *, size: {"radius": _pick_odd(keys, size) // 2}, lengths=("size",), ranges=("size",))
def median_blur(pixels: Tensor, radius: Tensor, *, size: Range | int) -> Tensor:
    """The median over a square whose odd side each image draws for itself: small things vanish, edges stay.

    An even side counts as the next odd one.
    """
    return kernels.median(pixels, radius, _odd(largest(size)) // 2)


def _draw_line(keys: Tensor, shape: Shape, *, size: Range | int) -> dict[str, Tensor]:
    size_, most = _pick_odd(keys, size), _odd(largest(size))
    side = size_[:, None].float()
    first, last = torch.minimum(torch.floor(random.uniform(keys, "ends", (4,)) * side), side - 1.0).split(2, dim=1)
    apart = torch.minimum(torch.floor(random.uniform(keys, "apart", (1,)) * (side - 1.0)), side - 2.0) + 1.0
    # a line upright in the kernel must not be a single point: its second end lies elsewhere
    other = torch.where(first[:, 1:] == last[:, 1:], (first[:, :1] + apart).remainder(side), last[:, :1])
    last = torch.cat((other, last[:, 1:]), dim=1)
    dy, dx, weights = filters.line_taps(first, last, most)
    return {"dy": dy - (size_ // 2)[:, None], "dx": dx - (size_ // 2)[:, None], "weights": weights}


def _line_ramps(shape: Shape, dy: Tensor, dx: Tensor, weights: Tensor) -> Tensor:
    return filters.sum_of_shifts(ramps(shape, weights), dy, dx, weights, weights.shape[1] // 2, "mirror")


@syn2nat(draw=_draw_line, lengths=("size",), ranges=("size",), motion=filter_motion(_line_ramps))
def line_blur(pixels: Tensor, dy: Tensor, dx: Tensor, weights: Tensor) -> Tensor:
    """Motion: the mean along a short random line. It need not pass through the pixel, so the picture also shifts.

    The line is drawn into a square whose odd side each image draws for itself; an even side counts as the next odd one.
    """
    return filters.sum_of_shifts(pixels, dy, dx, weights, weights.shape[1] // 2, "mirror")


def _draw_sharpen(keys: Tensor, shape: Shape, *, alpha: Range | float, lightness: Range | float) -> dict[str, Tensor]:
    a, light = pick(keys, alpha, "alpha")[:, None], pick(keys, lightness, "lightness")[:, None]
    ring = constant(filters.RING, keys.device)
    return {"weights": -a * ring + (1.0 - ring) * (1.0 - a + a * (8.0 + light))}


@syn2nat(draw=_draw_sharpen, ranges=("alpha", "lightness"))
def sharpen(pixels: Tensor, weights: Tensor) -> Tensor:
    """Edges overdrawn: a pixel's lead over its eight neighbours is amplified, and the picture darkens a little."""
    return filters.correlate_3x3(pixels, weights)


def _draw_emboss(keys: Tensor, shape: Shape, *, strength: Range | float) -> dict[str, Tensor]:
    s = pick(keys, strength)
    zero, one = torch.zeros_like(s), torch.ones_like(s)
    return {"weights": torch.stack((-1.0 - s, -s, zero, -s, one, s, zero, s, 1.0 + s), dim=1)}


@syn2nat(draw=_draw_emboss, ranges=("strength",))
def emboss(pixels: Tensor, weights: Tensor) -> Tensor:
    """The picture as a relief, lit from the top left: differences across the diagonal, added to it."""
    return filters.correlate_3x3(pixels, weights)
