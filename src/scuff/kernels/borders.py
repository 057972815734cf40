"""What lies beyond the edge of an image. Corruptions differ in this, and the difference shows.

==========  ====================  ====================================
name        pattern for abcd      also known as
==========  ====================  ====================================
`edge`      aaa [abcd] ddd        replicate, nearest
`reflect`   cba [abcd] dcb        half-sample symmetric, scipy reflect
`mirror`    dcb [abcd] cba        whole-sample, OpenCV reflect101
==========  ====================  ====================================

Any width works, also wider than the image: reflections repeat.
"""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.constants import remembered


def fold(index: Tensor, length: int, border: str) -> Tensor:
    """Map any whole coordinate to the pixel in 0..length-1 that stands there."""
    if border == "edge":
        return index.clamp(0, length - 1)
    if border == "mirror":
        if length == 1:
            return torch.zeros_like(index)
        period = 2 * (length - 1)
        index = index.remainder(period)
        return torch.where(index > length - 1, period - index, index)
    if border == "reflect":
        period = 2 * length
        index = index.remainder(period)
        return torch.where(index > length - 1, period - 1 - index, index)
    raise ValueError(f"unknown border {border!r}; choose edge, reflect or mirror")


@remembered(256)
def padded_index(length: int, before: int, after: int, border: str, device: torch.device) -> Tensor:
    """Indices that turn an axis into its padded version."""
    return fold(torch.arange(-before, length + after), length, border).to(device)


def pad(x: Tensor, rows: tuple[int, int], columns: tuple[int, int], border: str) -> Tensor:
    """Extend (N, C, H, W) by (before, after) rows and columns."""
    for axis, (before, after) in ((2, rows), (3, columns)):
        if before or after:
            length = x.shape[axis]
            index = padded_index(length, before, after, border, x.device)
            # the image itself is copied as a whole: a gather would look up every pixel
            sides = (x.index_select(axis, part) for part in (index[:before], index[before + length :]))
            x = torch.cat((next(sides), x, next(sides)), axis)
    return x
