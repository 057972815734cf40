"""File systems by address, and in one sentence what goes wrong with those that are elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import lru_cache

import fsspec
from fsspec.implementations.local import LocalFileSystem

# An upload to these is whole or absent by itself. Any other file system gets a temporary name and a rename.
OBJECT_STORES = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "oss", "oci", "memory"})
S3 = frozenset({"s3", "s3a"})
# Clients whose errors are not OSErrors.
CLIENTS = ("botocore", "aiobotocore", "aiohttp", "google", "gcsfs", "azure", "paramiko")


class Unreachable(ConnectionError, ValueError):
    """A place that does not answer. The same may go well a little later."""


def open_place(address: str) -> tuple[fsspec.AbstractFileSystem, str]:
    """The file system of an address, and the path in it."""
    try:
        with explaining(address):
            return fsspec.core.url_to_fs(address)
    except Unreachable:
        raise
    except ImportError as error:
        needs = 'pip install "scuff[s3]"' if address.startswith(("s3:", "s3a:")) else str(error)
        raise ValueError(f"cannot open {address!r}, a package is missing for that: {needs}") from error
    except ValueError as error:
        raise ValueError(f"cannot open {address!r} as a place for results: {error}") from error


def is_local(files: fsspec.AbstractFileSystem) -> bool:
    """Whether it is made of folders of this machine, mounted ones as well."""
    return isinstance(files, LocalFileSystem)


def is_object_store(files: fsspec.AbstractFileSystem) -> bool:
    """Whether an upload is whole or absent by itself."""
    return not OBJECT_STORES.isdisjoint(protocols(files))


def protocols(files: fsspec.AbstractFileSystem) -> tuple[str, ...]:
    """What addresses of a file system begin with."""
    return (files.protocol,) if isinstance(files.protocol, str) else tuple(files.protocol)


def check_bucket(files: fsspec.AbstractFileSystem, path: str) -> None:
    """Refuse a bucket of S3 that does not exist, or that cannot be asked, before hours of work are lost to it."""
    if S3.isdisjoint(protocols(files)):
        return
    bucket = path.partition("/")[0]
    if not bucket:
        raise ValueError("expected a bucket, as in s3://bucket/folder")
    _ask_for_bucket(bucket)


@lru_cache(maxsize=64)  # once per process, and again only if it failed
def _ask_for_bucket(bucket: str) -> None:
    address = f"s3://{bucket}"
    files, _ = open_place(address)
    try:
        with contextlib.suppress(PermissionError), explaining(address, PermissionError):
            files.info(bucket)  # who may not ask for the bucket may still be let into a folder of it
    except FileNotFoundError as error:
        raise ValueError(f"there is no bucket {address}; make it first, or check the name and the endpoint") from error


@contextlib.contextmanager
def explaining(place: str, *passed_on: type[Exception]) -> Iterator[None]:
    """Say in one sentence what a client of a remote place tells in its own words. What is not found stays so."""
    try:
        yield
    except (FileNotFoundError, *passed_on):  # type: ignore[misc]  # classes of errors, all of them
        raise
    except PermissionError as error:
        raise ValueError(f"{place}: access is denied ({_line(error)}); {_remedy(place)}") from error
    except Exception as error:
        module, name = type(error).__module__.partition(".")[0], type(error).__name__
        if not isinstance(error, OSError) and module not in CLIENTS:
            raise
        if "Credential" in name or "TokenRetrieval" in name:
            raise ValueError(f"{place}: there are no valid credentials ({_line(error)}); {_remedy(place)}") from error
        raise Unreachable(f"{place} cannot be reached: {_line(error)}; check the address and the network") from error


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _remedy(place: str) -> str:
    if place.startswith(("s3:", "s3a:")):
        return "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
    return "check the credentials that fsspec finds for it"
