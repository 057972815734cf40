"""From what the command line was given to an explorer: a folder, models and data, opened and checked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from scuff.data import Source, open_source
from scuff.environment import find_device
from scuff.explore.panel import Panel
from scuff.explore.pictures import Shelf
from scuff.explore.server import Explorer
from scuff.explore.view import View
from scuff.models import Classifier
from scuff.suites import list_suites, load_suite

FIRST = "imagenet-c"  # the suite with which a page begins


def open_explorer(
    folder: str | None = None,
    models: Sequence[Any] = (),
    data: str | None = None,
    device: str | None = None,
    suites: Sequence[str] = (),
) -> Explorer:
    """Open models, data and suites, and the results in a folder, whichever kind they are."""
    views = _open_views(folder, data)
    source = next((view.source for view in views.values() if view.source is not None), None)
    if data is not None and source is None:
        opened = open_source(data)
        if not isinstance(opened, Source):
            raise ValueError(f"{data} is corrupted already; the explorer wants clean images")
        source = opened
    classifiers = _open_models(models, device)
    own = {suite.name: (suite, json.dumps(given)) for given in suites for suite in [load_suite(given)]}
    own |= {suite.name: (suite, origin) for view in views.values() for suite, origin in view.suites}
    known = {name: suite for name, (suite, _) in own.items()}
    bundled = {name: load_suite(name) for name in (FIRST, *list_suites())}
    origins = {name: origin for name, (_, origin) in own.items()}
    return Explorer({**known, **bundled, **known}, Shelf(source), Panel(classifiers, source), views, origins)


def _open_views(folder: str | None, data: str | None) -> dict[str, View]:
    if folder is None:
        return {}
    from scuff.explore.folders import open_views

    return open_views(folder, data)


def _open_models(models: Sequence[Any], device: str | None) -> list[Classifier]:
    place = find_device(device)
    if not models:
        return []
    from scuff.evaluation.choices import open_models

    return [classifier.on(place) for classifier in open_models(list(models)).values()]
