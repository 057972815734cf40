"""From what the command line was given to an explorer: models and data, opened and checked."""

from __future__ import annotations

from collections.abc import Sequence

from scuff.data import Source, open_source
from scuff.environment import find_device
from scuff.explore.panel import Panel
from scuff.explore.pictures import Shelf
from scuff.explore.server import Explorer
from scuff.models import open_model
from scuff.suites import list_suites, load_suite


def open_explorer(models: Sequence[str] = (), data: str | None = None, device: str | None = None) -> Explorer:
    """Open models and data."""
    source = None if data is None else open_source(data)
    if source is not None and not isinstance(source, Source):
        raise ValueError(f"{data} is corrupted already; the explorer wants clean images")
    place = find_device(device)
    classifiers = [open_model(model).on(place) for model in models]
    suites = {name: load_suite(name) for name in ("imagenet-c", *list_suites())}
    return Explorer(suites, Shelf(source), Panel(classifiers, source))
