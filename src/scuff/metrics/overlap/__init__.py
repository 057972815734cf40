"""Overlaps of corruptions, and coverage and balance of benchmarks."""
