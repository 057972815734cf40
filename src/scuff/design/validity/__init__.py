"""Benchmarks that predict natural shifts."""
