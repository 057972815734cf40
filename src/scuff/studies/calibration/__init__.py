"""Severity ranges for a model and images of your own."""
