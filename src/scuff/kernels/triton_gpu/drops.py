"""Water and mud on the lens: a pass that reads each picture once, and nothing in between but registers."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from scuff.kernels.constants import constant
from scuff.kernels.dispatch import kernel
from scuff.kernels.triton_gpu.launching import blocks, launch

LANES = 1024


@triton.jit
def _drops_kernel(x, layer, colours, out, channels, size, COVERS: tl.constexpr, LANES: tl.constexpr):
    plane, at = tl.program_id(0).to(tl.int64), tl.program_id(1) * LANES + tl.arange(0, LANES)
    value = tl.load(x + plane * size + at, mask=at < size, other=0.0)
    share = tl.load(layer + plane // channels * size + at, mask=at < size, other=0.0)
    colour = tl.load(colours + plane % channels)
    if COVERS:
        value *= 1.0 - share
    tl.store(out + plane * size + at, value + share * colour, mask=at < size)


@kernel
def add_light(x: Tensor, light: Tensor, colour: tuple[float, ...]) -> Tensor:
    return _with_drops(x, light, colour, covers=False)


@kernel
def lay_over(x: Tensor, cover: Tensor, colour: tuple[float, ...]) -> Tensor:
    return _with_drops(x, cover, colour, covers=True)


def _with_drops(x: Tensor, layer: Tensor, colour: tuple[float, ...], covers: bool) -> Tensor:
    x, (n, channels, height, width) = x.contiguous(), x.shape
    out, size = torch.empty_like(x), height * width
    return launch(
        _drops_kernel, (n * channels, blocks(size, LANES)), out,
        x, layer.contiguous(), constant(colour, x.device), out, channels, size, COVERS=covers, LANES=LANES,
    )  # fmt: skip
