"""Deterministic batched tensor mathematics that corruptions are written in. No randomness, no severity, no names."""
