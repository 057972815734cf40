"""Point operations on bytes: whatever maps a value to a value is a table of 256, made once and looked up."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from scuff import kernels
from scuff.kernels.constants import constant

LEVELS = tuple(float(v) for v in range(256))


def round8(levels: Tensor) -> Tensor:
    """Round to the nearest byte, and saturate."""
    return torch.floor(levels + 0.5).clamp_(0.0, 255.0).to(torch.uint8)


def trunc8(levels: Tensor) -> Tensor:
    """Saturate, and drop the fraction."""
    return levels.clamp(0.0, 255.0).to(torch.uint8)


def map_levels(pixels: Tensor, mapping: Callable[[Tensor], Tensor]) -> Tensor:
    """Send every value of uint8 (N, C, H, W) through `mapping`.

    `mapping` turns the 256 levels (float32) into bytes (N, 256) that all channels share, or (N, C, 256).
    """
    tables = mapping(constant(LEVELS, pixels.device))
    return kernels.lookup(pixels, tables if tables.ndim == 3 else tables[:, None])


def map_components(pixels: Tensor, space: str, mappings: tuple[Callable[[Tensor], Tensor] | None, ...]) -> Tensor:
    """Send RGB bytes through one mapping for each component of a colour space; None leaves a component alone.

    See `scuff.kernels.map_colours` for the spaces.
    """
    levels = constant(LEVELS, pixels.device)
    columns = [levels.to(torch.uint8) if mapping is None else mapping(levels) for mapping in mappings]
    tables = torch.stack([column.expand(len(pixels), 256) for column in columns], dim=1)
    every = torch.ones(len(pixels), dtype=torch.bool, device=pixels.device)
    return kernels.map_colours(pixels, space, tables, active=every)
