"""Streams: corrupted images in an order, for test-time adaptation and for watching drift.

A stream is a small recipe; what is at position i is a pure function of (recipe, source, seed, i).
"""

from scuff.streams.recipe import Recipe, Walk, list_recipes, load_recipe
from scuff.streams.segments import Segment
from scuff.streams.stream import Moment, Stream, StreamBatch, StreamImage, stream

__all__ = [
    "Moment",
    "Recipe",
    "Segment",
    "Stream",
    "StreamBatch",
    "StreamImage",
    "Walk",
    "list_recipes",
    "load_recipe",
    "stream",
]
