"""Pillow's image operations on batches of bytes, exactly: tables, blends and affine reads.

Each operation is worked out for all images, and taken where an image asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from scuff.kernels.affine import affine_maps
from scuff.kernels.dispatch import kernel
from scuff.kernels.operation_codes import BLENDS, CODES, LOOKUPS, WARPS
from scuff.kernels.reference.colours import lookup

__all__ = ["operate"]


@kernel
def operate(pixels: Tensor, names: Sequence[str], codes: Tensor, values: Tensor, nearest: bool, fill: Tensor) -> Tensor:
    """Pillow's image operations on uint8 (N, C, H, W), one operation per image: see `scuff.augment.operations`.

    `codes` (int32, (N,)) number the operations as `scuff.kernels.operation_codes` does; `names` are those that may
    occur. `values` is float64 (N,), `fill` uint8 (C,). Bit-equal in every back end.
    """
    out = pixels.clone(memory_format=torch.contiguous_format)
    if not out.numel():
        return out
    for name in names:
        if name in LOOKUPS:
            new = lookup(pixels, _table(pixels, name, values[:, None, None]))
        elif name in BLENDS:
            plain = _grey(pixels) if name == "color" else _smooth(pixels)
            new = _blend(plain, pixels, values[:, None, None, None])
        else:
            continue
        out = torch.where((codes == CODES[name])[:, None, None, None], new, out)
    if any(name in WARPS for name in names):
        maps = affine_maps(names, codes, values, *pixels.shape[-2:])[..., None, None]
        new = (_read_nearest if nearest else _read_bilinear)(pixels, maps.unbind(1), fill)
        out = torch.where((codes >= CODES[WARPS[0]])[:, None, None, None], new, out)
    return out


# --- tables and blends ----------------------------------------------------------------------------------------------


def _table(pixels: Tensor, name: str, value: Tensor) -> Tensor:
    """uint8 (N, C, 256), or (N, 1, 256) where all channels share it; `value` is (N, 1, 1)."""
    levels = torch.arange(256, device=pixels.device).expand(len(pixels), 1, 256)
    if name == "invert":
        table = 255 - levels
    elif name == "solarize":
        table = torch.where(levels < value, levels, 255 - levels)
    elif name == "posterize":
        table = levels & (256 - (1 << (8 - value.clamp(0, 8).long())))
    elif name == "brightness":
        table = _blend(torch.zeros_like(levels), levels, value)
    elif name == "contrast":
        count = pixels[0, 0].numel()
        mean = (2 * _grey(pixels).long().sum((1, 2, 3)) + count) // (2 * count)
        table = _blend(mean[:, None, None], levels, value)
    elif name == "autocontrast":
        table = _stretching(pixels, levels)
    else:
        table = _flattening(pixels, levels)
    return table.to(torch.uint8)


def _stretching(pixels: Tensor, levels: Tensor) -> Tensor:
    """The darkest level of a channel becomes 0, the brightest 255."""
    low, high = (extreme.long()[..., None] for extreme in pixels.flatten(2).aminmax(dim=2))
    scale = torch.full_like(low, 255).double() / (high - low).clamp(min=1)  # a number / tensor is not rounded rightly
    stretched = (levels * scale + -low * scale).long().clamp(0, 255)
    return torch.where(high > low, stretched, levels)


def _flattening(pixels: Tensor, levels: Tensor) -> Tensor:
    """Each level becomes the share of pixels below it, in steps of whole pixels."""
    values = pixels.flatten(2).long()
    counts = torch.zeros(*values.shape[:2], 256, dtype=torch.int64, device=pixels.device)
    counts.scatter_add_(2, values, torch.ones_like(values))
    brightest = counts.gather(2, values.amax(dim=2, keepdim=True))
    step = (values.shape[2] - brightest) // 255
    below = counts.cumsum(2) - counts
    return torch.where(step > 0, ((below + step // 2) // step.clamp(min=1)).clamp(max=255), levels)


def _blend(plain: Tensor, pixels: Tensor, factor: Tensor) -> Tensor:
    """From `plain` (factor 0) to the image (1) and beyond, in float32; fractions are dropped."""
    start = plain.float()
    change = factor.float() * (pixels.float() - start)  # a product of its own: fused with the sum, it rounds otherwise
    return (start + change).clamp(0.0, 255.0).to(torch.uint8)


def _grey(pixels: Tensor) -> Tensor:
    if pixels.shape[1] == 1:
        return pixels.int()
    red, green, blue = pixels.int().split(1, dim=1)
    return (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16


def _smooth(pixels: Tensor) -> Tensor:
    """The mean of 3 x 3 pixels, the one in the middle five times; the outermost pixels stay."""
    height, width = pixels.shape[-2:]
    levels = pixels.int()
    if height < 3 or width < 3:
        return levels
    total = 4 * levels[..., 1:-1, 1:-1]
    for i in range(3):
        for j in range(3):
            total = total + levels[..., i : height - 2 + i, j : width - 2 + j]
    smooth = levels.clone()
    smooth[..., 1:-1, 1:-1] = (2 * total + 13) // 26
    return smooth


# --- affine reads ---------------------------------------------------------------------------------------------------


def _grid(pixels: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Numbers of columns (1, W) and rows (H, 1)."""
    height, width = pixels.shape[-2:]
    columns, rows = (torch.arange(n, dtype=dtype, device=pixels.device) for n in (width, height))
    return columns, rows[:, None]


def _take(pixels: Tensor, column: Tensor, row: Tensor) -> Tensor:
    """Pixels at whole places (N, H, W), in every channel; places beyond the edge mean the edge."""
    n, channels, height, width = pixels.shape
    place = row.clamp(0, height - 1) * width + column.clamp(0, width - 1)
    return pixels.flatten(2).gather(2, place.flatten(1)[:, None].expand(n, channels, -1)).view(pixels.shape)


def _read_bilinear(pixels: Tensor, coefficients: Sequence[Tensor], fill: Tensor) -> Tensor:
    a, b, c, d, e, f = coefficients
    height, width = pixels.shape[-2:]
    i, j = (at + 0.5 for at in _grid(pixels, torch.float64))
    x, y = a * i + b * j + c, d * i + e * j + f
    inside = (x >= 0.0) & (x < width) & (y >= 0.0) & (y < height)
    x, y = torch.where(inside, x, 0.5) - 0.5, torch.where(inside, y, 0.5) - 0.5
    column, row = torch.floor(x).long(), torch.floor(y).long()
    across, down = (x - column)[:, None], (y - row)[:, None]

    def along(row: Tensor) -> Tensor:
        left, right = _take(pixels, column, row).double(), _take(pixels, column + 1, row).double()
        return left + (right - left) * across

    first = along(row)
    second = torch.where((row + 1 < height)[:, None], along(row + 1), first)
    level = (first + (second - first) * down).to(torch.uint8)
    return torch.where(inside[:, None], level, fill[:, None, None])


def _read_nearest(pixels: Tensor, coefficients: Sequence[Tensor], fill: Tensor) -> Tensor:
    """Pillow's two ways: step by step for translations, otherwise in 65536ths of a pixel."""
    a, b, c, d, e, f = coefficients
    height, width = pixels.shape[-2:]
    i, j = _grid(pixels, torch.int64)
    column = (_fixed(c + a * 0.5 + b * 0.5) + _fixed(a) * i + _fixed(b) * j) >> 16
    row = (_fixed(f + d * 0.5 + e * 0.5) + _fixed(d) * i + _fixed(e) * j) >> 16
    straight = (b == 0.0) & (d == 0.0)
    column = torch.where(straight, _stepped(c + a * 0.5, a, width).mT, column)
    row = torch.where(straight, _stepped(f + e * 0.5, e, height), row)
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    return torch.where(inside[:, None], _take(pixels, column, row), fill[:, None, None])


def _fixed(z: Tensor) -> Tensor:
    return torch.floor(z * 65536.0 + 0.5).long()


def _stepped(first: Tensor, step: Tensor, length: int) -> Tensor:
    """Whole places (N, length, 1) of a walk from `first`, each sum rounded; -1 for negative ones."""
    places = [first]
    for _ in range(length - 1):
        places.append(places[-1] + step)
    walk = torch.cat(places, dim=1)
    return torch.where(walk < 0.0, -1, walk.long())
