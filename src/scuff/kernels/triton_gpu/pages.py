"""Pages of stamps, and pages laid over pictures: a lane per pixel of a stamp, then one per pixel of the picture."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES = 512


@triton.jit
def _stamp_kernel(
    rows, columns, kinds, dy, dx, page, stamps, pixels, height, width, COUNT: tl.constexpr, LANES: tl.constexpr
):  # fmt: skip
    """Lanes meet on the page in any order: neither the greatest number nor a count depends on it."""
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside, k = at < stamps * pixels, image * stamps + at // pixels
    kind = tl.load(kinds + k, mask=inside, other=-1)
    part, shows = kind * pixels + at % pixels, kind >= 0
    i = tl.load(rows + k, mask=shows, other=0) + tl.load(dy + part, mask=shows, other=0)
    j = tl.load(columns + k, mask=shows, other=0) + tl.load(dx + part, mask=shows, other=0)
    shows &= (i >= 0) & (i < height) & (j >= 0) & (j < width)
    place = page + image * height * width + i * width + j
    if COUNT:
        tl.atomic_add(place, 1, mask=shows)
    else:
        tl.atomic_max(place, at // pixels + 1, mask=shows)


@kernel
def stamp(
    rows: Tensor, columns: Tensor, kinds: Tensor, dy: Tensor, dx: Tensor, height: int, width: int, count: bool = False
) -> Tensor:
    (n, stamps), pixels = rows.shape, dy.shape[1]
    page = torch.zeros(n, height, width, dtype=torch.int32, device=rows.device)
    given = (drawn.to(torch.int32).contiguous() for drawn in (rows, columns, kinds, dy, dx))
    return launch(
        _stamp_kernel, (max(1, blocks(stamps * pixels, LANES)), n), page,
        *given, page, stamps, pixels, height, width, COUNT=count, LANES=LANES,
    )  # fmt: skip


@triton.jit
def _paint_kernel(pixels, page, colours, out, channels, size, image_step, LANES: tl.constexpr):
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    number = tl.load(page + image * size + at, mask=at < size, other=0)
    colours += image * image_step
    for c in range(channels):
        place = (image * channels + c) * size + at
        bare = tl.load(pixels + place, mask=at < size, other=0)
        painted = tl.load(colours + (number - 1) * channels + c, mask=number > 0, other=0)
        tl.store(out + place, tl.where(number > 0, painted, bare), mask=at < size)


@kernel
def paint(pixels: Tensor, page: Tensor, colours: Tensor) -> Tensor:
    pixels, (n, channels, height, width) = pixels.contiguous(), pixels.shape
    out, size = torch.empty_like(pixels), height * width
    step = colours.shape[1:].numel() if colours.shape[0] > 1 else 0
    return launch(
        _paint_kernel, (blocks(size, LANES), n), out,
        pixels, page.contiguous(), colours.contiguous(), out, channels, size, step, LANES=LANES,
    )  # fmt: skip


@triton.jit
def _pale_kernel(x, number, remains, out, channels, size, last, LANES: tl.constexpr):
    image = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * LANES + tl.arange(0, LANES)
    left = tl.load(remains + tl.minimum(tl.load(number + image * size + at, mask=at < size, other=0), last))
    for c in range(channels):
        place = (image * channels + c) * size + at
        value = tl.load(x + place, mask=at < size, other=0.0)
        tl.store(out + place, 1.0 - (1.0 - value) * left, mask=at < size)


@kernel
def pale_by_number(x: Tensor, number: Tensor, remains: Tensor) -> Tensor:
    x, (n, channels, height, width) = x.contiguous(), x.shape
    out, size = torch.empty_like(x), height * width
    return launch(
        _pale_kernel, (blocks(size, LANES), n), out,
        x, number.contiguous(), remains, out, channels, size, len(remains) - 1, LANES=LANES,
    )  # fmt: skip
