"""Tiles of planes: programs that know rows and columns of their pixels without a division for each."""

from __future__ import annotations

import triton
import triton.language as tl

from scuff.kernels.triton_gpu.launching import blocks

ROWS, COLUMNS = 8, 128


def tiles(planes: int, height: int, width: int) -> tuple[int, int]:
    """The grid of programs for so many planes."""
    return planes * blocks(height, ROWS), blocks(width, COLUMNS)


@triton.jit
def tile(height, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The plane of this program, rows of its tile (ROWS, 1), and columns (1, COLUMNS)."""
    number = tl.cdiv(height, ROWS)
    plane, above = tl.program_id(0) // number, tl.program_id(0) % number * ROWS
    i = above + tl.arange(0, ROWS)[:, None]
    return plane.to(tl.int64), i, tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
