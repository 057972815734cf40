"""Filters and resampling: sums, means and medians of neighbours."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.borders import fold
from scuff.kernels.dispatch import kernel

__all__ = ["box_mean", "correlate", "correlate_bytes", "median", "resample", "sample_bilinear"]


@kernel
def correlate(x: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, dx: Tensor, weights: Tensor) -> Tensor:
    """Sum of shifted copies of float32 (N, C, H, W).

    out[i, j] = sum over t of weights[t] * x[rows[i + dy[t]], columns[j + dx[t]]], for every image and channel.
    `rows` and `columns` (int64) are the image's indices with a border around them, so that every shift finds a pixel.
    Offsets are int32 >= 0 and, like the weights, (N, T), or (1, T) when every image shares them. Taps are summed in
    a fixed order, so the result does not depend on the batch.
    """
    n, c, h, w = x.shape
    padded = x.index_select(2, rows).index_select(3, columns).flatten(2)
    wide = len(columns)
    grid = (torch.arange(h, device=x.device)[:, None] * wide + torch.arange(w, device=x.device)).flatten()
    out = torch.zeros(n, c, h * w, device=x.device)
    for tap in range(dy.shape[1]):
        index = (grid + (dy[:, tap, None].long() * wide + dx[:, tap, None].long())).expand(n, -1)
        out = out + weights[:, tap, None, None] * padded.gather(2, index[:, None].expand(n, c, -1))
    return out.unflatten(2, (h, w))


@kernel
def correlate_bytes(pixels: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, dx: Tensor, weights: Tensor) -> Tensor:
    """`correlate` from bytes to bytes: uint8 (N, C, H, W), sums rounded (halves go up) and saturated."""
    levels = correlate(pixels.float(), rows, columns, dy, dx, weights)
    return torch.floor(levels + 0.5).clamp_(0, 255).to(torch.uint8)


@kernel
def resample(x: Tensor, rows: Tensor, row_shares: Tensor, columns: Tensor, column_shares: Tensor) -> Tensor:
    """Separable linear interpolation of float32 (N, C, H, W).

    Output row i mixes input rows `rows[i]` and the next one, with `row_shares[i]` of the latter; columns likewise.
    """
    h, w = x.shape[-2:]
    x = torch.lerp(x.index_select(2, rows), x.index_select(2, (rows + 1).clamp(max=h - 1)), row_shares[:, None])
    return torch.lerp(x.index_select(3, columns), x.index_select(3, (columns + 1).clamp(max=w - 1)), column_shares)


@kernel
def sample_bilinear(x: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
    """Read float32 (N, C, H, W) at real pixel coordinates (N, H', W'); pixel centres are integers.

    `border` is "mirror" (about the centre of the last pixel), "reflect" (about its outer edge), or "zeros" (black).
    """
    h, w = x.shape[-2:]
    # grid_sample wants (-1, 1) from the outer edge of the first pixel to that of the last
    y = (_fold(rows, h, border) * 2.0 + 1.0) / h - 1.0
    z = (_fold(columns, w, border) * 2.0 + 1.0) / w - 1.0
    padding = "zeros" if border == "zeros" else "border"
    grid = torch.stack((z, y), dim=-1)
    return torch.nn.functional.grid_sample(x, grid, mode="bilinear", padding_mode=padding, align_corners=False)


def _fold(at: Tensor, length: int, border: str) -> Tensor:
    """Real coordinates into the image: `mirror` to [0, length - 1], `reflect` to [-1/2, length - 1/2].

    For `zeros` into a frame of one pixel around it, beyond which everything is black anyway.
    """
    if border == "zeros":
        return at.clamp(-1.0, length)
    edge = 0.0 if border == "mirror" else 0.5
    period = 2.0 * (length - 1 + 2 * edge)
    if period == 0.0:
        return torch.zeros_like(at)
    at = (at + edge).remainder(period)
    return torch.minimum(at, period - at) - edge


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


@kernel
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
