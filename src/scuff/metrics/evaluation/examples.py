"""Made-up rows, small and always the same, for the examples in docstrings and docs."""

from __future__ import annotations

import numpy as np
import pandas as pd

EXAMPLE_ERRORS = {("clean", 0): 0.2, ("fog", 1): 0.3, ("fog", 2): 0.45, ("snow", 1): 0.35, ("snow", 2): 0.4}


def example_rows(model: str = "example", harder: float = 0.0, seed: int = 0) -> pd.DataFrame:
    """Rows of 200 images: clean, and fog and snow at two severities, with errors of 20 to 45 % and `harder` above.

    An image that is hard is so for every model and in every cell, as in reality. The model is too sure of itself.

    >>> example_rows().groupby("corruption", observed=True).size().to_dict()
    {'clean': 200, 'fog': 400, 'snow': 400}
    """
    difficulty = np.random.default_rng(0).normal(size=200)
    draw = np.random.default_rng([seed, 1])
    parts = []
    for (corruption, severity), rate in EXAMPLE_ERRORS.items():
        strain = difficulty + draw.normal(size=200)
        wrong = strain > np.quantile(strain, 1 - min(rate + harder, 1.0))
        sure = 1 / (1 + np.exp(strain - 2))
        cell = {"corruption": corruption, "severity": severity, "image_id": np.arange(200), "label": 0}
        parts.append(pd.DataFrame({**cell, "prediction": wrong.astype(int), "confidence": sure.astype(np.float32)}))
    return _complete(pd.concat(parts, ignore_index=True), model, "my-suite")


def example_films(model: str = "example", flips: float = 0.2) -> pd.DataFrame:
    """Rows of 100 images in two sequences of ImageNet-P, tilt and rotate, of 6 frames each; six classes.

    >>> len(example_films())
    1200
    """
    draw = np.random.default_rng(2)
    parts = []
    for corruption in ("rotate", "tilt"):
        swaps = (draw.random((100, 6)) < flips).cumsum(axis=1) % 2  # the two best classes change places
        image, frame = (index.ravel() for index in np.indices((100, 6)))
        cell = {"corruption": corruption, "severity": 0, "image_id": image, "frame": frame, "label": 0}
        best = {"prediction": swaps.ravel(), "rank2": 1 - swaps.ravel(), "rank3": 2, "rank4": 3, "rank5": 4}
        parts.append(pd.DataFrame({**cell, **best, "confidence": np.float32(0.6)}))
    return _complete(pd.concat(parts, ignore_index=True), model, "imagenet-p")


def _complete(rows: pd.DataFrame, model: str, suite: str) -> pd.DataFrame:
    rows = rows.assign(model=model, source="made-up", suite=suite)
    return rows.astype(dict.fromkeys(("model", "source", "suite", "corruption"), "category"))
