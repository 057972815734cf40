"""JPEG there and back: the real codec on the CPU, and the same arithmetic in batched tensors for the GPU.

The model repeats what libjpeg does between pixels and quantised coefficients: fixed-point colour conversion, 2 x 2
chroma, the "islow" integer DCT, the Annex K tables, and triangle upsampling. Huffman coding is lossless, so it is left
out. Each DCT pass is an integer 8 x 8 matrix followed by one rounding shift; in float64 the products are exact, so the
model gives the codec's bytes and not merely something near them.
"""

from __future__ import annotations

import io
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.threads import over_images
from scuff.ops.borders import pad

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
    if pixels.device.type == "cpu":
        return jpeg_codec(pixels, quality, swapped)
    return jpeg_model(pixels.flip(1), quality).flip(1) if swapped else jpeg_model(pixels, quality)


# --- the codec ------------------------------------------------------------------------------------------------------


def jpeg_codec(pixels: Tensor, quality: float | Tensor, swapped: bool = False) -> Tensor:
    """By Pillow, an image at a time, on as many threads as torch may use."""
    from PIL import Image
    from PIL.JpegImagePlugin import JpegImageFile

    n, _, height, width = pixels.shape
    source = pixels.permute(0, 2, 3, 1).contiguous().view(n, 3 * height * width).numpy()
    out = np.empty_like(source)
    qualities = quality.tolist() if isinstance(quality, Tensor) else [quality] * n
    settings: list[dict[str, Any]] = [{"quality": q} for q in qualities]
    if isinstance(quality, float):
        settings = [{"qtables": [scaled_table(kind, quality).ravel().tolist() for kind in ("luma", "chroma")]}] * n
    order = "BGR" if swapped else "RGB"

    def work(start: int, stop: int) -> None:
        image, file = Image.new("RGB", (width, height)), io.BytesIO()  # used again and again: that saves a twentieth
        for i in range(start, stop):
            file.seek(0)
            file.truncate()
            image.frombytes(source[i].data, "raw", order)
            image.save(file, "JPEG", **settings[i])
            file.seek(0)
            out[i] = np.frombuffer(JpegImageFile(file).tobytes("raw", order), np.uint8)

    over_images(work, n)
    return torch.from_numpy(out).view(n, height, width, 3).permute(0, 3, 1, 2)


# --- the model ------------------------------------------------------------------------------------------------------


def jpeg_model(pixels: Tensor, quality: float | Tensor) -> Tensor:
    """By tensor arithmetic, the whole batch at once, on any device."""
    h, w = pixels.shape[-2:]
    red, green, blue = pixels.to(torch.int32).unbind(1)
    y = (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16
    offset = (128 << 16) + 32767
    cb = (-11058 * red - 21710 * green + 32768 * blue + offset) >> 16
    cr = (32768 * red - 27439 * green - 5329 * blue + offset) >> 16
    luma_table, chroma_table = (_table(kind, quality, pixels.device) for kind in ("luma", "chroma"))
    y = _through_blocks(y, luma_table)
    chroma = _shrink(torch.stack((cb, cr), dim=1).flatten(0, 1))
    chroma = _through_blocks(chroma, chroma_table.repeat_interleave(2, 0) if len(chroma_table) > 1 else chroma_table)
    cb, cr = (_enlarge(chroma, h, w) - 128).unflatten(0, (len(pixels), 2)).unbind(1)
    red = y + ((91881 * cr + 32768) >> 16)
    green = y + ((-22554 * cb - 46802 * cr + 32768) >> 16)
    blue = y + ((116130 * cb + 32768) >> 16)
    return torch.stack((red, green, blue), dim=1).clamp_(0, 255).to(torch.uint8)


def _table(kind: str, quality: float | Tensor, device: torch.device) -> Tensor:
    """Quantisation tables to meet blocks (N, down, across, 8, 8): one for all images, or one for each."""
    if isinstance(quality, float):
        return torch.from_numpy(scaled_table(kind, quality)).double().to(device)[None, None, None]
    tables = _tables(kind, device)
    return tables[quality.long() if isinstance(quality, Tensor) else slice(quality, quality + 1)][:, None, None]


@lru_cache(maxsize=8)
def _tables(kind: str, device: torch.device) -> Tensor:
    """The tables of all qualities, (101, 8, 8); there is no quality 0."""
    tables = np.stack([scaled_table(kind, max(quality, 1)) for quality in range(101)])
    return torch.from_numpy(tables.astype(np.float64)).to(device)


def scaled_table(kind: str, quality: float) -> np.ndarray:
    """The quantisation table (8, 8) of a quality, whole numbers 1..255; of a float, its scale is not rounded first."""
    base = np.full((8, 8), 99)
    if kind == "luma":
        base = np.array(LUMA_TABLE)
    else:
        base[:4, :4] = CHROMA_CORNER
    scale = 200 - 2 * quality if quality >= 50 else 5000 / quality if isinstance(quality, float) else 5000 // quality
    return np.clip((base * scale + 50) // 100, 1, 255).astype(np.int64)


@lru_cache(maxsize=8)
def _dct_matrix(device: torch.device) -> Tensor:
    """One pass of the islow DCT as integers scaled by 2**13: its butterflies, run on the eight unit vectors."""
    d = np.eye(8, dtype=np.int64)
    plus, minus = d[:4] + d[:3:-1], d[:4] - d[:3:-1]
    even, odd = plus[:2] + plus[:1:-1], plus[:2] - plus[:1:-1]
    out = np.zeros((8, 8), np.int64)
    out[0], out[4] = (even[0] + even[1]) * 8192, (even[0] - even[1]) * 8192
    shared = (odd[1] + odd[0]) * 4433
    out[2], out[6] = shared + odd[0] * 6270, shared - odd[1] * 15137
    t7, t6, t5, t4 = minus
    z1, z2, z3, z4 = t4 + t7, t5 + t6, t4 + t6, t5 + t7
    z5 = (z3 + z4) * 9633
    z1, z2, z3, z4 = -7373 * z1, -20995 * z2, z5 - 16069 * z3, z5 - 3196 * z4
    out[7], out[5] = 2446 * t4 + z1 + z3, 16819 * t5 + z2 + z4
    out[3], out[1] = 25172 * t6 + z2 + z3, 12299 * t7 + z1 + z4
    return torch.from_numpy(out.astype(np.float64)).to(device)


def _pass(lines: Tensor, matrix: Tensor, shift: int) -> Tensor:
    """Transform the last axis, round to the given number of bits, and swap the last two axes for the other pass."""
    product = lines @ matrix
    return product.mul_(2.0**-shift).add_(0.5).floor_().mT.contiguous()


def _through_blocks(plane: Tensor, table: Tensor) -> Tensor:
    """Quantise the DCT of each 8 x 8 block of int32 (N, H, W); sides are padded by repetition and cut back after."""
    n, h, w = plane.shape
    plane = pad(plane[:, None], (0, -h % 8), (0, -w % 8), "edge")[:, 0]
    down, across = plane.shape[1] // 8, plane.shape[2] // 8
    blocks = plane.view(n, down, 8, across, 8).transpose(2, 3).sub(128).double()
    matrix = _dct_matrix(plane.device)
    # forward: rows, then columns (each pass leaves the block transposed); the result is eight times the DCT
    coefficients = _pass(_pass(blocks, matrix.mT, 11), matrix.mT, 15)
    steps = coefficients.abs().div_(8.0).add_(0.5 * table).div_(table).floor_()
    coefficients = steps.copysign_(coefficients).mul_(table)
    # back: columns, then rows
    samples = _pass(_pass(coefficients.mT, matrix, 11), matrix, 18)
    samples = samples.mT.add(128.0).clamp_(0.0, 255.0).to(torch.int32)
    return samples.transpose(2, 3).reshape(n, down * 8, across * 8)[:, :h, :w]


def _shrink(chroma: Tensor) -> Tensor:
    """2 x 2 means with the encoder's alternating bias. Columns are repeated before, rows (beyond one) after it."""
    n, h, w = chroma.shape
    full = pad(chroma[:, None], (0, h % 2), (0, -w % 16), "edge")[:, 0]
    total = full.view(n, (h + 1) // 2, 2, full.shape[2] // 2, 2).sum((2, 4), dtype=torch.int32)
    bias = 1 + torch.arange(total.shape[2], device=chroma.device, dtype=torch.int32) % 2
    return (total + bias) >> 2


def _enlarge(chroma: Tensor, height: int, width: int) -> Tensor:
    """Triangle filter: 3/4 of the nearer sample and 1/4 of the farther one, in both directions."""
    chroma = chroma[:, : (height + 1) // 2, : (width + 1) // 2]
    if chroma.shape[2] <= 2:  # too narrow for the decoder's filter: it repeats samples
        wide = chroma.repeat_interleave(2, 1).repeat_interleave(2, 2)
        return wide[:, :height, :width]
    tall = pad(chroma[:, None], (1, 1), (0, 0), "edge")[:, 0]
    near = 3 * chroma
    rows = torch.stack((near + tall[:, :-2], near + tall[:, 2:]), dim=2).flatten(1, 2)
    wide = pad(rows[:, None], (0, 0), (1, 1), "edge")[:, 0]
    near = 3 * rows
    left, right = (near + wide[..., :-2] + 8) >> 4, (near + wide[..., 2:] + 7) >> 4
    return torch.stack((left, right), dim=3).flatten(2)[:, :height, :width]
