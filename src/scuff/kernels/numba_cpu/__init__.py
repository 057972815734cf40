"""Compiled loops for CPU tensors: the same kernels as `scuff.kernels.reference`, without its temporaries."""
