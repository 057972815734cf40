"""Labelled images, opened from an address: `fashion`, `cifar10:DIR`, `folder:DIR`, `imagenet-c:DIR` ...

`open_source` finds out what there is, and decodes nothing; `load_pixels` decodes, and keeps what fits. `open_points`
makes one array of them, or of a table or vectors, for questions about distances.
"""

from scuff.data.annotated import AnnotatedSource, Objects
from scuff.data.natural import restrict
from scuff.data.open import open_source, register
from scuff.data.pixels import Pixels, load_pixels
from scuff.data.points import Points, open_points
from scuff.data.readable import readable
from scuff.data.source import ClassMap, CorruptedSource, Source, array_source, known_by_stems

__all__ = [
    "AnnotatedSource",
    "ClassMap",
    "CorruptedSource",
    "Objects",
    "Pixels",
    "Points",
    "Source",
    "array_source",
    "known_by_stems",
    "load_pixels",
    "open_points",
    "open_source",
    "readable",
    "register",
    "restrict",
]
