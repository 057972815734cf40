"""Filters and resampling: sums, means and medians of neighbours."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.borders import fold
from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel, slow_kernel
from scuff.kernels.grids import pixel_grid
from scuff.kernels.portable import divide, fused, mix
from scuff.kernels.reference.functions import sine_and_cosine
from scuff.kernels.reference.pixels import bytes_to_unit, unit_to_bytes

__all__ = [
    "box_mean", "correlate", "correlate_byte_lines", "correlate_bytes", "correlate_lines", "correlate_twice",
    "mean_zoom", "median", "motion_offsets", "resample", "sample_affine", "sample_bilinear", "sample_displaced",
    "sample_kneaded", "smear_bytes",
]  # fmt: skip


@slow_kernel(lambda x, rows, columns, dy, dx, weights: x.numel() * weights.shape[1])
def correlate(x: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, dx: Tensor, weights: Tensor) -> Tensor:
    """Sum of shifted copies of float32 (N, C, H, W).

    out[i, j] = sum over t of weights[t] * x[rows[i + dy[t]], columns[j + dx[t]]], for every image and channel.
    `rows` and `columns` (int64) are the image's indices with a border around them, so that every shift finds a pixel.
    Offsets are int32 >= 0 and, like the weights, (N, T), or (1, T) when every image shares them; shared taps that fill
    more than half of their rectangle come row by row, each place once. Bit-equal in every back end: each tap is added
    to the sum of those before it by one fused multiply-add.
    """
    n, c, h, w = x.shape
    padded = x.index_select(2, rows).index_select(3, columns).flatten(2)
    wide = len(columns)
    grid = (torch.arange(h, device=x.device)[:, None] * wide + torch.arange(w, device=x.device)).flatten()
    out = torch.zeros(n, c, h * w, device=x.device)
    for tap in range(dy.shape[1]):
        index = (grid + (dy[:, tap, None].long() * wide + dx[:, tap, None].long())).expand(n, -1)
        out = fused(weights[:, tap, None, None], padded.gather(2, index[:, None].expand(n, c, -1)), out)
    return out.unflatten(2, (h, w))


@kernel
def correlate_twice(x: Tensor, first: tuple[Tensor, ...], second: tuple[Tensor, ...]) -> Tensor:
    """One `correlate` after another, each given as the arguments after the image, float32 or bytes as shares of 255."""
    return correlate(correlate(bytes_to_unit(x) if x.dtype == torch.uint8 else x, *first), *second)


@kernel
def correlate_lines(x: Tensor, rows: Tensor, columns: Tensor, steps: Tensor, weights: Tensor) -> Tensor:
    """`correlate` along rows, then along columns, by the same taps: `steps` take the place of `dx`, then of `dy`."""
    height, width = (torch.arange(n, device=x.device) for n in x.shape[-2:])
    still = torch.zeros_like(steps)
    return correlate_twice(x, (height, columns, still, steps, weights), (rows, width, steps, still, weights))


@kernel
def correlate_byte_lines(pixels: Tensor, rows: Tensor, columns: Tensor, steps: Tensor, weights: Tensor) -> Tensor:
    """`correlate_lines` of bytes as units, to the nearest bytes. Bit-equal in every back end."""
    y = correlate_lines(bytes_to_unit(pixels), rows, columns, steps, weights)
    return unit_to_bytes(y, torch.empty(pixels.shape, dtype=torch.uint8, device=pixels.device), nearest=True)


@kernel
def correlate_bytes(pixels: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, dx: Tensor, weights: Tensor) -> Tensor:
    """`correlate` from bytes to bytes: uint8 (N, C, H, W), sums rounded (halves go up) and saturated.

    Bit-equal in every back end, as `correlate` is.
    """
    levels = correlate(pixels.float(), rows, columns, dy, dx, weights)
    return torch.floor(levels + 0.5).clamp_(0, 255).to(torch.uint8)


@kernel
def smear_bytes(levels: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, dx: Tensor, weights: Tensor) -> Tensor:
    """`correlate` from levels, uint8 or float32, to bytes by ImageMagick's rule: round to 16 bits, truncate to 8."""
    sums = correlate(levels.float(), rows, columns, dy, dx, weights)
    return torch.floor(divide(torch.floor(257.0 * sums + 0.5), 257.0)).clamp(0, 255).to(torch.uint8)


@kernel
def motion_offsets(angle: Tensor, steps: range) -> tuple[Tensor, Tensor]:
    """Rows and columns, int32 (N, taps), of taps that lie `steps` pixels away along the angles (N,), in degrees.

    They count from the corner of an image that is padded by the last of the steps, which begin at 0.
    """
    return line_offsets(*sine_and_cosine(torch.deg2rad(angle.double())), steps)


def line_offsets(sin: Tensor, cos: Tensor, steps: range) -> tuple[Tensor, Tensor]:
    """The same from sines and cosines in float64; halves are rounded down."""
    k = constant(tuple(steps), cos.device, torch.float64)
    dy, dx = (torch.ceil(k * part[:, None] - 0.5).int() + steps[-1] for part in (sin, cos))
    return dy, dx


@kernel
def resample(x: Tensor, rows: Tensor, row_shares: Tensor, columns: Tensor, column_shares: Tensor) -> Tensor:
    """Separable linear interpolation of float32 (N, C, H, W).

    Output row i mixes input rows `rows[i]` and the next one, with `row_shares[i]` of the latter; columns likewise.
    Bit-equal in every back end: a + share * (b - a) with three roundings, rows first.
    """
    h, w = x.shape[-2:]
    x = mix(x.index_select(2, rows), x.index_select(2, (rows + 1).clamp(max=h - 1)), row_shares[:, None])
    return mix(x.index_select(3, columns), x.index_select(3, (columns + 1).clamp(max=w - 1)), column_shares)


@kernel
def mean_zoom(x: Tensor, rows: Tensor, row_shares: Tensor, columns: Tensor, column_shares: Tensor) -> Tensor:
    """The mean of an image, which counts twice, and of its zooms: `resample` by each of Z plans (Z, H) and (Z, W).

    Bit-equal in every back end: added one after the other.
    """
    total = x + x
    for plan in zip(rows, row_shares, columns, column_shares, strict=True):
        total += resample(x, *plan)
    return divide(total, len(rows) + 2)


@kernel
def sample_bilinear(x: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
    """Read float32 (N, C, H, W) at real pixel coordinates (N, H', W'); pixel centres are integers.

    `border` is "mirror" (about the centre of the last pixel), "reflect" (about its outer edge), or "zeros" (black).
    Bit-equal in every back end: float32 throughout, every product rounded before it is added, along rows first.
    """
    n, channels, h, w = x.shape
    flat = x.flatten(2)

    def read(i: Tensor, j: Tensor) -> Tensor:
        place = (i.clamp(0, h - 1) * w + j.clamp(0, w - 1)).flatten(1)[:, None].expand(n, channels, -1)
        return flat.gather(2, place).unflatten(2, rows.shape[1:])

    y, z = (_fold(at, length, border) for at, length in ((rows, h), (columns, w)))
    top, left = torch.floor(y).long(), torch.floor(z).long()
    down, across = (y - top)[:, None], (z - left)[:, None]
    if border != "zeros":
        above = mix(read(top, left), read(top, left + 1), across)
        return mix(above, mix(read(top + 1, left), read(top + 1, left + 1), across), down)
    total = torch.zeros(n, channels, *rows.shape[1:], device=x.device)
    for i, row_share in ((top, 1.0 - down), (top + 1, down)):
        for j, column_share in ((left, 1.0 - across), (left + 1, across)):
            inside = ((i >= 0) & (i < h) & (j >= 0) & (j < w))[:, None]
            total = total + torch.where(inside, (row_share * column_share) * read(i, j), 0.0)
    return total


@kernel
def sample_affine(x: Tensor, maps: Tensor, border: str) -> Tensor:
    """`sample_bilinear` where maps (N, 2, 3) send the column and row of each pixel: a column + b row + c.

    Bit-equal in every back end: products and sums are rounded, from the left.
    """
    return sample_bilinear(x, *affine_reads(maps, *pixel_grid(x.shape[-2], x.shape[-1], x.device)), border)


def affine_reads(maps: Tensor, rows: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    """Rows and columns, sent through (N, 2, 3) maps."""
    to_column, to_row = maps[:, :, :, None, None].unbind(1)
    row, column = (to[:, 0] * columns + to[:, 1] * rows + to[:, 2] for to in (to_row, to_column))
    return row, column


@kernel
def sample_displaced(x: Tensor, field: Tensor, amount: float, border: str) -> Tensor:
    """`sample_bilinear` where `amount` times a field (N, 2, H, W), down and across, moves each pixel."""
    rows, columns = pixel_grid(x.shape[-2], x.shape[-1], x.device)
    return sample_bilinear(x, rows + amount * field[:, 0], columns + amount * field[:, 1], border)


@kernel
def sample_kneaded(x: Tensor, maps: Tensor, field: Tensor, amount: float) -> Tensor:
    """`sample_affine`, mirrored at the border, and `sample_displaced` of that, reflected there."""
    return sample_displaced(sample_affine(x, maps, "mirror"), field, amount, "reflect")


def _fold(at: Tensor, length: int, border: str) -> Tensor:
    """Real coordinates into the image: reflected, if they lie outside, and then clamped to the centres of pixels.

    For `zeros` into a frame of one pixel around it, beyond which everything is black anyway.
    """
    if border == "zeros":
        return at.clamp(-1.0, length)
    edge = 0.0 if border == "mirror" else 0.5
    last = float(length - 1)
    period = 2.0 * (last + 2 * edge)
    if period == 0.0:
        return torch.zeros_like(at)
    beyond = (at + edge).abs()
    beyond = beyond - period * torch.floor(divide(beyond, period))
    beyond = torch.minimum(beyond, period - beyond) - edge
    return torch.where((at < -edge) | (at > last + edge), beyond, at).clamp(0.0, last)


@kernel
def box_mean(pixels: Tensor, size: Tensor, largest: int) -> Tensor:
    """Mean over size x size values of uint8 (N, C, H, W), rounded half up; mirrored at the border.

    `size` is int32 (N,), at most `largest`; an even one reaches one pixel farther up and left.
    """
    height, width = pixels.shape[-2:]
    reach = largest // 2
    rows, columns = (
        fold(torch.arange(-reach, side + reach, device=pixels.device), side, "mirror") for side in (height, width)
    )
    padded = pixels.index_select(2, rows).index_select(3, columns).to(torch.int32)
    first, size = (reach - size // 2)[:, None], size[:, None]
    for axis in (2, 3):
        length = pixels.shape[axis]
        total = torch.zeros_like(padded.narrow(axis, 0, length))
        for offset in range(2 * reach + 1):
            used = ((offset >= first) & (offset < first + size)).to(torch.int32)
            total = total + used[:, :, None, None] * padded.narrow(axis, offset, length)
        padded = total
    area = (size * size)[..., None, None]
    return ((2 * total + area) // (2 * area)).to(torch.uint8)


@slow_kernel(lambda pixels, radius, largest: pixels.numel() * (2 * largest + 1) ** 2)
def median(pixels: Tensor, radius: Tensor, largest: int) -> Tensor:
    """Median of the (2 radius + 1)^2 values around each value of uint8 (N, C, H, W); edges repeat.

    `radius` is int32 (N,), at most `largest`.
    """
    height, width = pixels.shape[-2:]
    rows, columns = (
        fold(torch.arange(-largest, side + largest, device=pixels.device), side, "edge") for side in (height, width)
    )
    padded = pixels.index_select(2, rows).index_select(3, columns).to(torch.int16)
    reach = torch.arange(2 * largest + 1, device=pixels.device) - largest
    windows = padded.unfold(2, 2 * largest + 1, 1).unfold(3, 2 * largest + 1, 1)
    used = torch.maximum(reach.abs()[:, None], reach.abs()) <= radius[:, None, None]
    # what lies outside an image's own window counts half as very dark and half as very bright, and so not at all
    unused = (~used).flatten(1).cumsum(1).view(used.shape) % 2 * 1024 - 512
    windows = torch.where(used[:, None, None, None], windows, unused[:, None, None, None].to(torch.int16))
    return windows.flatten(4).median(4).values.to(torch.uint8)
