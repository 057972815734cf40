"""The command that goes on with a study, from the settings in its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from scuff.report.separation.command import mscr_again
from scuff.store import Store, read_settings


def command_again(directory: str, study: str) -> str | None:
    """The command line of a study in a folder, as far as its settings tell it; None where they do not."""
    store = Store(directory)
    settings, write = COMMANDS.get(study, ("", None))
    if write is None or not store.exists(settings):
        return None
    return write(read_settings(store, settings), directory)


def _mscr(settings: Mapping[str, Any], directory: str) -> str | None:
    if "addresses" not in settings:  # what models were given is not known otherwise
        return None
    return mscr_again(settings, directory, epsilon_given=settings.get("epsilon_given", False)).words


# By the title of a run: the settings, and what makes a command of them.
COMMANDS: dict[str, tuple[str, Callable[[Mapping[str, Any], str], str | None]]] = {
    "mscr": ("mscr.json", _mscr),
}
