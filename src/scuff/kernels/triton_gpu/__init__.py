"""Fused kernels for CUDA tensors: the same primitives as `scuff.kernels.reference`, one pass over memory each."""

from scuff.kernels.triton_gpu.edges import link_edges
from scuff.kernels.triton_gpu.filters import correlate, resample
from scuff.kernels.triton_gpu.pixels import bytes_to_unit, local_copies, unit_to_bytes
from scuff.kernels.triton_gpu.poisson import poisson_quantile
from scuff.kernels.triton_gpu.random import derive_keys, integers, normal, uniform, words

__all__ = [
    "bytes_to_unit",
    "correlate",
    "derive_keys",
    "integers",
    "link_edges",
    "local_copies",
    "normal",
    "poisson_quantile",
    "resample",
    "uniform",
    "unit_to_bytes",
    "words",
]
