"""The studies that reports can be about."""

from __future__ import annotations

from typing import Any

from scuff.studies.base import Study


def known_studies() -> list[type[Study[Any]]]:
    """All classes of studies, those of whoever has imported their own too."""
    import scuff.studies  # noqa: F401  (defines those of the package)

    return [study for study in _subclasses(Study) if hasattr(study, "name")]


def _subclasses(cls: type) -> list[type]:
    return [each for direct in cls.__subclasses__() for each in (direct, *_subclasses(direct))]
