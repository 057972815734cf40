"""Scores from a sample of all images in all cells: which pairs to try, and what they tell."""
