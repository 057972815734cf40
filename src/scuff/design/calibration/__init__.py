"""Severities at which a model keeps a given share of its accuracy."""
