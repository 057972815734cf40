"""Categories of corruptions in files."""

from __future__ import annotations

import os
from pathlib import Path


def read_categories(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """A file that maps categories to their corruptions, YAML or JSON."""
    import yaml

    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))  # JSON is YAML, too
    except yaml.YAMLError as error:
        raise ValueError(f"cannot read {path}: {error}") from error
    if not content or not isinstance(content, dict) or not all(isinstance(group, list) for group in content.values()):
        raise ValueError(f"{path} must map categories to lists of corruptions, as scuff design categories writes them")
    return {str(category): list(map(str, members)) for category, members in content.items()}
