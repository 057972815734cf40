"""Files of these studies: arrays, tables, and what they are called."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Sequence

import pandas as pd

from scuff.store import Store
from scuff.store.sealed import damaged

MOST_LETTERS = 50  # of a scheme's name in the name of a file


def save_table(store: Store, name: str, table: pd.DataFrame) -> None:
    """Write a table as a CSV file."""
    store.write(name, table.to_csv(index=False).encode())


def join_tables(store: Store, name: str, new: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The table in the folder with new lines, which replace those of the same keys."""
    if not store.exists(name):
        return new
    try:
        before = pd.read_csv(io.BytesIO(store.read(name)), dtype={"scheme": str}, keep_default_na=False)
        known = pd.MultiIndex.from_frame(before[list(keys)])
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError, KeyError) as error:
        raise damaged(store, name, error) from error
    is_old = ~known.isin(pd.MultiIndex.from_frame(new[list(keys)]))
    return pd.concat([before[is_old], new], ignore_index=True)


def read_table(store: Store, name: str) -> pd.DataFrame:
    """The table of a study, as far as it is finished."""
    # A scheme called "none", "NA" or "1" is neither a missing value nor a number; an empty cell is missing.
    words = {"dtype": {"scheme": str, "note": str}, "keep_default_na": False, "na_values": [""]}
    table = pd.read_csv(io.BytesIO(store.read(name)), **words) if store.exists(name) else pd.DataFrame()
    if table.empty:
        raise ValueError(f"the study in {store.root} has no numbers yet; run the same command again to go on")
    return table


def short_name(name: str) -> str:
    """A scheme's name as letters, digits and . _ - only, not too long, and different for different names.

    >>> short_name("powerset:rotate+shear_x")
    'powerset-rotate-shear_x-0d23e8fc3dcc2a26'
    """
    plain = re.sub(r"[^\w.-]", "-", name, flags=re.ASCII)[:MOST_LETTERS]
    return f"{plain}-{hashlib.blake2b(name.encode(), digest_size=8).hexdigest()}"


def centre_file(resampling: int, *entry: str) -> str:
    """The centres of an entry at all severities; `entry` is its name, or its role and its name."""
    return f"centres/{resampling}/{'/'.join(entry)}.npz"
