"""The mean of many zooms: one pass over the rows of a result, with several planes side by side.

All pictures are zoomed alike. So a few planes share each look into the plan, and become a vector, which a loop over
columns that jump about could not make of neighbours.
"""

from __future__ import annotations

import numpy as np
import torch
from numba import types
from numba.extending import intrinsic
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled
from scuff.kernels.numba_cpu.lanes import LANES, in_all_lanes, vector_at
from scuff.kernels.numba_cpu.sharing import share


@intrinsic
def _add_between(typing_context, total, at, line, first, share):
    """Add to a sum what lies between a pixel of a line, at `first`, and the next one."""

    def generate(context, builder, signature, arguments):
        total, at, line, first, share = arguments
        left = builder.load(vector_at(context, builder, signature.args[2], line, first), align=4)
        after = builder.add(first, first.type(LANES))
        right = builder.load(vector_at(context, builder, signature.args[2], line, after), align=4)
        part = builder.fmul(in_all_lanes(builder, share), builder.fsub(right, left))
        target = vector_at(context, builder, signature.args[0], total, at)
        builder.store(builder.fadd(builder.load(target, align=4), builder.fadd(part, left)), target, align=4)
        return context.get_dummy_value()

    return types.void(total, types.uintp, line, types.uintp, types.float32), generate


@compiled
def _mean_zoom(planes, rows, row_shares, columns, column_shares, last, pixels, line, total, out):
    """Of a few planes (P, H, W), P <= LANES. `pixels`, `line` and `total` are scratch, with planes side by side.

    Rows up to `last[i]` are there when row i is made: row r in place r of `pixels`, which is used in turns.
    """
    count, height, width = planes.shape
    wide, room, there = INDEX(LANES * width), len(pixels), 0
    for i in range(height):
        while there <= last[i]:
            target = pixels[there % room]
            for n in range(count):
                source = planes[n, there]
                for j in range(width):
                    target[LANES * j + n] = source[j]
            there += 1
        own = pixels[i % room]
        for k in range(wide):
            total[k] = own[k] + own[k]
        for z in range(len(rows)):
            above, below = pixels[rows[z, i] % room], pixels[min(rows[z, i] + 1, height - 1) % room]
            share = row_shares[z, i]
            for k in range(wide):
                line[k] = above[k] + share * (below[k] - above[k])
            for k in range(INDEX(LANES)):
                line[wide + k] = line[wide - INDEX(LANES) + k]
            for j in range(INDEX(width)):
                _add_between(total, INDEX(LANES) * j, line, INDEX(LANES) * INDEX(columns[z, j]), column_shares[z, j])
        for n in range(count):
            target = out[n, i]
            for j in range(width):
                target[j] = total[LANES * j + n] / F32(len(rows) + 2)


@compiled
def _mean_zooms(start, stop, planes, rows, row_shares, columns, column_shares, last, out, pixels, line, total):
    """Of planes `start` to `stop`, a few at a time."""
    for k in range(start, stop, LANES):
        some, made = planes[k : min(k + LANES, stop)], out[k : min(k + LANES, stop)]
        _mean_zoom(some, rows, row_shares, columns, column_shares, last, pixels, line, total, made)


def _rows_in_use(rows: np.ndarray) -> tuple[np.ndarray, int]:
    """The last row that must be there when each row is made, and how many are in use at once, at most.

    A zoom reads a row's neighbourhood, so that these are few: what lies side by side is as wide as many planes.
    """
    height = rows.shape[1]
    read = np.concatenate((rows, np.minimum(rows + 1, height - 1), np.arange(height)[None]))
    last = np.maximum.accumulate(read.max(0))
    first = np.minimum.accumulate(read.min(0)[::-1])[::-1]
    return last, int((last - first).max()) + 1


@kernel
def mean_zoom(x: Tensor, rows: Tensor, row_shares: Tensor, columns: Tensor, column_shares: Tensor) -> Tensor:
    width = x.shape[-1]
    plans = [t.contiguous().numpy() for t in (rows, row_shares, columns, column_shares)]
    last, room = _rows_in_use(plans[0])
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    planes, target = (t.flatten(0, 1).contiguous().numpy() for t in (x, out))

    def scratch() -> tuple[np.ndarray, ...]:
        pixels = np.zeros((room, LANES * width), F32)
        return pixels, np.empty(LANES * (width + 1), F32), np.empty(LANES * width, F32)

    share(_mean_zooms, len(planes), planes, *plans, last, target, least=LANES, scratch=scratch)
    return out
