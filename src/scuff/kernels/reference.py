"""Plain torch: slow, short, right. The fast back ends are held against these functions."""

from __future__ import annotations

import math
from functools import lru_cache

import torch
from torch import Tensor

from scuff.kernels.boxes import box_windows

_LOW32 = 0xFFFFFFFF


# --- Philox 4x32-10 -------------------------------------------------------------------------------------------------


def _philox(c0: Tensor, c1: Tensor, c2: Tensor, c3: Tensor, k0: Tensor, k1: Tensor) -> tuple[Tensor, ...]:
    """Ten Philox rounds on int64 tensors that hold 32-bit values; int64 products wrap modulo 2**64, as they must."""
    for _ in range(10):
        p0, p1 = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c1, c2, c3 = (p1 >> 32 & _LOW32) ^ c1 ^ k0, p1 & _LOW32, (p0 >> 32 & _LOW32) ^ c3 ^ k1, p0 & _LOW32
        k0, k1 = k0 + 0x9E3779B9 & _LOW32, k1 + 0xBB67AE85 & _LOW32
    return c0, c1, c2, c3


def derive_keys(ids: Tensor, cell: int) -> Tensor:
    zero = torch.zeros_like(ids)
    k0, k1 = zero + (cell & _LOW32), zero + (cell >> 32)
    low, high, _, _ = _philox(ids & _LOW32, ids >> 32 & _LOW32, zero, zero, k0, k1)
    return high << 32 | low


def words(keys: Tensor, stream: int, count: int) -> Tensor:
    block = torch.arange(-(-count // 4), device=keys.device).expand(len(keys), -1)
    zero = torch.zeros_like(block)
    k0, k1 = (keys & _LOW32)[:, None], (keys >> 32 & _LOW32)[:, None]
    out = _philox(block & _LOW32, block >> 32, zero + stream, zero, k0, k1)
    return torch.stack(out, dim=-1).flatten(1)[:, :count]


def uniform(keys: Tensor, stream: int, count: int) -> Tensor:
    return _unit(words(keys, stream, count))


def _unit(word: Tensor) -> Tensor:
    """(w + 1/2) / 2**32 in float32: never 0, so its logarithm is finite."""
    return word.to(torch.float32) * 2.0**-32 + 2.0**-33


def normal(keys: Tensor, stream: int, count: int) -> Tensor:
    u = uniform(keys, stream, count + count % 2).unflatten(1, (-1, 2))
    radius, angle = torch.sqrt(-2.0 * torch.log(u[..., 0])), (2.0 * math.pi) * u[..., 1]
    return torch.stack((radius * torch.cos(angle), radius * torch.sin(angle)), dim=-1).flatten(1)[:, :count]


def integers(keys: Tensor, stream: int, count: int, low: int, high: int) -> Tensor:
    return (low + (words(keys, stream, count) * (high - low + 1) >> 32)).to(torch.int32)


# --- deterministic pixel mathematics ----------------------------------------------------------------------------------


def poisson_quantile(u: Tensor, rate: Tensor) -> Tensor:
    """Search upward from 6.5 standard deviations below the mean, where less than 1e-9 of the mass is left out."""
    u, rate = u.double(), rate.double()
    count = poisson_start(rate)
    mass = poisson_mass(rate, count)
    total = mass.clone()
    while True:
        active = (u > total) & ((count < rate) | (mass > 1e-10))
        if not bool(active.any()):
            return count.float()
        count = torch.where(active, count + 1, count)
        mass = torch.where(active, mass * rate / count, mass)
        total = torch.where(active, total + mass, total)


def poisson_start(rate: Tensor) -> Tensor:
    return torch.floor(rate - 6.5 * torch.sqrt(rate) - 3.0).clamp(min=0.0)


def poisson_mass(rate: Tensor, count: Tensor) -> Tensor:
    """P(X = count), with Stirling's series arranged so that nothing large cancels; exact at 0, where searches start."""
    k = count.clamp(min=1.0)
    series = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / (k * k)) / (k * k)) / k
    log_mass = k * torch.log(rate / k) + (k - rate) - 0.5 * torch.log(2.0 * math.pi * k) - series
    return torch.where(count == 0, torch.exp(-rate), torch.exp(log_mass))


def correlate(x: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, dx: Tensor, weights: Tensor) -> Tensor:
    n, c, h, w = x.shape
    padded = x.index_select(2, rows).index_select(3, columns).flatten(2)
    wide = len(columns)
    grid = (torch.arange(h, device=x.device)[:, None] * wide + torch.arange(w, device=x.device)).flatten()
    out = torch.zeros(n, c, h * w, device=x.device)
    for tap in range(dy.shape[1]):
        index = (grid + (dy[:, tap, None].long() * wide + dx[:, tap, None].long())).expand(n, -1)
        out = out + weights[:, tap, None, None] * padded.gather(2, index[:, None].expand(n, c, -1))
    return out.unflatten(2, (h, w))


def resample(x: Tensor, rows: Tensor, row_shares: Tensor, columns: Tensor, column_shares: Tensor) -> Tensor:
    h, w = x.shape[-2:]
    x = torch.lerp(x.index_select(2, rows), x.index_select(2, (rows + 1).clamp(max=h - 1)), row_shares[:, None])
    return torch.lerp(x.index_select(3, columns), x.index_select(3, (columns + 1).clamp(max=w - 1)), column_shares)


def sample_bilinear(x: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
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


def plasma(noise: Tensor, decay: float) -> Tensor:
    height = torch.zeros_like(noise)
    step, amplitude = noise.shape[-1], 100.0
    while step >= 2:
        half, power = step // 2, amplitude * amplitude
        corners = height[:, ::step, ::step]
        below = torch.roll(corners, -1, 1)
        right = torch.roll(corners, -1, 2)
        centres = (corners + below + right + torch.roll(below, -1, 2)) * 0.25
        centres = centres + power * noise[:, half::step, half::step]
        height[:, half::step, half::step] = centres
        edges = (centres + torch.roll(centres, 1, 1) + corners + right) * 0.25
        height[:, ::step, half::step] = edges + power * noise[:, ::step, half::step]
        edges = (centres + torch.roll(centres, 1, 2) + corners + below) * 0.25
        height[:, half::step, ::step] = edges + power * noise[:, half::step, ::step]
        step, amplitude = half, amplitude / decay
    low = height.amin((1, 2), keepdim=True)
    return (height - low) / (height.amax((1, 2), keepdim=True) - low)


def crop_windows(table: Tensor, which: Tensor, top: Tensor, left: Tensor, height: int, width: int) -> Tensor:
    _, channels, tall, wide = table.shape
    rows = top[:, None] + torch.arange(height, device=table.device)
    columns = left[:, None] + torch.arange(width, device=table.device)
    place = (rows[:, :, None] * wide + columns[:, None, :]).flatten(1)
    plane = which[:, None] * channels + torch.arange(channels, device=table.device)
    index = plane[:, :, None] * (tall * wide) + place[:, None, :]
    return table.reshape(-1)[index].view(-1, channels, height, width)


def local_copies(pixels: Tensor, dy: Tensor, dx: Tensor, reach: int) -> Tensor:
    """The sequential loop in parallel form.

    A pixel p copies q(p). If q(p) comes later in raster order and is itself written, it was written before p, so p gets
    what q(p) got; pointer doubling runs down such chains. Otherwise q(p) still holds its old value.
    """
    n, c, h, w = pixels.shape
    row = torch.arange(h, device=pixels.device)[:, None]
    column = torch.arange(w, device=pixels.device)
    written = ((row > reach) & (row <= h - reach) & (column > reach) & (column <= w - reach)).flatten()
    position = torch.arange(h * w, device=pixels.device).expand(n, -1)
    source = torch.where(written, position + (dy.long() * w + dx.long()).flatten(1), position)
    jump = torch.where(written & (source > position) & written[source], source, position)
    for _ in range(max(1, (h * w).bit_length())):
        jump = jump.gather(1, jump)
    final = source.gather(1, jump)
    return pixels.flatten(2).gather(2, final[:, None].expand(n, c, -1)).unflatten(2, (h, w))


def pixelate(pixels: Tensor, rows: int, columns: int) -> Tensor:
    h, w = pixels.shape[-2:]
    small = _box_shrink(pixels, columns, dim=3)
    small = _box_shrink(small, rows, dim=2)
    return small.index_select(2, _nearest(h, rows, pixels.device)).index_select(3, _nearest(w, columns, pixels.device))


@lru_cache(maxsize=256)
def _nearest(length: int, size: int, device: torch.device) -> Tensor:
    return ((2 * torch.arange(length) + 1) * size // (2 * length)).to(device)


@lru_cache(maxsize=256)
def _windows(length: int, size: int, device: torch.device) -> tuple[Tensor, Tensor, int]:
    """First index and length of each box window, and the greatest length."""
    start, stop = box_windows(length, size)
    return torch.from_numpy(start).to(device), torch.from_numpy(stop - start).to(device), int((stop - start).max())


def _box_shrink(pixels: Tensor, size: int, dim: int) -> Tensor:
    """Equal-weight means over Pillow's BOX windows, rounded half up to bytes."""
    start, length, longest = _windows(pixels.shape[dim], size, pixels.device)
    shape = [1, 1, 1, 1]
    shape[dim] = size
    length = length.view(shape).int()
    total = pixels.index_select(dim, start).int()
    for offset in range(1, longest):
        more = pixels.index_select(dim, (start + offset).clamp(max=pixels.shape[dim] - 1))
        total += more * (offset < length)
    return torch.div(2 * total + length, 2 * length, rounding_mode="floor").to(torch.uint8)


def link_edges(weak: Tensor, strong: Tensor) -> Tensor:
    kept = (strong & weak).float()[:, None]
    mask = weak.float()[:, None]
    while True:
        grown = kept
        for _ in range(8):
            grown = torch.nn.functional.max_pool2d(grown, 3, stride=1, padding=1) * mask
        if torch.equal(grown, kept):
            return kept[:, 0] > 0
        kept = grown


CHAMFER_STEPS = tuple(
    (dy, dx, {1: 1.0, 2: 1.4, 5: 2.1969}[dy * dy + dx * dx])
    for dy in range(-2, 3)
    for dx in range(-2, 3)
    if dy * dy + dx * dx in (1, 2, 5)
)


def chamfer_distance(edges: Tensor, cap: float) -> Tensor:
    """Relax every pixel against its 16 chamfer neighbours; a step costs at least 1, so `cap` rounds are enough."""
    n, h, w = edges.shape
    distance = torch.full((n, h + 4, w + 4), cap, dtype=torch.float32, device=edges.device)
    inner = distance[:, 2 : h + 2, 2 : w + 2]
    inner.masked_fill_(edges, 0.0)
    for _ in range(math.ceil(cap)):
        best = inner.clone()
        for dy, dx, step in CHAMFER_STEPS:
            torch.minimum(best, distance[:, 2 + dy : h + 2 + dy, 2 + dx : w + 2 + dx] + step, out=best)
        inner.copy_(best)
    return inner.clone()


def bytes_to_unit(pixels: Tensor) -> Tensor:
    return pixels.to(torch.float32, memory_format=torch.contiguous_format) / 255.0


def unit_to_bytes(batch: Tensor, out: Tensor) -> Tensor:
    return out.copy_((batch.clamp(0.0, 1.0) * 255.0).to(torch.uint8))
