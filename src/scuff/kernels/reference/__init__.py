"""Plain torch: slow, short, right. The fast back ends are held against these functions."""

from scuff.kernels.reference.colours import map_colours
from scuff.kernels.reference.drops import refract_drops
from scuff.kernels.reference.edges import chamfer_distance, link_edges
from scuff.kernels.reference.filters import box_mean, correlate, correlate_bytes, resample, sample_bilinear
from scuff.kernels.reference.medians import median
from scuff.kernels.reference.mixing import mix_bytes
from scuff.kernels.reference.operations import operate
from scuff.kernels.reference.pixels import bytes_to_unit, local_copies, pixelate, unit_to_bytes
from scuff.kernels.reference.poisson import poisson_quantile
from scuff.kernels.reference.random import derive_keys, integers, normal, uniform, words
from scuff.kernels.reference.shapes import count_discs, fill_polygons, paint, stamp
from scuff.kernels.reference.splines import sum_spline_reads
from scuff.kernels.reference.strokes import dither_rows, draw_lines
from scuff.kernels.reference.tables import lookup, mean_grey, mix_channels, mix_grey
from scuff.kernels.reference.textures import crop_windows, plasma
from scuff.kernels.reference.warps import mix_windows, project, remap, take_pixels

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
