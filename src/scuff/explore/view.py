"""What a view of results is to the server: what its page begins with, and the questions that it answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scuff.data import Source
    from scuff.suites import Suite


class View:
    """Something in a folder that a page shows. Questions are functions by the last part of their address."""

    source: Source | None = None  # its clean images, if they are there
    suites: Iterable[tuple[Suite, str]] = ()  # of its corruptions, each with the Python that comes by it

    def start(self) -> dict[str, Any]:
        """What the page needs first."""
        return {}

    def answers(self) -> dict[str, Any]:
        """Questions that are answered by facts, `Ask -> dict`."""
        return {}

    def pictures(self) -> dict[str, Any]:
        """Questions that are answered by pictures, `Ask -> bytes` of a PNG."""
        return {}

    def pages(self) -> dict[str, Any]:
        """Pages of its own beside that of the explorer, `() -> str` of HTML."""
        return {}
