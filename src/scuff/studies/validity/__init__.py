"""Whether synthetic benchmarks predict robustness to natural shifts."""
