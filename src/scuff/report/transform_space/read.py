"""The tables in the folder of a study of transform space."""

from __future__ import annotations

import io

import pandas as pd

from scuff.store import Store

TRIALS = "trials.json"  # beside distances: how networks were trained
CORRELATIONS = {"msd": "correlations.csv", "mmd": "correlations-mmd.csv"}


def read_table(store: Store, name: str) -> pd.DataFrame | None:
    """A table of the folder, or None if it is not there yet."""
    if not store.exists(name):
        return None
    # A scheme called "none", "NA" or "1" is no missing value and no number; an empty cell is missing.
    words = {"scheme": str, "note": str}
    return pd.read_csv(io.BytesIO(store.read(name)), dtype=words, keep_default_na=False, na_values=[""])


def needed_table(store: Store, name: str) -> pd.DataFrame:
    """A table of the folder; an error if it has no lines yet."""
    found = read_table(store, name)
    if found is None or found.empty:
        raise ValueError(f"the study in {store.root} has no numbers yet: run the same command again to go on")
    return found
