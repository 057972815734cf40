"""Fused kernels for CUDA tensors: the same kernels as `scuff.kernels.reference`, one pass over memory each."""
