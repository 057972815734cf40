"""Hysteresis without the host: one program floods one image until nothing changes."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel


@triton.jit
def _flood_kernel(weak, kept, height, width, LANES: tl.constexpr):
    """`kept` is padded by one pixel; rounds repeat until a whole sweep adds no pixel."""
    size = height * width
    wide = width + 2
    weak += tl.program_id(0).to(tl.int64) * size
    kept += tl.program_id(0).to(tl.int64) * (height + 2) * wide
    added = 1
    while added > 0:
        fresh = tl.zeros((LANES,), tl.int32)
        for start in range(0, size, LANES):
            p = start + tl.arange(0, LANES)
            inside = p < size
            at = (p // width + 1) * wide + p % width + 1
            mine = tl.load(kept + at, mask=inside, other=1)
            open_ = inside & (mine == 0) & (tl.load(weak + p, mask=inside, other=0) != 0)
            near = tl.load(kept + at - wide - 1, mask=open_, other=0) | tl.load(kept + at - wide, mask=open_, other=0)
            near |= tl.load(kept + at - wide + 1, mask=open_, other=0) | tl.load(kept + at - 1, mask=open_, other=0)
            near |= tl.load(kept + at + 1, mask=open_, other=0) | tl.load(kept + at + wide - 1, mask=open_, other=0)
            near |= tl.load(kept + at + wide, mask=open_, other=0) | tl.load(kept + at + wide + 1, mask=open_, other=0)
            grow = open_ & (near != 0)
            tl.store(kept + at, grow.to(tl.uint8), mask=grow)
            fresh += grow.to(tl.int32)
            tl.debug_barrier()  # the next tile and the next round must see what was stored here
        added = tl.sum(fresh, axis=0)


@kernel
def link_edges(weak: Tensor, strong: Tensor) -> Tensor:
    n, height, width = weak.shape
    kept = torch.nn.functional.pad((weak & strong).to(torch.uint8), (1, 1, 1, 1)).contiguous()
    if weak.numel():
        with torch.cuda.device_of(weak):
            _flood_kernel[(n,)](weak.to(torch.uint8).contiguous(), kept, height, width, LANES=2048)
    return kept[:, 1:-1, 1:-1] != 0
