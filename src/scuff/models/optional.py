"""Packages that only some models need."""

from __future__ import annotations

import importlib
from types import ModuleType


def import_package(name: str, what: str) -> ModuleType:
    """Import a package of the extra `models`; `what` is the address that asks for it."""
    package = name.partition(".")[0]
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise  # it is there, and itself lacks something: that is worth seeing
        raise ValueError(f"{what} needs the package {package}; pip install 'scuff[models]' brings it") from error
    return importlib.import_module(name)
