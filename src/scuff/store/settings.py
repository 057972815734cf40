"""What the files of a folder depend on, kept beside them as JSON.

A second run into the same folder must mean the same files. What it may change is how much is made and how fast.
"""

from __future__ import annotations

import json
import os
from typing import Any

from scuff.readers import AnyMapping, read_json
from scuff.store.store import Store

Settings = dict[str, Any]

NOTED_ONLY = ("scuff",)  # the version of this package: worth knowing, no reason to refuse


def open_results(directory: str | os.PathLike[str], settings: str, what: str, results: str | None = None) -> Store:
    """The store of a folder that holds `what`, which its settings tell; with `results`, of one that has got so far."""
    store = Store(directory)
    if not store.exists(settings):
        raise ValueError(f"{store.root} is not the folder of {what}: there is no {settings} in it")
    if results is not None and not store.exists(results):
        raise ValueError(f"the study in {store.root} is not finished; run the same command again to go on")
    return store


def read_settings(store: Store, name: str, form: Any = AnyMapping) -> Any:
    """The settings in a file, which have a form (see `scuff.readers`)."""
    try:
        return read_json(store.read(name), name, form)
    except ValueError as error:
        raise ValueError(f"{store.root}/{name} is not readable as settings ({error}); use another folder") from error


def check_settings(
    store: Store,
    name: str,
    settings: Settings,
    noted_only: tuple[str, ...] = NOTED_ONLY,
    may_join: tuple[str, ...] = (),
) -> bool:
    """Refuse a folder that was made with other settings; say whether it has any.

    Those of `noted_only` may change. Those of `may_join` may be missing, before or now.
    """
    if not store.exists(name):
        return False
    before = read_settings(store, name)
    now = json.loads(json.dumps(settings))  # tuples are lists there
    compared = [n for n in {**before, **now} if n not in noted_only]
    compared = [n for n in compared if n not in may_join or None not in (before.get(n), now.get(n))]
    changes = [text for n in compared for text in _changes(n, before.get(n), now.get(n))]
    if changes:
        raise ValueError(
            f"{store.root} was made with other settings: {'; '.join(changes)}. Repeat those, or use another folder"
        )
    return True


def _changes(name: str, before: Any, now: Any) -> list[str]:
    """What differs, down to the innermost names."""
    if isinstance(before, dict) and isinstance(now, dict):
        return [t for n in {**before, **now} for t in _changes(f"{name}.{n}", before.get(n), now.get(n))]
    return [] if before == now else [f"{name} was {_show(before)}, is now {_show(now)}"]


def save_settings(store: Store, name: str, settings: Settings) -> None:
    """Write the settings of a new folder."""
    store.write(name, (json.dumps(settings, indent=2) + "\n").encode())


def _show(value: Any) -> str:
    if value is None:
        return "not set"
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
