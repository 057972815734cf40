"""Print the oldest versions that pyproject.toml allows, as constraints for pip.

    python tools/oldest_versions.py > constraints-oldest.txt

Of the packages that scuff itself and its reports need; what constraints.txt pins (torch) stays pinned.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHECKED_EXTRAS = ("report",)


def oldest_versions() -> dict[str, str]:
    """The lower bound of every package, or what it is pinned to."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [project["optional-dependencies"][extra] for extra in CHECKED_EXTRAS]
    bounds = dict(re.split(">=", requirement) for requirement in sum(extras, project["dependencies"]))
    pins = re.findall(r"^([\w-]+)==(\S+)", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    return bounds | {name: version for name, version in pins if name in bounds}


if __name__ == "__main__":
    for name, version in oldest_versions().items():
        print(f"{name}=={version}")
