"""The scripts in tools/ as modules: tests hold pages to the tables that they make."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parent.parent


def load_tool(name: str) -> ModuleType:
    """The module of a script in tools/, by its name without the ending; like a script it finds those beside it."""
    if str(ROOT / "tools") not in sys.path:
        sys.path.append(str(ROOT / "tools"))
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # where dataclasses look their module up
    spec.loader.exec_module(module)
    return module
