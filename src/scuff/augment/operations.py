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

Each is also a function of its own, for one operation on all images: `rotate(pixels, 30, fill=128)`.

The formulas are those of Pillow's builds without fused multiply-adds (x86-64). Results do not depend on the device.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from scuff import kernels
from scuff.kernels.constants import constant
from scuff.kernels.operation_codes import CODES, OPERATIONS

RESAMPLINGS = ("bilinear", "nearest")
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


def operate_all(
    name: str, pixels: Tensor, value: float | Tensor = 0.0, *, resampling: str = "bilinear", fill: Fill = 0
) -> Tensor:
    """All images meet one operation, with one value or one for each.

    A tensor of bits is not looked at, since that would wait for the device: posterize drops fractions, and takes bits
    as 0 (all black) at least and 8 at most.
    """
    if name == "posterize" and not isinstance(value, Tensor) and (value != int(value) or not 1 <= value <= 8):
        raise ValueError(f"posterize keeps a whole number of 1..8 bits, got {value}")
    values = torch.empty(len(pixels), dtype=torch.float64, device=pixels.device)
    if isinstance(value, Tensor):
        values.copy_(value)
    else:
        values.fill_(value)  # by a kernel: to copy a number to the device, the host would wait
    which = torch.zeros(len(pixels), dtype=torch.int64, device=pixels.device)
    return operate(pixels, (name,), which, values, resampling=resampling, fill=fill)


invert, autocontrast, equalize = (partial(operate_all, name) for name in ("invert", "autocontrast", "equalize"))
solarize, posterize = partial(operate_all, "solarize"), partial(operate_all, "posterize")
brightness, contrast = partial(operate_all, "brightness"), partial(operate_all, "contrast")
color, sharpness = partial(operate_all, "color"), partial(operate_all, "sharpness")
shear_x, shear_y = partial(operate_all, "shear_x"), partial(operate_all, "shear_y")
translate_x, translate_y = partial(operate_all, "translate_x"), partial(operate_all, "translate_y")
rotate = partial(operate_all, "rotate")
