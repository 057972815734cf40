"""Small parts of fields that look like something; the fields are kernels."""

from __future__ import annotations

from torch import Tensor

from scuff import kernels


def plasma_size(height: int, width: int) -> int:
    """The power of two that covers an image: 256 for 224 pixels, 64 for 64, 32 for 32."""
    return 1 << max(height - 1, width - 1, 1).bit_length()


def per_image(value: Tensor) -> Tensor:
    """(N,) -> (N, 1, 1), to meet fields (N, H, W)."""
    return value[:, None, None]


def each(value: Tensor) -> Tensor:
    """(N,) -> (N, 1, 1, 1), to meet images (N, C, H, W)."""
    return value[:, None, None, None]


def smoothstep(t: Tensor) -> Tensor:
    """0 up to 0, 1 from 1 on, and 3 t^2 - 2 t^3 between."""
    t = t.clamp(0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def sine(x: Tensor) -> Tensor:
    """The sine, with the same bits on every device."""
    return kernels.sine_and_cosine(x)[0]
