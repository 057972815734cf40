"""What drops on the lens do to a picture: water lights it up, mud covers it.

Bit-equal in every back end: single roundings, from the left.
"""

from __future__ import annotations

from torch import Tensor

from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.strips import in_strips

__all__ = ["add_light", "lay_over"]


@kernel
@in_strips
def add_light(x: Tensor, light: Tensor, colour: tuple[float, ...]) -> Tensor:
    """Light (N, 1, H, W) of a colour on float32 (N, C, H, W)."""
    return x + light * constant(colour, x.device).view(-1, 1, 1)


@kernel
@in_strips
def lay_over(x: Tensor, cover: Tensor, colour: tuple[float, ...]) -> Tensor:
    """A colour over the share `cover` (N, 1, H, W) of each pixel of float32 (N, C, H, W)."""
    return x * (1.0 - cover) + cover * constant(colour, x.device).view(-1, 1, 1)
