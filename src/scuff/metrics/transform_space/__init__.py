"""Distances between augmentations and corruptions."""
