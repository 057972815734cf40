"""Correlations over models between synthetic and natural benchmarks."""
