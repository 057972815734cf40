"""Frost textures: loaded once, scaled once per size, and cut into windows on the device."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

import numpy as np
import torch
from torch import Tensor

from scuff import kernels
from scuff.ops.resize import resample_bilinear

# Turquoise ripples, white needles, blue-grey grains, dark ferns. The original draws from five files of which two are
# the same picture: the needles come up twice as often.
FROST_FILES = ("frost-ripples.png", "frost-needles.png", "frost-grains.png", "frost-ferns.png")
FROST_WEIGHTS = (0.2, 0.4, 0.2, 0.2)


@lru_cache
def _texture(name: str) -> np.ndarray:
    from PIL import Image

    with (resources.files("scuff.assets") / name).open("rb") as file:
        return np.asarray(Image.open(file).convert("RGB"))


@lru_cache(maxsize=8)
def _frost(scale: float, height: int, width: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """All textures in one padded float tensor (4, 3, H, W) in [0, 1], and their true sizes (4, 2).

    A texture that would not cover the image at `scale` is enlarged until there is room for at least one window.
    """
    scaled = []
    for name in FROST_FILES:
        picture = _texture(name)
        factor = max(scale, (height + 1) / picture.shape[0], (width + 1) / picture.shape[1])
        if factor != 1.0:
            picture = np.floor(resample_bilinear(picture, factor) + 0.5)
        scaled.append(torch.from_numpy(picture.astype(np.float32) / 255.0).permute(2, 0, 1))
    sizes = torch.tensor([t.shape[1:] for t in scaled])
    table = torch.zeros(len(scaled), 3, int(sizes[:, 0].max()), int(sizes[:, 1].max()))
    for row, texture in zip(table, scaled, strict=True):
        row[:, : texture.shape[1], : texture.shape[2]] = texture
    return table.to(device), sizes.to(device)


def frost_sizes(scale: float, height: int, width: int, device: torch.device) -> Tensor:
    """(4, 2) heights and widths of the textures as they serve an image of the given size."""
    return _frost(scale, height, width, device)[1]


def frost_windows(texture: Tensor, corner: Tensor, scale: float, height: int, width: int) -> Tensor:
    """Cut a (3, height, width) window from texture `texture[n]` at row, column `corner[n]`: (N, 3, height, width)."""
    table, _ = _frost(scale, height, width, texture.device)
    return kernels.crop_windows(table, texture, corner[:, 0], corner[:, 1], height, width)
