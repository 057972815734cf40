"""Benchmarks of corruptions that do not overlap, and categories of those that do."""
