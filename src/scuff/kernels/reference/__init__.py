"""Plain torch: slow, short, right. The fast back ends are held against these functions."""

from scuff.kernels.reference.edges import chamfer_distance, link_edges
from scuff.kernels.reference.filters import correlate, resample, sample_bilinear
from scuff.kernels.reference.pixels import bytes_to_unit, local_copies, pixelate, unit_to_bytes
from scuff.kernels.reference.poisson import poisson_quantile
from scuff.kernels.reference.random import derive_keys, integers, normal, uniform, words
from scuff.kernels.reference.textures import crop_windows, plasma

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
