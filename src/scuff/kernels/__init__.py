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
from collections.abc import Iterator, Sequence
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


def correlate_bytes(pixels: Tensor, rows: Tensor, columns: Tensor, dy: Tensor, dx: Tensor, weights: Tensor) -> Tensor:
    """`correlate` from bytes to bytes: uint8 (N, C, H, W), sums rounded (halves go up) and saturated."""
    return _resolve("correlate_bytes", pixels.device)(pixels, rows, columns, dy, dx, weights)


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


def sum_spline_reads(padded: Tensor, rows: Tensor, columns: Tensor, weights: Tensor) -> Tensor:
    """Weighted sum over s of cubic B-spline reads at real coordinates rows[s], columns[s], shared by all images.

    `rows` and `columns` are (S, H', W'), `weights` is (S,). `padded` is float32 (N, C, H + 3, W + 3): what the spline
    mixes, with one more pixel before the image and two after it, so that every read finds its 4 x 4 pixels. A read
    outside [0, H - 1] x [0, W - 1] is black. Reads are summed in a fixed order.
    """
    return _resolve("sum_spline_reads", padded.device)(padded, rows, columns, weights)


def refract_drops(x: Tensor, centres: Tensor, radius: float, index: float) -> Tensor:
    """Lay balls of glass on float32 (N, C, H, W), one after the other: each bends what the earlier ones have bent.

    `centres` (N, D, 2) are rows and columns in [0, H] x [0, W]. A pixel within `radius` of a centre is read, bilinearly
    and black outside, from nearer to that centre: a ray through glass of refractive `index` >= 1 shifts along each axis
    for itself; see `scuff.kernels.reference.drops`.
    """
    return _resolve("refract_drops", x.device)(x, centres, radius, index)


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


def draw_lines(pixels: Tensor, ends: Tensor, level: float) -> Tensor:
    """Draw lines of grey `level` over uint8 (N, C, H, W), one after the other, each truncated to bytes.

    `ends` (N, L, 4) are whole numbers in float32: first row and column, last row and column. A line covers a pixel in
    its bounding box by one less their distance, if that is above 0. Equal in every back end while products of
    coordinates stay below 2**24.
    """
    return _resolve("draw_lines", pixels.device)(pixels, ends, level)


def dither_rows(pixels: Tensor, levels: int) -> Tensor:
    """Quantise uint8 (N, C, H, W) to `levels` >= 2 levels, passing the error on to the right. Equal in every back end.

    The next pixel gets 7/16 of the error, but not in the first row, then 1/16, but not in the last row; it is rounded
    down and clipped to a byte after each.
    """
    return _resolve("dither_rows", pixels.device)(pixels, levels)


def link_edges(weak: Tensor, strong: Tensor) -> Tensor:
    """Keep each 8-connected component of `weak` (bool, N x H x W) that touches `strong`: Canny's hysteresis."""
    return _resolve("link_edges", weak.device)(weak, strong)


def chamfer_distance(edges: Tensor, cap: float) -> Tensor:
    """Distance (float32) to the nearest True of (N, H, W), by the 5 x 5 chamfer 1, 1.4, 2.1969; never above `cap`."""
    return _resolve("chamfer_distance", edges.device)(edges, cap)


def lookup(pixels: Tensor, tables: Tensor) -> Tensor:
    """Replace uint8 (N, C, H, W) by `tables[n, c, value]`; tables are uint8 (N, C, 256), or (N, 1, 256) if shared."""
    return _resolve("lookup", pixels.device)(pixels, tables)


def map_colours(pixels: Tensor, space: str, tables: Tensor, active: Tensor) -> Tensor:
    """Take uint8 RGB to a colour space of bytes, map each component by its table, and come back.

    `space` is "hsv" or "hls" (OpenCV's: hue in half degrees, components rounded; in this order) or "pillow_hsv" (hue
    0..255, truncated). `tables` is uint8 (N, 3, 256). Images that are not `active` (bool, (N,)) stay as they are.
    """
    return _resolve("map_colours", pixels.device)(pixels, space, tables, active)


def mix_grey(pixels: Tensor, share: Tensor) -> Tensor:
    """v + share * (grey - v), rounded, for uint8 RGB and `share` (N,); grey is Pillow's rounded luma."""
    return _resolve("mix_grey", pixels.device)(pixels, share)


def mix_channels(pixels: Tensor, mixture: Tensor) -> Tensor:
    """Each channel of uint8 RGB as a mixture of all three: int32 (3, 3), in 1024ths, rounded."""
    return _resolve("mix_channels", pixels.device)(pixels, mixture)


def mean_grey(pixels: Tensor, active: Tensor) -> Tensor:
    """The mean of Pillow's rounded luma over each image of uint8 RGB, float32 (N,); 0 for those not `active` (N,)."""
    return _resolve("mean_grey", pixels.device)(pixels, active)


def box_mean(pixels: Tensor, size: Tensor, largest: int) -> Tensor:
    """Mean over size x size values of uint8 (N, C, H, W), rounded half up; mirrored at the border.

    `size` is int32 (N,), at most `largest`; an even one reaches one pixel farther up and left.
    """
    return _resolve("box_mean", pixels.device)(pixels, size, largest)


def remap(pixels: Tensor, rows: Tensor, columns: Tensor, border: str) -> Tensor:
    """Read uint8 (N, C, H, W) at real coordinates (N, H', W') by OpenCV's rule, exactly.

    Coordinates are folded into the picture, rounded to 1/32 pixel, and the four neighbours mixed in whole numbers.
    `border` is "zeros", "edge", "mirror" or "reflect" (`scuff.ops.borders`). At whole coordinates pixels are copied.
    """
    return _resolve("remap", pixels.device)(pixels, rows, columns, border)


def project(pixels: Tensor, matrix: Tensor, extent: Tensor, height: int, width: int, border: str) -> Tensor:
    """`remap` for homographies: pixel (column j, row i) of the result is read at matrix @ (j, i, 1).

    `matrix` is float32 (N, 3, 3). Of the result, (N, C, height, width), each image uses only its own `extent` (N, 2)
    int32, rows and columns; the rest is black.
    """
    return _resolve("project", pixels.device)(pixels, matrix, extent, height, width, border)


def take_pixels(pixels: Tensor, place: Tensor) -> Tensor:
    """Pixel `place[n, i, j]` of each image, counted row by row, or black where it is negative.

    `pixels` is uint8 (N, C, H, W), `place` int32 (N, H', W'), or (1, H', W') if all images share it.
    """
    return _resolve("take_pixels", pixels.device)(pixels, place)


def mix_windows(x: Tensor, first: Tensor, weights: Tensor, axis: int) -> Tensor:
    """Rows (axis 2) or columns (axis 3) of float32 (N, C, H, W) as weighted windows, each image by its own plan.

    For columns, out[n, c, i, j] = sum over t of weights[n, j, t] * x[n, c, i, first[n, j] + t]. Windows are cut at the
    last one.
    """
    return _resolve("mix_windows", x.device)(x, first, weights, axis)


def stamp(
    rows: Tensor, columns: Tensor, kinds: Tensor, dy: Tensor, dx: Tensor, height: int, width: int, count: bool = False
) -> Tensor:
    """Stamp shapes on blank pages, one after the other: int32 (N, height, width).

    Stamp k of an image puts the pixels (rows + dy[kind], columns + dx[kind]) down; kind -1 puts down none. Places are
    int32 (N, K), shapes int32 (kinds, pixels). A pixel becomes the number, from 1, of the last stamp that covers it, or
    with `count` how many do.
    """
    return _resolve("stamp", rows.device)(rows, columns, kinds, dy, dx, height, width, count)


def count_discs(rows: Tensor, columns: Tensor, radii: Tensor, height: int, width: int) -> Tensor:
    """How many discs cover each pixel: int32 (N, height, width).

    Centres and radii are int32 (N, K). A disc holds every pixel within its radius; a negative radius is no disc.
    """
    return _resolve("count_discs", rows.device)(rows, columns, radii, height, width)


def paint(pixels: Tensor, page: Tensor, colours: Tensor) -> Tensor:
    """Lay a page over uint8 (N, C, H, W): a pixel numbered k > 0 on int32 (N, H, W) becomes colour k - 1.

    `colours` is uint8 (N, K, C), or (1, K, C) if all images share them.
    """
    return _resolve("paint", pixels.device)(pixels, page, colours)


def fill_polygons(corners: Tensor, count: Tensor, height: int, width: int) -> Tensor:
    """The union (bool, N x height x width) of the first `count` (N,) polygons of each image.

    `corners` is int32 (N, P, V, 2), row and column. Even-odd rule; the outline, a pixel wide, belongs to the polygon.
    """
    return _resolve("fill_polygons", corners.device)(corners, count, height, width)


def median(pixels: Tensor, radius: Tensor, largest: int) -> Tensor:
    """Median of the (2 radius + 1)^2 values around each value of uint8 (N, C, H, W); edges repeat.

    `radius` is int32 (N,), at most `largest`.
    """
    return _resolve("median", pixels.device)(pixels, radius, largest)


def operate(pixels: Tensor, names: Sequence[str], codes: Tensor, values: Tensor, nearest: bool, fill: Tensor) -> Tensor:
    """Pillow's image operations on uint8 (N, C, H, W), one operation per image: see `scuff.augment.operations`.

    `codes` (int32, (N,)) number the operations as `scuff.kernels.operation_codes` does; `names` are those that may
    occur. `values` is float64 (N,), `fill` uint8 (C,). Bit-equal in every back end.
    """
    return _resolve("operate", pixels.device)(pixels, names, codes, values, nearest, fill)


def mix_bytes(pixels: Tensor, others: Tensor, shares: Tensor) -> Tensor:
    """Images and versions of them, mixed: float32 (N, C, H, W), not rounded.

    `pixels` is uint8 (N, C, H, W), `others` uint8 (L, N, C, H, W). `shares` is float32 (L + 1, N), that of `pixels`
    first. Each product is rounded before it is added, and they are added in this order: bit-equal in every back end.
    """
    return _resolve("mix_bytes", pixels.device)(pixels, others, shares)


def bytes_to_unit(pixels: Tensor) -> Tensor:
    """uint8 of any strides -> contiguous float32 v / 255."""
    return _resolve("bytes_to_unit", pixels.device)(pixels)


def unit_to_bytes(batch: Tensor, out: Tensor, nearest: bool = False) -> Tensor:
    """Clip float32 to [0, 1] and put 255 * v into `out`, a uint8 tensor of the same shape and any strides.

    Truncated, as the classic benchmarks do it, or rounded to the nearest level (halves go up).
    """
    return _resolve("unit_to_bytes", batch.device)(batch, out, nearest)
