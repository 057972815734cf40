"""Where results lie: a folder on this machine or anywhere that fsspec reaches, of files that are whole or absent."""

from typing import TYPE_CHECKING, Any

from scuff.store.places import Unreachable
from scuff.store.sealed import read_arrays, remove_damaged, write_arrays
from scuff.store.settings import Settings, check_settings, open_results, read_settings, save_settings
from scuff.store.store import Store, find_file

if TYPE_CHECKING:
    from scuff.store.rows import read_columns, read_columns_of_each, read_rows, write_rows

__all__ = [
    "Settings",
    "Store",
    "Unreachable",
    "check_settings",
    "find_file",
    "open_results",
    "read_arrays",
    "read_columns",
    "read_columns_of_each",
    "read_rows",
    "read_settings",
    "remove_damaged",
    "save_settings",
    "write_arrays",
    "write_rows",
]


def __getattr__(name: str) -> Any:
    """Rows are imported on first use: pyarrow is heavy, and most of what asks for a store has none."""
    if name not in __all__:
        raise AttributeError(f"module 'scuff.store' has no attribute {name!r}")
    from scuff.store import rows

    return getattr(rows, name)
