"""Linear filters: Gaussians, disks and motion, all as sums of shifted copies."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from scuff import kernels
from scuff.kernels import portable
from scuff.kernels.borders import fold, pad, padded_index
from scuff.kernels.constants import constant, remembered
from scuff.kernels.reference.filters import line_offsets
from scuff.kernels.reference.matrices import UNIT
from scuff.kernels.strips import strips

# --- Gaussian -------------------------------------------------------------------------------------------------------


def gaussian_radius(sigma: float, truncate: float = 4.0) -> int:
    """Taps on each side of the centre, by scipy's rule."""
    return int(truncate * sigma + 0.5)


def gaussian_taps(sigma: float, radius: int) -> np.ndarray:
    """exp(-t^2 / 2 sigma^2) for t = -radius..radius, scaled to sum 1."""
    taps = [portable.gaussian(t, sigma) for t in range(-radius, radius + 1)] if radius else [1.0]
    return np.array(portable.scaled_to_one(taps))


def gaussian_blur(x: Tensor, sigma: float | tuple[float, float], truncate: float = 4.0, border: str = "edge") -> Tensor:
    """Separable Gaussian of (N, C, H, W), rows first; a radius of 0 is the identity. Two sigmas are down and across.

    Very wide ones are applied as matrices to small images, and to boxes of pixels in large ones, a strip at a time.
    Bytes count as shares of 255.
    """
    high, wide = sigma if isinstance(sigma, tuple) else (sigma, sigma)
    tall, broad = gaussian_radius(high, truncate), gaussian_radius(wide, truncate)
    if tall == broad == 0:
        return _unit(x)
    h, w = x.shape[-2:]
    if max(tall, broad) > WIDEST_TAPS and max(h, w) > LARGE:
        made = torch.empty(x.shape, device=x.device)
        for part in strips(x, 3):
            made[..., part] = _blur_axis(_unit(x[..., part]), 2, high, truncate, border)
        for part in strips(x, 2):
            made[:, :, part] = _blur_axis(made[:, :, part], 3, wide, truncate, border)
        return made
    if max(tall, broad) > WIDEST_TAPS:
        down = _gaussian_matrix(h, high, truncate, border, x.device)
        across = _gaussian_matrix(w, wide, truncate, border, x.device)
        return kernels.blur_by_matrices(_unit(x), down, across)
    rows, columns = (padded_index(n, 0, 0, border, x.device) for n in (h, w))
    steps, still, weights = _line(high, tall, x.device)
    first = (padded_index(h, tall, tall, border, x.device), columns, steps, still, weights)
    steps, still, weights = _line(wide, broad, x.device)
    second = (rows, padded_index(w, broad, broad, border, x.device), still, steps, weights)
    return kernels.correlate_twice(x, first, second)


def _unit(x: Tensor) -> Tensor:
    return kernels.bytes_to_unit(x) if x.dtype == torch.uint8 else x


WIDEST_TAPS = 40
LARGE = 512  # pixels


@remembered(256)
def _line(sigma: float, radius: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    steps = torch.arange(2 * radius + 1, dtype=torch.int32)[None]
    weights = torch.from_numpy(gaussian_taps(sigma, radius)).float()[None]
    return steps.to(device), torch.zeros_like(steps).to(device), weights.to(device)


@remembered(64)
def _gaussian_matrix(length: int, sigma: float, truncate: float, border: str, device: torch.device) -> Tensor:
    """The filter along one axis as a (length, length) float64 matrix of whole numbers, in units of 2**-UNIT."""
    radius = gaussian_radius(sigma, truncate)
    taps = torch.from_numpy(np.floor(gaussian_taps(sigma, radius) * 2.0**UNIT + 0.5))
    source = fold(torch.arange(length)[:, None] + torch.arange(-radius, radius + 1), length, border)
    matrix = torch.zeros(length, length, dtype=torch.float64)
    return matrix.scatter_add_(1, source, taps.expand(length, -1).contiguous()).to(device)


# --- wide filters of large images: the same work for each pixel, however wide -----------------------------------------


@lru_cache(maxsize=256)
def spacing(width: float) -> int:
    """The largest product of threes and fives that is not above `width`; at least 1.

    >>> [spacing(width) for width in (0.2, 4.8, 9.0, 26.8)]
    [1, 3, 9, 25]
    """
    products = (3**threes * 5**fives for threes in range(16) for fives in range(16))
    return max((product for product in products if product <= width), default=1)


def box(x: Tensor, axis: int, size: int, border: str) -> Tensor:
    """The mean of `size` pixels along an axis (2 down, 3 across): of three or five, then of as many of these means."""
    step = 1
    while step < size:
        count = 3 if size // step % 3 == 0 else 5
        x = _sum_along(x, axis, np.full(count, 1.0 / count), step, border)
        step *= count
    return x


def _blur_axis(x: Tensor, axis: int, sigma: float, truncate: float, border: str) -> Tensor:
    """A Gaussian along one axis: boxes, at most a third of `sigma` wide, and taps as far apart as a box is wide.

    What mirrors outside of an image still does after a filter. Repeated edges do not, so that they are filtered too.
    """
    step = spacing(sigma / 3.0)
    coarse = math.sqrt(sigma * sigma - (step * step - 1) / 12.0) / step  # variances add up, and a box has some
    radius, length = gaussian_radius(coarse, truncate), x.shape[axis]
    more = step * radius + step // 2 if border == "edge" else 0
    x = box(pad(x, *(((more, more), (0, 0)) if axis == 2 else ((0, 0), (more, more))), border), axis, step, border)
    return _sum_along(x, axis, gaussian_taps(coarse, radius), step, border).narrow(axis, more, length)


def _sum_along(x: Tensor, axis: int, taps: np.ndarray, step: int, border: str) -> Tensor:
    """Taps along one axis, `step` pixels apart."""
    return correlate(x, taps[:, None] if axis == 2 else taps[None], border, step)


# --- one kernel per image -------------------------------------------------------------------------------------------


def sum_of_shifts(pixels: Tensor, dy: Tensor, dx: Tensor, weights: Tensor, reach: int, border: str) -> Tensor:
    """out[i, j] = sum over t of weights[t] * pixels[i + dy[t], j + dx[t]], with the taps (N, T) of each image.

    Bytes give bytes, floats give floats. Offsets are int32, from -reach to reach.
    """
    rows, columns = (padded_index(n, reach, reach, border, pixels.device) for n in pixels.shape[-2:])
    correlate = kernels.correlate_bytes if pixels.dtype == torch.uint8 else kernels.correlate
    return correlate(pixels, rows, columns, dy + reach, dx + reach, weights)


RING = (1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0)  # the neighbours of the middle of 3 x 3


def correlate_3x3(pixels: Tensor, weights: Tensor) -> Tensor:
    """Each image of uint8 (N, C, H, W) with its own kernel, (N, 9) row by row; mirrored at the border."""
    place = torch.arange(9, dtype=torch.int32, device=pixels.device).expand(len(pixels), -1)
    return sum_of_shifts(pixels, place // 3 - 1, place % 3 - 1, weights, 1, "mirror")


def separable(x: Tensor, offsets: Tensor, weights: Tensor, border: str) -> Tensor:
    """Along rows, then along columns, with one line of taps per image: (N, T) each, reaching at most T // 2 pixels.

    Bytes, too, become bytes.
    """
    reach = weights.shape[1] // 2
    rows, columns = (padded_index(n, reach, reach, border, x.device) for n in x.shape[-2:])
    correlate = kernels.correlate_byte_lines if x.dtype == torch.uint8 else kernels.correlate_lines
    return correlate(x, rows, columns, offsets + reach, weights)


NINE_TAPS = (4.0, 13.0, 30.0, 51.0, 60.0, 51.0, 30.0, 13.0, 4.0)  # OpenCV keeps these for size 9


def gaussian_kernels(size: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """Offsets int32 (N, most) and weights of OpenCV's Gaussians of odd `size` (N,), 3 to `most`."""
    offsets = torch.arange(most, dtype=torch.int32, device=size.device) - most // 2
    table = constant(tuple(_opencv_gaussian(k, most) for k in range(3, most + 1, 2)), size.device)
    return offsets.expand(len(size), -1), table[((size - 3) // 2).long()]


def _opencv_gaussian(size: int, most: int) -> tuple[float, ...]:
    """Taps whose deviation follows from the kernel's size, with zeros around them."""
    taps = np.array(NINE_TAPS) / 256 if size == 9 else gaussian_taps(0.15 * (size - 1) + 0.5, size // 2)
    return tuple(np.pad(taps, (most - size) // 2).tolist())


def line_taps(first: Tensor, last: Tensor, most: int) -> tuple[Tensor, Tensor, Tensor]:
    """Row and column, int32 (N, most), and weights of the pixels on lines between points (row, column), (N, 2) each.

    One pixel for each step along the longer axis, from the left end on, as OpenCV draws it; equal weights.
    """
    swap = (first[:, 1] > last[:, 1])[:, None]
    start, stop = torch.where(swap, last, first), torch.where(swap, first, last)
    step = stop - start
    longer = step.abs().amax(1, keepdim=True)
    k = torch.arange(most, device=first.device)
    used = k <= longer
    k = torch.minimum(k, longer)
    along = k[..., None] * step.abs()[:, None] / longer.clamp(min=1.0)[..., None]
    taps = start[:, None] + torch.sign(step)[:, None] * torch.ceil(along - 0.5)
    rows, columns = taps.to(torch.int32).unbind(2)
    return rows, columns, used / (longer + 1.0)


# --- disks ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def disk_kernel(radius: float, softness: float) -> np.ndarray:
    """A disk softened by a small Gaussian, float32, on a grid of at least 17 x 17.

    The Gaussian (3 taps up to radius 8, then 5) mirrors at the edge of the grid. Where the disk touches that edge
    (radius 8 and more, if whole) mass is counted twice and the sum exceeds 1: the original brightens there by about
    one per cent, and so do we.
    """
    reach, taps = (8, 3) if radius <= 8 else (math.ceil(radius), 5)
    t = np.arange(-reach, reach + 1)
    disk = (t[:, None] ** 2 + t[None, :] ** 2 <= radius**2).astype(np.float64)
    disk /= disk.sum()
    line = gaussian_taps(softness, taps // 2)
    for _ in range(2):  # along columns, then along rows; tap by tap, so that no library chooses an order
        places = [fold(torch.from_numpy(t + reach + k - taps // 2), t.size, "mirror").numpy() for k in range(taps)]
        disk = sum((weight * disk[rows] for weight, rows in zip(line, places, strict=True)), np.zeros(())).T
    return np.ascontiguousarray(disk, np.float32)


FINE = 10.0  # pixels: the radius of the largest disk of ImageNet-C


def disk_blur(x: Tensor, radius: float, softness: float) -> Tensor:
    """Correlate with `disk_kernel`. From three times `FINE` on, disks are made of squares, not of pixels.

    Squares are at most radius / FINE pixels wide, so that no outline is coarser than the one for which the suite is
    defined, and their number, hence the work for each pixel, does not grow with the image. Such disks sum to 1.
    """
    step = spacing(radius / FINE)
    kernel = disk_kernel(radius / step, softness)
    if step > 1:
        kernel = kernel / math.fsum(kernel.flat)
    squares = box(box(x, 2, step, "mirror"), 3, step, "mirror")
    return correlate(squares, kernel, "mirror", step)


def correlate(x: Tensor, kernel: np.ndarray, border: str = "mirror", step: int = 1) -> Tensor:
    """Correlate each channel of (N, C, H, W) with one small kernel of odd sides; zero weights cost nothing.

    Its taps are `step` pixels apart.
    """
    dy, dx, weights, (up, left) = _sparse(kernel.astype(np.float32).tobytes(), kernel.shape, step, x.device)
    rows = padded_index(x.shape[-2], up, up, border, x.device)
    columns = padded_index(x.shape[-1], left, left, border, x.device)
    return kernels.correlate(x, rows, columns, dy, dx, weights)


@remembered(64)
def _sparse(data: bytes, shape: tuple[int, int], step: int, device: torch.device):
    kernel = np.frombuffer(data, np.float32).reshape(shape)
    dy, dx = np.nonzero(np.abs(kernel) > 1e-9)  # smaller weights move no pixel by a thousandth of a level
    trim_y, trim_x = min(dy.min(), shape[0] - 1 - dy.max()), min(dx.min(), shape[1] - 1 - dx.max())
    offsets = [torch.from_numpy(step * d.astype(np.int32))[None].to(device) for d in (dy - trim_y, dx - trim_x)]
    weights = torch.from_numpy(kernel[dy, dx])[None].to(device)
    return *offsets, weights, (step * (shape[0] // 2 - int(trim_y)), step * (shape[1] // 2 - int(trim_x)))


# --- motion ---------------------------------------------------------------------------------------------------------


LONG = 20  # pixels: the longest radius of ImageNet-C


def motion_blur(x: Tensor, angle: Tensor | float, radius: int, sigma: float) -> Tensor:
    """Smear each image one way along its own angle (degrees, (N,)), or all of them along one; 2 radius + 1 taps.

    A half Gaussian of deviation `sigma`. Tap k lies ceil(k cos - 1/2) columns right and ceil(k sin - 1/2) rows down of
    the pixel, clamped to the image. The blur is one-sided, so it also displaces the picture.
    """
    x, taps = _smear_shortly(x, angle, radius, sigma)
    return kernels.correlate(x, *_motion_plan(x, angle, *taps))


def motion_bytes(levels: Tensor, angle: Tensor | float, radius: int, sigma: float) -> Tensor:
    """`motion_blur` of 0..255, uint8 or float32, as bytes; they are made as ImageMagick makes them."""
    levels, taps = _smear_shortly(levels, angle, radius, sigma)
    return kernels.smear_bytes(levels, *_motion_plan(levels, angle, *taps))


def _smear_shortly(x: Tensor, angle: Tensor | float, radius: int, sigma: float) -> tuple[Tensor, tuple]:
    """Images, and the taps that they have yet to be smeared by: how far each is, and its weight.

    From three times `LONG` on, images are smeared evenly over a short way first, and taps are as far apart as that is
    long. So their number does not grow with the image.
    """
    step = spacing(radius / LONG)
    if step > 1:
        levels = x.to(torch.float32, memory_format=torch.contiguous_format)  # as filters want them
        x = kernels.correlate(levels, *_motion_plan(x, angle, range(step), (1.0 / step,) * step))
    return x, (range(0, 2 * radius + 1, step), _smear_weights(radius, sigma, step))


@lru_cache(maxsize=256)
def _smear_weights(radius: int, sigma: float, step: int) -> tuple[float, ...]:
    """Of half a Gaussian, in parts of `step` taps each; they sum to 1."""
    weights = [portable.gaussian(t, sigma) for t in range(2 * radius + 1)]
    if step > 1:
        weights = [math.fsum(weights[k : k + step]) for k in range(0, 2 * radius + 1, step)]
    return tuple(portable.scaled_to_one(weights))


def _motion_plan(x: Tensor, angle: Tensor | float, steps: range, weights: tuple[float, ...]) -> tuple[Tensor, ...]:
    """Rows and columns of the padded image, offsets into it, and weights."""
    if isinstance(angle, Tensor):
        offsets = kernels.motion_offsets(angle, steps)
    else:
        offsets = _shared_motion_offsets(angle, steps, x.device)
    rows, columns = (padded_index(n, steps[-1], steps[-1], "edge", x.device) for n in x.shape[-2:])
    return rows, columns, *offsets, constant(weights, x.device).expand(len(offsets[0]), -1)


@remembered(256)
def _shared_motion_offsets(angle: float, steps: range, device: torch.device) -> tuple[Tensor, Tensor]:
    """With correctly rounded cosines: at 60 degrees the last bit decides where taps fall."""
    sin, cos = (torch.tensor([f(math.radians(angle))], dtype=torch.float64) for f in (portable.sin, portable.cos))
    dy, dx = line_offsets(sin, cos, steps)
    return dy.to(device), dx.to(device)
