"""Small random rows of evaluations, and a plain loop over them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from scuff.metrics import Resampling
from scuff.suites import load_suite

QUICK = Resampling(count=50)


IMAGENET_C = load_suite("imagenet-c")


CELLS_C = [("clean", 0), *((e, s) for e in IMAGENET_C.entries for s in range(1, 6))]


CELLS_NOC = [("clean", 0), *((e, 0) for e in load_suite("imagenet-noc").entries)]


MINE = [("clean", 0), ("fog", 1), ("fog", 2), ("snow", 1), ("snow", 2), ("snow", 3)]


def random_rows(cells, suite="mine", model="m", n=40, seed=0, source="val", ids=None) -> pd.DataFrame:
    """Rows in random order, of three classes, with an error of about 40 %."""
    draw = np.random.default_rng(seed)
    ids = np.arange(n) * 7 if ids is None else np.asarray(ids)
    label = np.random.default_rng(99).integers(0, 3, len(ids))
    parts = []
    for corruption, severity in cells:
        wrong = draw.random(len(ids)) < draw.uniform(0.2, 0.6)
        part = {"corruption": corruption, "severity": severity, "image_id": ids, "label": label}
        confidence = draw.random(len(ids)).astype(np.float32)
        parts.append(pd.DataFrame({**part, "prediction": (label + wrong) % 3, "confidence": confidence}))
    rows = pd.concat(parts).assign(model=model, source=source, suite=suite)
    rows = rows.astype(dict.fromkeys(("model", "source", "suite", "corruption"), "category"))
    return rows.sample(frac=1, random_state=seed).reset_index(drop=True)


def plain_error(rows: pd.DataFrame, corruption: str, severity: int | None = None) -> float:
    """A plain loop over rows: what every score here is computed from."""
    wrong = [
        row.prediction != row.label
        for row in rows.itertuples()
        if row.corruption == corruption and severity in (None, row.severity)
    ]
    return sum(wrong) / len(wrong)
