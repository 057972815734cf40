"""JPEG there and back by Pillow's codec, which ours must equal byte for byte."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from scuff.ops.jpeg import scaled_table


def pillow_jpeg(pixels: Tensor, quality: float | Tensor, swapped: bool = False) -> Tensor:
    """What `scuff.ops.jpeg.jpeg` promises, an image at a time."""
    qualities = quality.tolist() if isinstance(quality, Tensor) else [quality] * len(pixels)
    images = (pixels.flip(1) if swapped else pixels).permute(0, 2, 3, 1).contiguous().numpy()
    made = [_through_codec(image, q) for image, q in zip(images, qualities, strict=True)]
    out = torch.from_numpy(np.stack(made)).permute(0, 3, 1, 2)
    return out.flip(1) if swapped else out


def _through_codec(image: np.ndarray, quality: float) -> np.ndarray:
    settings: dict[str, Any] = {"quality": quality}
    if isinstance(quality, float):
        settings = {"qtables": [scaled_table(kind, quality).ravel().tolist() for kind in ("luma", "chroma")]}
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", **settings)
    return np.array(Image.open(file))
