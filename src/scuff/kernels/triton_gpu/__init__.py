"""Fused kernels for CUDA tensors: the same primitives as `scuff.kernels.reference`, one pass over memory each."""

from scuff.kernels.triton_gpu.colours import map_colours
from scuff.kernels.triton_gpu.drops import refract_drops
from scuff.kernels.triton_gpu.edges import link_edges
from scuff.kernels.triton_gpu.filters import correlate, correlate_bytes, resample
from scuff.kernels.triton_gpu.medians import median
from scuff.kernels.triton_gpu.operations import operate
from scuff.kernels.triton_gpu.pixels import bytes_to_unit, local_copies, unit_to_bytes
from scuff.kernels.triton_gpu.poisson import poisson_quantile
from scuff.kernels.triton_gpu.random import derive_keys, integers, normal, uniform, words
from scuff.kernels.triton_gpu.shapes import fill_polygons
from scuff.kernels.triton_gpu.splines import sum_spline_reads
from scuff.kernels.triton_gpu.strokes import dither_rows, draw_lines
from scuff.kernels.triton_gpu.warps import project, remap

__all__ = [
    "bytes_to_unit",
    "correlate",
    "correlate_bytes",
    "derive_keys",
    "dither_rows",
    "draw_lines",
    "fill_polygons",
    "integers",
    "link_edges",
    "local_copies",
    "map_colours",
    "median",
    "normal",
    "operate",
    "poisson_quantile",
    "project",
    "refract_drops",
    "remap",
    "resample",
    "sum_spline_reads",
    "uniform",
    "unit_to_bytes",
    "words",
]
