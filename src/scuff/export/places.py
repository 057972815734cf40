"""Where an export reads and writes: checked at the start, listed once, and looked for again by every worker."""

from __future__ import annotations

import os
import socket
from functools import lru_cache
from pathlib import Path

import fsspec

from scuff.store import Store

SETTINGS = "scuff.json"  # beside the files of an export: what they depend on


def check_places(source: str | os.PathLike[str] | None, destination: str | os.PathLike[str]) -> tuple[Path, Store]:
    """Refuse places that make no sense; open the destination, which may be on any file system that fsspec knows.

    Data that is neither a folder nor a file has no place, None.
    """
    if source is None:
        return Path(), Store(destination)
    if "://" in os.fspath(source):
        raise ValueError(f"the source must be a folder or file of this machine, got {source}; copy or mount it first")
    source = Path(source)
    if not source.exists():
        raise ValueError(f"there is no file or folder {source}")
    if "://" in os.fspath(destination):
        return source, Store(destination)
    destination = os.path.expanduser(destination)
    if os.path.isfile(destination):
        raise ValueError(f"the destination {destination} is a file; give a folder")
    here, there = source.resolve(), Path(destination).resolve()
    if here == there or here in there.parents or there in here.parents:
        raise ValueError(
            f"source {source} and destination {destination} must not lie inside each other, or the results would "
            "become sources; choose a destination elsewhere"
        )
    return source, Store(destination)


@lru_cache(maxsize=1)
def check_seen(source: Path, store: Store) -> None:
    """Make sure, once per worker, that its machine sees what the first one sees.

    Otherwise a worker would find no picture readable, or fill a folder of its own that nobody looks into.
    """
    what = None
    if not source.exists():
        what = f"the source {source}"
    elif not store.exists(SETTINGS):
        what = f"{SETTINGS} of this export in the destination {store.root}"
    if what is not None:
        raise ValueError(
            f"{socket.gethostname()} does not find {what}; every machine that works on an export must see source and "
            "destination under the same paths: put both on a shared file system, or the destination on an object store"
        )


def list_sizes(store: Store, below: str) -> dict[str, int]:
    """The bytes of the files in a folder, by their names; none if it does not exist."""
    if store.is_local:
        whole = (
            name for name in map(os.path.basename, store.names(below, "")) if not name.startswith(".")
        )  # others may vanish meanwhile
        return {name: os.path.getsize(store.address(f"{below}/{name}")) for name in whole}
    files, path = fsspec.core.url_to_fs(store.address(below))
    files.invalidate_cache()  # workers elsewhere have written since
    return {name.rpartition("/")[2]: about["size"] for name, about in files.find(path, detail=True).items()}
