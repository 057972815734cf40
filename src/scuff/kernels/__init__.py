"""The few hot primitives, each with up to three back ends that must agree.

===========  ================================================  =====================
back end     where it runs                                     role
===========  ================================================  =====================
`reference`  any device, plain torch                           the definition
`numba_cpu`  CPU, compiled loops without temporaries           speed on a CPU
`triton_gpu` CUDA, fused kernels                               speed on a GPU
===========  ================================================  =====================

Everything above this floor calls the functions below and never learns which back end answered. A primitive that a fast
back end does not offer falls back to the reference, so a new one can start its life there.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType

import torch
from torch import Tensor

BACKENDS = ("reference", "numba_cpu", "triton_gpu")

_forced: str | None = None


@contextlib.contextmanager
def use_backend(name: str) -> Iterator[None]:
    """Answer every call inside the block with one back end: for tests and benchmarks."""
    global _forced
    if name not in BACKENDS:
        raise ValueError(f"unknown back end {name!r}; choose one of {', '.join(BACKENDS)}")
    before, _forced = _forced, name
    try:
        yield
    finally:
        _forced = before


@lru_cache
def _load(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name}")


@lru_cache
def _triton_is_installed() -> bool:
    return importlib.util.find_spec("triton") is not None


def backend_name(device: torch.device) -> str:
    """The back end that answers for tensors on `device`."""
    if _forced is not None:
        return _forced
    if device.type == "cpu":
        return "numba_cpu"
    return "triton_gpu" if device.type == "cuda" and _triton_is_installed() else "reference"


def _resolve(primitive: str, device: torch.device):
    return getattr(_load(backend_name(device)), primitive, None) or getattr(_load("reference"), primitive)


# --- randomness: element e of image i is a function of (keys[i], stream, e) alone ---------------------------------


def derive_keys(ids: Tensor, cell: int) -> Tensor:
    """One 64-bit key per image id (int64): two Philox words at counter (id, 0, 0) under the 64-bit key `cell`."""
    return _resolve("derive_keys", ids.device)(ids, cell)


def words(keys: Tensor, stream: int, count: int) -> Tensor:
    """`count` 32-bit Philox words per key, as int64 in [0, 2**32): shape (N, count). Bit-equal in every back end."""
    return _resolve("words", keys.device)(keys, stream, count)


def uniform(keys: Tensor, stream: int, count: int) -> Tensor:
    """float32 in (0, 1], one per word: (N, count). Bit-equal in every back end."""
    return _resolve("uniform", keys.device)(keys, stream, count)


def normal(keys: Tensor, stream: int, count: int) -> Tensor:
    """Standard normal float32 by Box-Muller on pairs of words: (N, count). Equal to a few units in the last place."""
    return _resolve("normal", keys.device)(keys, stream, count)


def integers(keys: Tensor, stream: int, count: int, low: int, high: int) -> Tensor:
    """int32, uniform on low..high with both ends included: (N, count). Bit-equal in every back end."""
    return _resolve("integers", keys.device)(keys, stream, count, low, high)


# --- deterministic pixel mathematics ------------------------------------------------------------------------------


def poisson_quantile(u: Tensor, rate: Tensor) -> Tensor:
    """The smallest count (float32) whose Poisson distribution function reaches u: a Poisson draw if u is uniform.

    `u` in (0, 1] and `rate` >= 0 are float32 tables (N, count).
    """
    return _resolve("poisson_quantile", u.device)(u, rate)


def correlate(x: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, dx: Tensor, weights: Tensor) -> Tensor:
    """Sum of shifted copies of float32 (N, C, H, W).

    out[i, j] = sum over t of weights[t] * x[rows[i + dy[t]], columns[j + dx[t]]], for every image and channel.
    `rows` and `columns` (int64) are the image's indices with a border around them, so that every shift finds a pixel.
    Offsets are int32 >= 0 and, like the weights, (N, T), or (1, T) when every image shares them. Taps are summed in
    a fixed order, so the result does not depend on the batch.
    """
    return _resolve("correlate", x.device)(x, rows, columns, dy, dx, weights)


def resample(x: Tensor, rows: Tensor, row_shares: Tensor, columns: Tensor, column_shares: Tensor) -> Tensor:
    """Separable linear interpolation of float32 (N, C, H, W).

    Output row i mixes input rows `rows[i]` and the next one, with `row_shares[i]` of the latter; columns likewise.
    """
    return _resolve("resample", x.device)(x, rows, row_shares, columns, column_shares)


def sample_bilinear(x: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
    """Read float32 (N, C, H, W) at real pixel coordinates (N, H', W'); pixel centres are integers.

    `border` is "mirror" (about the centre of the last pixel), "reflect" (about its outer edge), or "zeros" (black).
    """
    return _resolve("sample_bilinear", x.device)(x, rows, columns, border)


def plasma(noise: Tensor, decay: float) -> Tensor:
    """Diamond-square clouds in [0, 1] from noise in [-1, 1], (N, S, S), S a power of two; see `scuff.ops.plasma`."""
    return _resolve("plasma", noise.device)(noise, decay)


def crop_windows(table: Tensor, which: Tensor, top: Tensor, left: Tensor, height: int, width: int) -> Tensor:
    """Window n of the result (N, C, height, width) is cut from `table[which[n]]` at row top[n], column left[n]."""
    return _resolve("crop_windows", table.device)(table, which, top, left, height, width)


def local_copies(pixels: Tensor, dy: Tensor, dx: Tensor, reach: int) -> Tensor:
    """One pass of glass blur: pixels copy a neighbour, last pixel first, each seeing the copies made before it.

    `pixels` is uint8 (N, C, H, W); `dy`, `dx` are int32 (N, H, W) offsets in [-reach, reach - 1]. Rows reach+1..H-reach
    and columns reach+1..W-reach are written, in descending raster order.
    """
    return _resolve("local_copies", pixels.device)(pixels, dy, dx, reach)


def pixelate(pixels: Tensor, rows: int, columns: int) -> Tensor:
    """Shrink uint8 (N, C, H, W) to rows x columns with Pillow's BOX filter, then blow it up again, as uint8."""
    return _resolve("pixelate", pixels.device)(pixels, rows, columns)


def link_edges(weak: Tensor, strong: Tensor) -> Tensor:
    """Keep each 8-connected component of `weak` (bool, N x H x W) that touches `strong`: Canny's hysteresis."""
    return _resolve("link_edges", weak.device)(weak, strong)


def chamfer_distance(edges: Tensor, cap: float) -> Tensor:
    """Distance (float32) to the nearest True of (N, H, W), by the 5 x 5 chamfer 1, 1.4, 2.1969; never above `cap`."""
    return _resolve("chamfer_distance", edges.device)(edges, cap)


def bytes_to_unit(pixels: Tensor) -> Tensor:
    """uint8 of any strides -> contiguous float32 v / 255."""
    return _resolve("bytes_to_unit", pixels.device)(pixels)


def unit_to_bytes(batch: Tensor, out: Tensor, nearest: bool = False) -> Tensor:
    """Clip float32 to [0, 1] and put 255 * v into `out`, a uint8 tensor of the same shape and any strides.

    Truncated, as the classic benchmarks do it, or rounded to the nearest level (halves go up).
    """
    return _resolve("unit_to_bytes", batch.device)(batch, out, nearest)
