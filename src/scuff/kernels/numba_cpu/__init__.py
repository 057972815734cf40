"""Compiled loops for CPU tensors: the same primitives as `scuff.kernels.reference`, without its temporaries."""

from scuff.kernels.numba_cpu.edges import chamfer_distance, link_edges
from scuff.kernels.numba_cpu.filters import correlate, resample, sample_bilinear
from scuff.kernels.numba_cpu.pixels import bytes_to_unit, local_copies, pixelate, unit_to_bytes
from scuff.kernels.numba_cpu.poisson import poisson_quantile
from scuff.kernels.numba_cpu.random import derive_keys, integers, normal, uniform, words
from scuff.kernels.numba_cpu.textures import crop_windows, plasma

__all__ = [
    "bytes_to_unit",
    "chamfer_distance",
    "correlate",
    "crop_windows",
    "derive_keys",
    "integers",
    "link_edges",
    "local_copies",
    "normal",
    "pixelate",
    "plasma",
    "poisson_quantile",
    "resample",
    "sample_bilinear",
    "uniform",
    "unit_to_bytes",
    "words",
]
