"""Where results lie: a folder on this machine or anywhere that fsspec reaches, of files that are whole or absent."""

from scuff.store.rows import read_columns, read_rows, write_rows
from scuff.store.settings import Settings, check_settings, read_settings, save_settings
from scuff.store.store import Store

__all__ = [
    "Settings",
    "Store",
    "check_settings",
    "read_columns",
    "read_rows",
    "read_settings",
    "save_settings",
    "write_rows",
]
