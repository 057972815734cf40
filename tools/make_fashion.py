"""Choose the part of Fashion-MNIST that comes with the package: as many images of every class, the first ones.

    python tools/make_fashion.py DIR

DIR holds the four idx files of Fashion-MNIST. The images stay in their order. src/scuff/data/fashion is written: the
same bytes every time, as long as zlib is the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from scuff.data import open_source
from scuff.data.source import Source

PER_CLASS = {"train": 1000, "test": 500}
DESTINATION = Path(__file__).parent.parent / "src" / "scuff" / "data" / "fashion" / "fashion.npz"


def first_of_each_class(source: Source, count: int) -> np.ndarray:
    classes = range(len(source.class_names))
    return np.sort(np.concatenate([np.flatnonzero(source.labels == c)[:count] for c in classes]))


def main(folder: str) -> None:
    arrays = {}
    for split, count in PER_CLASS.items():
        source = open_source(f"fashion-mnist:{folder}", split)
        chosen = source.take(first_of_each_class(source, count))
        arrays[f"x_{split}"], arrays[f"y_{split}"] = chosen.images.array, chosen.labels.astype(np.uint8)
    np.savez_compressed(DESTINATION, **arrays)
    print(f"{DESTINATION}: {DESTINATION.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(sys.argv[1])
