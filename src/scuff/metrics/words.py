"""How names and notes are put into sentences: of errors, and of what results say about themselves."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any


def name_some(names: Sequence[Any], most: int = 3) -> str:
    """Names in a sentence, not too many of them.

    >>> name_some(["a", "b"]), name_some(range(9)), name_some([])
    ('a, b', '0, 1, 2 and 6 more', 'none')
    """
    names = list(map(str, names))
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "none") + more


def near_names(name: str, known: Iterable[str]) -> str:
    """What may have been meant by a name that is not known.

    >>> near_names("clena", ["clean", "model"]), near_names("q", ["clean", "model"])
    ('did you mean clean?', 'there are clean, model')
    """
    known = list(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    return f"did you mean {', '.join(near)}?" if near else f"there are {name_some(known, 5)}"


def join_notes(notes: Iterable[str]) -> str:
    """Several notes as one, each said once; those that are empty are left out.

    >>> join_notes(["few models", "", "few models", "no interval"])
    'few models; no interval'
    """
    return "; ".join(dict.fromkeys(filter(None, notes)))


__all__ = ["join_notes", "name_some", "near_names"]
