"""Scores of the rows of an evaluation."""
