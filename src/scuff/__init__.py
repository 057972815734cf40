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
    "Augment": "scuff.augment",
    "Classifier": "scuff.models",
    "Corrupt": "scuff.transforms",
    "ImageError": "scuff.images",
    "Suite": "scuff.suites",
    "SuiteError": "scuff.suites",
    "check_corruption": "scuff.checks",
    "corrupt": "scuff.door",
    "digest": "scuff.locks",
    "evaluate": "scuff.evaluation",
    "frames": "scuff.sequences",
    "image_id": "scuff.random",
    "list_corruptions": "scuff.suites",
    "list_suites": "scuff.suites",
    "load_suite": "scuff.suites",
    "motions": "scuff.door",
    "open_model": "scuff.models",
    "open_source": "scuff.data",
    "read_evaluation": "scuff.evaluation",
    "register": "scuff.corruptions",
    "sequence": "scuff.sequences",
    "stream": "scuff.streams",
    "train": "scuff.training",
    "write_report": "scuff.report",
}
# Used by their own names: scuff.metrics.mce.
_MODULES = (
    "adaptation",
    "augment",
    "data",
    "design",
    "evaluation",
    "export",
    "locks",
    "metrics",
    "models",
    "publish",
    "random",
    "streams",
    "studies",
    "suites",
    "targets",
    "training",
)

__all__ = sorted([*_PUBLIC, *_MODULES])


def __getattr__(name: str):
    if name in _MODULES:
        return importlib.import_module(f"scuff.{name}")
    if name.startswith("write_") and name.endswith("_report") and name not in _PUBLIC:
        raise AttributeError(f"scuff.{name} is gone: scuff.write_report(folder) finds out what the folder holds")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'scuff' has no attribute {name!r}")
    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value  # found directly from now on
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
