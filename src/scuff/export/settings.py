"""What the files of an export depend on, kept beside them in scuff.json.

A second run into the same folder must mean the same files. What it may change is how much is made and how fast:
corruptions, severities, workers.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import scuff
from scuff.files import write_by_rename
from scuff.suites import Suite

FILE = "scuff.json"

Settings = dict[str, Any]


def make_settings(suite: Suite, **others: Any) -> Settings:
    """The suite by name, version and content, the version of this package, and everything else that counts."""
    return {
        "suite": suite.name,
        "suite_version": suite.version,
        "suite_content": _fingerprint(suite),
        **others,
        "scuff": scuff.__version__,
    }


def check_settings(destination: Path, settings: Settings) -> bool:
    """Refuse a folder that was made with other settings; say whether it has any."""
    path = destination / FILE
    if not path.exists():
        return False
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
        names = [n for n in {**before, **settings} if n != "scuff" and before.get(n) != settings.get(n)]
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} is not readable as settings of an export ({error}); use another destination"
        ) from error
    if names:
        changes = "; ".join(f"{n} was {_show(before.get(n))}, is now {_show(settings.get(n))}" for n in names)
        raise ValueError(
            f"{destination} was made with other settings: {changes}. Repeat those, or choose another destination"
        )
    return True


def save_settings(destination: Path, settings: Settings) -> None:
    """Write the settings of a new export."""
    with write_by_rename(destination / FILE) as file:
        file.write((json.dumps(settings, indent=2) + "\n").encode())


def _show(value: Any) -> str:
    return "not set" if value is None else str(value)


def _fingerprint(suite: Suite) -> str:
    """A hash of what decides over pixels. Two files of one name and version may differ while a suite is being made."""
    whole = suite.to_dict()
    content = [whole[key] for key in ("suite", "size", "entries")]
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()
