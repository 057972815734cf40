"""Fused kernels for CUDA tensors: the same primitives as `scuff.kernels.reference`, one pass over memory each."""

from scuff.kernels.triton_gpu.drops import refract_drops
from scuff.kernels.triton_gpu.edges import link_edges
from scuff.kernels.triton_gpu.filters import correlate, resample
from scuff.kernels.triton_gpu.pixels import bytes_to_unit, local_copies, unit_to_bytes
from scuff.kernels.triton_gpu.poisson import poisson_quantile
from scuff.kernels.triton_gpu.random import derive_keys, integers, normal, uniform, words
from scuff.kernels.triton_gpu.splines import sum_spline_reads
from scuff.kernels.triton_gpu.strokes import dither_rows, draw_lines

__all__ = [
    "bytes_to_unit",
    "correlate",
    "derive_keys",
    "dither_rows",
    "draw_lines",
    "integers",
    "link_edges",
    "local_copies",
    "normal",
    "poisson_quantile",
    "refract_drops",
    "resample",
    "sum_spline_reads",
    "uniform",
    "unit_to_bytes",
    "words",
]
