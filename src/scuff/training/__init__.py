"""Fit classifiers to labelled images."""

from scuff.training.fit import fit

__all__ = ["fit"]
