"""Distances between classes, and robustness within them (MSCR)."""
