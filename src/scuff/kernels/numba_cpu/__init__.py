"""Compiled loops for CPU tensors: the same primitives as `scuff.kernels.reference`, without its temporaries."""

from scuff.kernels.numba_cpu.boxes import box_mean
from scuff.kernels.numba_cpu.colours import map_colours
from scuff.kernels.numba_cpu.drops import refract_drops
from scuff.kernels.numba_cpu.edges import chamfer_distance, link_edges
from scuff.kernels.numba_cpu.filters import correlate, correlate_bytes, resample, sample_bilinear
from scuff.kernels.numba_cpu.medians import median
from scuff.kernels.numba_cpu.mixing import mix_bytes
from scuff.kernels.numba_cpu.operations import operate
from scuff.kernels.numba_cpu.pixels import bytes_to_unit, local_copies, pixelate, unit_to_bytes
from scuff.kernels.numba_cpu.poisson import poisson_quantile
from scuff.kernels.numba_cpu.random import derive_keys, integers, normal, uniform, words
from scuff.kernels.numba_cpu.shapes import count_discs, fill_polygons, paint, stamp
from scuff.kernels.numba_cpu.splines import sum_spline_reads
from scuff.kernels.numba_cpu.strokes import dither_rows, draw_lines
from scuff.kernels.numba_cpu.tables import lookup, mean_grey, mix_channels, mix_grey
from scuff.kernels.numba_cpu.textures import crop_windows, plasma
from scuff.kernels.numba_cpu.warps import mix_windows, project, remap, take_pixels

__all__ = [
    "box_mean",
    "bytes_to_unit",
    "chamfer_distance",
    "correlate",
    "correlate_bytes",
    "count_discs",
    "crop_windows",
    "derive_keys",
    "dither_rows",
    "draw_lines",
    "fill_polygons",
    "integers",
    "link_edges",
    "local_copies",
    "lookup",
    "map_colours",
    "mean_grey",
    "median",
    "mix_bytes",
    "mix_channels",
    "mix_grey",
    "mix_windows",
    "normal",
    "operate",
    "paint",
    "pixelate",
    "plasma",
    "poisson_quantile",
    "project",
    "refract_drops",
    "remap",
    "resample",
    "sample_bilinear",
    "stamp",
    "sum_spline_reads",
    "take_pixels",
    "uniform",
    "unit_to_bytes",
    "words",
]
