"""Corrupted datasets as recipes: a lock file says what every corrupted image must be, byte for byte, in 10 kB.

`make_lock` makes every cell of a suite once and keeps digests of them; `verify` makes them again, or reads files that
somebody wrote, and where they differ says why.

Names are imported on first use: the command line has help to show, which must not wait for torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scuff.locks.lock import Lock, read_lock
    from scuff.locks.make import make_lock
    from scuff.locks.sums import Digest, digest
    from scuff.locks.verdict import NotEqual, Verdict, verify

_HOMES = {
    "Digest": "sums",
    "Lock": "lock",
    "NotEqual": "verdict",
    "Verdict": "verdict",
    "digest": "sums",
    "make_lock": "make",
    "read_lock": "lock",
    "verify": "verdict",
}

__all__ = ["Digest", "Lock", "NotEqual", "Verdict", "digest", "make_lock", "read_lock", "verify"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'scuff.locks' has no attribute {name!r}")
    return getattr(importlib.import_module(f"scuff.locks.{_HOMES[name]}"), name)
