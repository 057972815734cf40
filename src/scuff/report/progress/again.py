"""The command that goes on with a study, from the settings in its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from scuff.report.transform_space.command import dissimilar_again, distances_again, mixing_again, subsets_again
from scuff.store import Store, read_settings


def command_again(directory: str, study: str) -> str | None:
    """The command line of a study in a folder, as far as its settings tell it; None where they do not."""
    store = Store(directory)
    settings, write = COMMANDS.get(study, ("", None))
    if write is None or not store.exists(settings):
        return None
    return write(read_settings(store, settings), directory)


# By the title of a run: the settings, and what makes a command of them.
COMMANDS: dict[str, tuple[str, Callable[[Mapping[str, Any], str], str | None]]] = {
    "subsets": ("subsets.json", lambda settings, out: subsets_again(settings, out).words),
    "mixing": ("mixing.json", lambda settings, out: mixing_again(settings, out).words),
    "dissimilar": ("dissimilar.json", lambda settings, out: dissimilar_again(settings, out).words),
    "distances": ("distances.json", lambda settings, out: distances_again(settings, out).words),
}
