"""Reports of the four studies of transform space: which of them a folder holds, and the page about it."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

from scuff.report.page import save_page
from scuff.report.progress.build import progress_sections, reading_results
from scuff.report.transform_space.dissimilar import render_dissimilar
from scuff.report.transform_space.distances import render_distances
from scuff.report.transform_space.mixing import render_mixing
from scuff.report.transform_space.subsets import render_subsets
from scuff.store import Store, read_settings

SUBSETS, MIXING, DISSIMILAR, DISTANCES = "subsets.json", "mixing.json", "dissimilar.json", "distances.json"
TRIALS = "trials.json"  # beside distances: how networks were trained
CORRELATIONS = {"msd": "correlations.csv", "mmd": "correlations-mmd.csv"}


def write_distance_report(
    directory: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, *, title: str | None = None
) -> str:
    """Write the report of a study of `scuff distance`, or of a dissimilar benchmark, by rename, and return its path.

    Parameters
    ----------
    directory
        The folder of distances, with errors and correlations or without, of a study of subsets or of mixing, or of
        `scuff design dissimilar`; on this machine or anywhere that fsspec reaches.
    out
        The file, or a folder for report.html; by default the study's own.
    title
        The heading, in place of one that says what was studied.
    """
    where = os.fspath(directory)
    store = Store(where)
    kind = next((name for name in KINDS if store.exists(name)), None)
    if kind is None:
        raise ValueError(f"{where} holds no study of transform space: there is none of {', '.join(KINDS)} in it")
    with reading_results(where):
        render = KINDS[kind](store, read_settings(store, kind))
    return save_page(render(directory=where, title=title, more=progress_sections(where)), where, out)


# What reads the tables of a study, and returns what makes the page of them.


def _distances(store: Store, settings: dict[str, Any]) -> Callable[..., str]:
    from scuff.studies.transform_space.distances import read_distance_study

    trained = read_settings(store, TRIALS) if store.exists(TRIALS) else {}
    found = {kind: _table(store, name) for kind, name in CORRELATIONS.items()}
    correlations = {kind: table.fillna({"note": ""}) for kind, table in found.items() if table is not None}
    errors = _table(store, "errors.csv")
    found = read_distance_study(store.root)
    return partial(render_distances, found, settings | trained, errors, correlations)


def _subsets(store: Store, settings: dict[str, Any]) -> Callable[..., str]:
    return partial(render_subsets, _needed(store, "subsets.csv"), settings)


def _mixing(store: Store, settings: dict[str, Any]) -> Callable[..., str]:
    return partial(render_mixing, _needed(store, "mixing.csv"), settings)


def _dissimilar(store: Store, settings: dict[str, Any]) -> Callable[..., str]:
    from scuff.studies.transform_space.dissimilar import read_dissimilar

    return partial(render_dissimilar, read_dissimilar(store.root), settings)


# A study of mixing is one of distances, too, so that it comes first.
KINDS: dict[str, Callable[[Store, dict[str, Any]], Callable[..., str]]] = {
    SUBSETS: _subsets,
    MIXING: _mixing,
    DISSIMILAR: _dissimilar,
    DISTANCES: _distances,
}


def _table(store: Store, name: str) -> pd.DataFrame | None:
    """A table of the folder, or None if it is not there yet."""
    if not store.exists(name):
        return None
    # A scheme called "none", "NA" or "1" is no missing value and no number; an empty cell is missing.
    words = {"scheme": str, "note": str}
    return pd.read_csv(io.BytesIO(store.read(name)), dtype=words, keep_default_na=False, na_values=[""])


def _needed(store: Store, name: str) -> pd.DataFrame:
    found = _table(store, name)
    if found is None or found.empty:
        raise ValueError(f"the study in {store.root} has no numbers yet: run the same command again to go on")
    return found
