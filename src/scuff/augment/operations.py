"""Image operations that augmentations share: equal to Pillow's, byte for byte, but for whole batches.

Every image of a batch has an operation and a value of its own, and one call serves them all:

>>> pixels = torch.arange(16, dtype=torch.uint8).view(1, 1, 4, 4).repeat(3, 1, 1, 1)
>>> values = torch.tensor([90.0, 1.0, 0.0], dtype=torch.float64)
>>> out = operate(pixels, ("rotate", "translate_x", "invert"), torch.tensor([0, 1, 2]), values)
>>> out[:, 0, 0].tolist()
[[3, 7, 11, 15], [1, 2, 3, 0], [255, 254, 253, 252]]

=================  ===================================  ==============================================================
operation          value                                what it does
=================  ===================================  ==============================================================
identity           -                                    nothing
invert             -                                    255 - v
solarize           threshold                            inverts levels that are not below it; 256 inverts none
posterize          bits to keep, 1..8                   clears the lower bits
brightness         factor: 0 black, 1 as it is          blends with black
contrast           factor: 0 grey, 1 as it is           blends with the mean grey of the image
color              factor: 0 grey, 1 as it is           blends with the grey image
sharpness          factor: 0 smooth, 1 as it is         blends with the image smoothed over 3 x 3 pixels
autocontrast       -                                    stretches the levels of each channel to 0..255
equalize           -                                    flattens the histogram of each channel
shear_x, shear_y   pixels to the left per row down;     slants about the corner at the top left
                   pixels up per column to the right
translate_x, _y    pixels to the left; pixels up        moves, also by parts of a pixel
rotate             degrees counter-clockwise            turns about the centre
=================  ===================================  ==============================================================

The formulas are those of Pillow's builds without fused multiply-adds (x86-64). Results do not depend on the device.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import torch
from torch import Tensor

from scuff import kernels
from scuff.kernels.constants import constant
from scuff.kernels.operation_codes import CODES, OPERATIONS

RESAMPLINGS = ("bilinear", "nearest")
Number = float | Tensor
Fill = float | Sequence[float]


def operate(
    pixels: Tensor,
    operations: Sequence[str],
    which: Tensor,
    values: Tensor,
    *,
    resampling: str = "bilinear",
    fill: Fill = 0,
) -> Tensor:
    """Image n meets `operations[which[n]]` with `values[n]`; the result is new.

    `pixels` is uint8 (N, C, H, W) with one or three channels, `which` integer (N,), `values` (N,), in float64 if they
    are to mean what they mean to Pillow. `operations` is known beforehand: what none of them needs is not done. What is
    moved is read by `resampling`, "bilinear" or "nearest"; what comes from outside has the level `fill`, one for all
    channels or one for each.
    """
    _check(pixels, operations, which, values, resampling)
    codes = constant(tuple(CODES[name] for name in operations), pixels.device, torch.int32)
    names = tuple(name for name in OPERATIONS if name in operations)
    levels = constant(_levels(fill, pixels.shape[1]), pixels.device, torch.uint8)
    chosen = codes[which.long()]
    return kernels.operate(pixels, names, chosen, values.to(torch.float64), resampling == "nearest", levels)


def _check(pixels: Tensor, operations: Sequence[str], which: Tensor, values: Tensor, resampling: str) -> None:
    if pixels.dtype != torch.uint8 or pixels.ndim != 4 or pixels.shape[1] not in (1, 3):
        raise ValueError(
            f"operations take uint8 images (N, C, H, W) with 1 or 3 channels, got {pixels.dtype} "
            f"{tuple(pixels.shape)}; convert floats in [0, 1] by (255 * x).round().to(torch.uint8)"
        )
    for name in operations:
        if name not in CODES:
            near = difflib.get_close_matches(name, OPERATIONS, n=3, cutoff=0.5) or OPERATIONS
            raise ValueError(f"unknown operation {name!r}; choose among {', '.join(near)}")
    if len(operations) == 0:
        raise ValueError("no operations given; name at least one, identity if nothing is to happen")
    for word, tensor in (("which", which), ("values", values)):
        if tensor.shape != pixels.shape[:1]:
            raise ValueError(f"{word} needs one number for each of {len(pixels)} images, got {tuple(tensor.shape)}")
    if resampling not in RESAMPLINGS:
        raise ValueError(f"unknown resampling {resampling!r}; choose one of {', '.join(RESAMPLINGS)}")


def _levels(fill: Fill, channels: int) -> tuple[int, ...]:
    levels = (fill,) * channels if isinstance(fill, (int, float)) else tuple(fill)
    if len(levels) != channels or any(level != int(level) or not 0 <= level <= 255 for level in levels):
        raise ValueError(f"fill is a whole level 0..255, or one for each of {channels} channels, got {fill!r}")
    return tuple(int(level) for level in levels)


# --- one operation for all images -----------------------------------------------------------------------------------


def _all(pixels: Tensor, name: str, value: Number = 0.0, resampling: str = "bilinear", fill: Fill = 0) -> Tensor:
    count, device = len(pixels), pixels.device
    if isinstance(value, Tensor):
        values = value.to(device, torch.float64).expand(count)
    else:
        values = torch.full((count,), float(value), dtype=torch.float64, device=device)
    which = torch.zeros(count, dtype=torch.int64, device=device)
    return operate(pixels, (name,), which, values, resampling=resampling, fill=fill)


def invert(pixels: Tensor) -> Tensor:
    """255 - v."""
    return _all(pixels, "invert")


def solarize(pixels: Tensor, threshold: Number) -> Tensor:
    """Invert levels that are not below the threshold: 0 inverts all, 256 none."""
    return _all(pixels, "solarize", threshold)


def posterize(pixels: Tensor, bits: Number) -> Tensor:
    """Keep the upper 1..8 bits of every level.

    A tensor of bits is not looked at, since that would wait for the device: a fraction is dropped, and bits are taken
    as 0 (all black) at least and 8 at most.
    """
    if not isinstance(bits, Tensor) and (bits != int(bits) or not 1 <= bits <= 8):
        raise ValueError(f"posterize keeps a whole number of 1..8 bits, got {bits}")
    return _all(pixels, "posterize", bits)


def brightness(pixels: Tensor, factor: Number) -> Tensor:
    """Blend with black: factor 0 is black, 1 the image, above 1 brighter."""
    return _all(pixels, "brightness", factor)


def contrast(pixels: Tensor, factor: Number) -> Tensor:
    """Blend with the image's mean grey: factor 0 is grey, 1 the image, above 1 more contrast."""
    return _all(pixels, "contrast", factor)


def color(pixels: Tensor, factor: Number) -> Tensor:
    """Blend with the grey image: factor 0 is grey, 1 the image, above 1 more colourful."""
    return _all(pixels, "color", factor)


def sharpness(pixels: Tensor, factor: Number) -> Tensor:
    """Blend with the smoothed image: factor 0 is smooth, 1 the image, above 1 sharper."""
    return _all(pixels, "sharpness", factor)


def autocontrast(pixels: Tensor) -> Tensor:
    """Stretch the levels of each channel to 0..255."""
    return _all(pixels, "autocontrast")


def equalize(pixels: Tensor) -> Tensor:
    """Flatten the histogram of each channel."""
    return _all(pixels, "equalize")


def shear_x(pixels: Tensor, slant: Number, *, resampling: str = "bilinear", fill: Fill = 0) -> Tensor:
    """Move each row to the left, by `slant` pixels more than the row above it."""
    return _all(pixels, "shear_x", slant, resampling, fill)


def shear_y(pixels: Tensor, slant: Number, *, resampling: str = "bilinear", fill: Fill = 0) -> Tensor:
    """Move each column up, by `slant` pixels more than the column on its left."""
    return _all(pixels, "shear_y", slant, resampling, fill)


def translate_x(pixels: Tensor, distance: Number, *, resampling: str = "bilinear", fill: Fill = 0) -> Tensor:
    """Move to the left, by `distance` pixels."""
    return _all(pixels, "translate_x", distance, resampling, fill)


def translate_y(pixels: Tensor, distance: Number, *, resampling: str = "bilinear", fill: Fill = 0) -> Tensor:
    """Move up, by `distance` pixels."""
    return _all(pixels, "translate_y", distance, resampling, fill)


def rotate(pixels: Tensor, degrees: Number, *, resampling: str = "bilinear", fill: Fill = 0) -> Tensor:
    """Turn counter-clockwise about the centre; the size stays."""
    return _all(pixels, "rotate", degrees, resampling, fill)
