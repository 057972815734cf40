"""Corruption robustness of image classifiers: corrupt images, measure models, design benchmarks.

>>> import scuff
>>> suite = scuff.load_suite("imagenet-c")
>>> len(suite.benchmark()), suite.validation
(15, ('speckle_noise', 'gaussian_blur', 'spatter', 'saturate'))

Public names are imported on first use, so that `import scuff` and `scuff --help` never wait for torch.
"""

from __future__ import annotations

import importlib

__version__ = "0.1.0"

_PUBLIC = {
    "Corrupt": "scuff.transforms",
    "ImageError": "scuff.images",
    "Suite": "scuff.suites",
    "SuiteError": "scuff.suites",
    "check_corruption": "scuff.checks",
    "corrupt": "scuff.door",
    "frames": "scuff.sequences",
    "image_id": "scuff.random",
    "list_corruptions": "scuff.suites",
    "list_suites": "scuff.suites",
    "load_suite": "scuff.suites",
    "register": "scuff.corruptions",
    "sequence": "scuff.sequences",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str):
    if name not in _PUBLIC:
        raise AttributeError(f"module 'scuff' has no attribute {name!r}")
    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value  # found directly from now on
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
