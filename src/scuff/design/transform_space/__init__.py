"""Benchmarks that are as hard as another one and look different."""
