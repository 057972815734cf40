"""The locks of this repository: every suite over images of `fashion`, and over four free pictures.

They hold every byte that scuff makes. After a change that is meant, `make locks` writes them again; suites whose bytes
change get a new version, and CHANGELOG.md says so.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import scuff
from scuff.data import Source
from scuff.locks import make_lock
from scuff.suites.catalogue import WALKS

GOLDEN = Path(__file__).parent / "golden"
SUITES = (*scuff.list_suites(), *WALKS)
SOURCES = ("fashion", "pictures")
IMAGES = 12  # of fashion


def open_locked(name: str) -> Source:
    """The clean images of a lock."""
    if name == "fashion":
        source = scuff.open_source("fashion").take(np.arange(IMAGES))
        return replace(source, name=f"the first {IMAGES} images of fashion")
    return replace(scuff.open_source(f"folder:{GOLDEN}/free"), name="tests/golden/free")


def lock_file(suite: str, source: str) -> Path:
    """Where a lock lies."""
    return GOLDEN / "locks" / f"{suite}-{source}.yaml"


if __name__ == "__main__":
    for suite in SUITES:
        for source in SOURCES:
            made = make_lock(suite, open_locked(source), validation=True, device="cpu")
            print(lock_file(suite, source).name, made.seal)
            made.save(lock_file(suite, source))
