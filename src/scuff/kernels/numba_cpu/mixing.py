"""Mixtures of images in one pass over memory."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import INDEX, compiled_unfused
from scuff.kernels.threads import over_images

BLOCK = 1024  # values: their sums stay in the fastest cache until the last layer has been added


@compiled_unfused
def _mix_bytes(pixels, others, shares, out, start, stop):
    """Images `start` to `stop` of (N, C * H * W)."""
    for n in range(start, stop):
        for first in range(0, out.shape[1], BLOCK):
            sums, values, share = out[n, first : first + BLOCK], pixels[n, first : first + BLOCK], shares[0, n]
            for k in range(INDEX(sums.size)):
                sums[k] = values[k] * share
            for layer in range(others.shape[0]):
                values, share = others[layer, n, first : first + BLOCK], shares[layer + 1, n]
                for k in range(INDEX(sums.size)):
                    sums[k] += values[k] * share


@kernel
def mix_bytes(pixels: Tensor, others: Tensor, shares: Tensor) -> Tensor:
    out = torch.empty(pixels.shape, dtype=torch.float32)
    source, target = pixels.contiguous().flatten(1).numpy(), out.flatten(1).numpy()
    layers, weights = others.contiguous().flatten(2).numpy(), shares.contiguous().numpy()
    over_images(lambda start, stop: _mix_bytes(source, layers, weights, target, start, stop), len(pixels))
    return out
