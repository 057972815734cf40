"""From what the command line was given to an explorer: a folder, models and data, opened and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scuff.data import Source, open_source
from scuff.environment import find_device
from scuff.explore.panel import Panel
from scuff.explore.pictures import Shelf
from scuff.explore.server import Explorer
from scuff.models import open_model
from scuff.store import Store
from scuff.suites import Suite, list_suites, load_suite

FIRST = "imagenet-c"  # the suite with which a page begins


def open_explorer(
    folder: str | None = None, models: Sequence[Any] = (), data: str | None = None, device: str | None = None
) -> Explorer:
    """Open models and data, and the results in a folder, whichever kind they are."""
    views, suites, source = _open_folder(folder, data) if folder is not None else ({}, {}, None)
    if data is not None and source is None:
        opened = open_source(data)
        if not isinstance(opened, Source):
            raise ValueError(f"{data} is corrupted already; the explorer wants clean images")
        source = opened
    place = find_device(device)
    classifiers = [open_model(model).on(place) for model in models]
    bundled = {name: load_suite(name) for name in (FIRST, *list_suites())}
    return Explorer({**suites, **bundled, **suites}, Shelf(source), Panel(classifiers, source), views)


def _open_folder(folder: str, data: str | None) -> tuple[dict[str, Any], dict[str, Suite], Source | None]:
    """The views of what a folder holds, the suites of its corruptions, and its images."""
    from scuff.evaluation.plan import SETTINGS
    from scuff.studies.overlap.study import OverlapStudy

    store = Store(folder)
    if store.exists(SETTINGS):
        from scuff.explore.evaluation import EvaluationView

        evaluation = EvaluationView(folder, data)
        suite = evaluation.evaluation.suite
        return {"evaluation": evaluation}, {suite.name: suite} if suite.entries else {}, evaluation.source
    if store.exists(OverlapStudy.file):
        from scuff.explore.overlap import OverlapView

        overlap = OverlapView(folder)
        return {"overlap": overlap}, overlap.suites, None
    raise ValueError(
        f"{folder} is the folder of neither an evaluation nor an overlap study: there is no {SETTINGS} and no "
        f"{OverlapStudy.file} in it; scuff report makes a page about any study"
    )
