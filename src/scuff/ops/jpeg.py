"""JPEG there and back, by the arithmetic of the codec.

`kernels.through_jpeg` repeats what libjpeg does between pixels and quantised coefficients; here are the Annex K tables.
Together they give the codec's bytes, faster than it: nothing is written down in between.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff import kernels
from scuff.kernels.constants import remembered

LUMA_TABLE = (
    (16, 11, 10, 16, 24, 40, 51, 61),
    (12, 12, 14, 19, 26, 58, 60, 55),
    (14, 13, 16, 24, 40, 57, 69, 56),
    (14, 17, 22, 29, 51, 87, 80, 62),
    (18, 22, 37, 56, 68, 109, 103, 77),
    (24, 35, 55, 64, 81, 104, 113, 92),
    (49, 64, 78, 87, 103, 121, 120, 101),
    (72, 92, 95, 98, 112, 100, 103, 99),
)
CHROMA_CORNER = ((17, 18, 24, 47), (18, 21, 26, 66), (24, 26, 56, 99), (47, 66, 99, 99))


def jpeg(pixels: Tensor, quality: float | Tensor, swapped: bool = False) -> Tensor:
    """Compress uint8 RGB (N, 3, H, W) at `quality` 1..100 (baseline, 4:2:0) and decompress it again.

    One quality for all images, or int32 (N,), one for each. A float may lie between whole ones: the scale of the
    quantisation tables is then not rounded. `swapped` hands red to the codec as blue, and blue as red.
    """
    luma, chroma = (_table(kind, quality, pixels.device) for kind in ("luma", "chroma"))
    return kernels.through_jpeg(pixels, luma, chroma, swapped)


def _table(kind: str, quality: float | Tensor, device: torch.device) -> Tensor:
    """Quantisation tables, int32 (1, 8, 8) for all images, or (N, 8, 8), one for each."""
    if isinstance(quality, float):
        return torch.from_numpy(scaled_table(kind, quality).astype(np.int32)[None]).to(device)
    tables = _tables(kind, device)
    return tables[quality.long() if isinstance(quality, Tensor) else slice(quality, quality + 1)]


@remembered(8)
def _tables(kind: str, device: torch.device) -> Tensor:
    """The tables of all qualities, (101, 8, 8); there is no quality 0."""
    tables = np.stack([scaled_table(kind, max(quality, 1)) for quality in range(101)])
    return torch.from_numpy(tables.astype(np.int32)).to(device)


def scaled_table(kind: str, quality: float) -> np.ndarray:
    """The quantisation table (8, 8) of a quality, whole numbers 1..255; of a float, its scale is not rounded first."""
    base = np.full((8, 8), 99)
    if kind == "luma":
        base = np.array(LUMA_TABLE)
    else:
        base[:4, :4] = CHROMA_CORNER
    scale = 200 - 2 * quality if quality >= 50 else 5000 / quality if isinstance(quality, float) else 5000 // quality
    return np.clip((base * scale + 50) // 100, 1, 255).astype(np.int64)
