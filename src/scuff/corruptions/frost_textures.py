"""Textures of frost: read from files, enlarged for images that are larger than they, and cut into windows."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

import numpy as np
import torch
from torch import Tensor

from scuff import kernels
from scuff.kernels.constants import remembered
from scuff.ops.resize import resample_bilinear

# Turquoise ripples, white needles, blue-grey grains, dark ferns. The original draws from five files of which two are
# the same picture: the needles come up twice as often.
FILES = ("frost-ripples.png", "frost-needles.png", "frost-grains.png", "frost-ferns.png")
WEIGHTS = (0.2, 0.4, 0.2, 0.2)

MOST = 1 << 24  # values of all textures together up to which they are kept enlarged, and windows are copies
STRIP = 64  # rows that are enlarged at once, in float64


@lru_cache
def _texture(name: str) -> np.ndarray:
    from PIL import Image

    with (resources.files("scuff.assets") / name).open("rb") as file:
        return np.asarray(Image.open(file).convert("RGB"))


@lru_cache(maxsize=64)
def sizes(scale: float, height: int, width: int) -> tuple[tuple[int, int], ...]:
    """Height and width of each texture at `scale`, or as large as it takes to have room for one window at least."""
    factors = [_factor(name, scale, height, width) for name in FILES]
    return tuple(
        (round(_texture(name).shape[0] * factor), round(_texture(name).shape[1] * factor))
        for name, factor in zip(FILES, factors, strict=True)
    )


def _factor(name: str, scale: float, height: int, width: int) -> float:
    rows, columns, _ = _texture(name).shape
    return max(scale, (height + 1) / rows, (width + 1) / columns)


def laid_over(x: Tensor, keep: float, texture: Tensor, corner: Tensor, scale: float, share: float) -> Tensor:
    """`keep` times images and `share` times, for each, a window of the given texture at the given corner (row, column).

    Large textures are never made as a whole: only the windows are.
    """
    height, width = x.shape[-2:]
    rows, columns = (max(side) for side in zip(*sizes(scale, height, width), strict=True))
    if len(FILES) * 3 * rows * columns <= MOST:
        return kernels.blend_windows(x, keep, _table(scale, height, width, x.device), texture, corner, share)
    return _windows(texture, corner, scale, height, width).mul_(share).add_(keep * x)


def _windows(texture: Tensor, corner: Tensor, scale: float, height: int, width: int) -> Tensor:
    """A window (3, height, width) for each image, in [0, 1]."""
    out = torch.empty(len(texture), 3, height, width)
    for row, number, (top, left) in zip(out, texture.tolist(), corner.tolist(), strict=True):
        factor = _factor(FILES[number], scale, height, width)
        for first in range(0, height, STRIP):
            last = min(first + STRIP, height)
            part = _enlarged(FILES[number], factor, slice(top + first, top + last), slice(left, left + width))
            row[:, first:last] = torch.from_numpy(part).permute(2, 0, 1)
    return out.to(texture.device)


@remembered(8)
def _table(scale: float, height: int, width: int, device: torch.device) -> Tensor:
    """All textures in one padded float tensor (4, 3, H, W)."""
    every = sizes(scale, height, width)
    table = torch.zeros(len(FILES), 3, *(max(side) for side in zip(*every, strict=True)))
    for row, name, (rows, columns) in zip(table, FILES, every, strict=True):
        part = _enlarged(name, _factor(name, scale, height, width), slice(rows), slice(columns))
        row[:, :rows, :columns] = torch.from_numpy(part).permute(2, 0, 1)
    return table.to(device)


def _enlarged(name: str, factor: float, rows: slice, columns: slice) -> np.ndarray:
    """Some rows and columns of a texture that is `factor` times as large, in whole 255ths."""
    picture = _texture(name)
    if factor == 1.0:
        part = picture[rows, columns]
    else:
        part = np.floor(resample_bilinear(picture, factor, rows, columns) + 0.5)
    return part.astype(np.float32) / 255.0
