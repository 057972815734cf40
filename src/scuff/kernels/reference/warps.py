"""Bytes read elsewhere: at points between pixels, or as weighted windows of a row or column."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.borders import fold

FAR = 1e6  # beyond any image, and safe to multiply and to convert to a whole number


def remap(pixels: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
    n, channels, height, width = pixels.shape
    y, x = (torch.floor(at.clamp(-FAR, FAR) * 32.0 + 0.5).long() for at in (rows, columns))
    down, across = y % 32, x % 32
    flat = pixels.flatten(2).to(torch.int32)
    total = torch.zeros(n, channels, rows[0].numel(), dtype=torch.int32, device=pixels.device)
    for dy, row_share in ((0, 32 - down), (1, down)):
        for dx, column_share in ((0, 32 - across), (1, across)):
            i, j = (y >> 5) + dy, (x >> 5) + dx
            share = (row_share * column_share).to(torch.int32)
            if border == "zeros":
                share = share * ((i >= 0) & (i < height) & (j >= 0) & (j < width))
                i, j = i.clamp(0, height - 1), j.clamp(0, width - 1)
            else:
                i, j = fold(i, height, border), fold(j, width, border)
            place = (i * width + j).flatten(1)[:, None].expand(n, channels, -1)
            total += share.flatten(1)[:, None] * flat.gather(2, place)
    return ((total + 512) >> 10).to(torch.uint8).view(n, channels, *rows.shape[1:])


def take_pixels(pixels: Tensor, place: Tensor) -> Tensor:
    n, channels = pixels.shape[:2]
    where = place.expand(n, -1, -1)[:, None]
    found = pixels.flatten(2).gather(2, where.clamp(min=0).long().flatten(2).expand(-1, channels, -1))
    return torch.where(where >= 0, found.view(n, channels, *place.shape[1:]), 0)


def mix_windows(x: Tensor, first: Tensor, weights: Tensor) -> Tensor:
    n, channels, height, width = x.shape
    total = 0.0
    for tap in range(weights.shape[2]):
        place = (first + tap).clamp(max=width - 1).long()[:, None, None, :].expand(n, channels, height, -1)
        total = total + weights[:, None, None, :, tap] * x.gather(3, place)
    return total
