"""Tensors with names in safetensors files, on this machine or anywhere that fsspec reaches."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from scuff.readers import check_form, read_json
from scuff.store import find_file
from scuff.store.sealed import BLANK, CHANGED, is_changed, seal

DIGEST = "digest"  # the key of that of the file, in its metadata
BEGINNING = 1 << 16  # bytes that are asked for first: mostly they hold the whole header


def read_tensors(address: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a file and its metadata; those of a file without a digest come from the disk as they are used.

    A file that is damaged raises safetensors.SafetensorError, and one that is not there FileNotFoundError.
    """
    store, name = find_file(address)
    if store.is_local:
        with safetensors.safe_open(store.address(name), framework="pt") as file:
            if DIGEST not in (file.metadata() or {}):
                return {key: file.get_tensor(key) for key in file.keys()}, file.metadata() or {}  # noqa: SIM118
    content = store.read(name)
    if is_changed(content):
        raise safetensors.SafetensorError(CHANGED)
    return safetensors.torch.load(content), _metadata(content[8 : 8 + _header_size(content)])


def read_metadata(address: str | os.PathLike[str]) -> dict[str, str]:
    """The metadata of a file, for which only its beginning is read; errors are those of `read_tensors`."""
    store, name = find_file(address)
    if store.is_local:
        with safetensors.safe_open(store.address(name), framework="pt") as file:
            return _without_digest(file.metadata() or {})
    content = store.read(name, 0, BEGINNING)
    end = 8 + _header_size(content)
    if end > BEGINNING:
        content += store.read(name, BEGINNING, end)
    return _metadata(content[8:end])


def write_tensors(
    address: str | os.PathLike[str], state: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
) -> None:
    """Write a file that is whole or absent.

    >>> write_tensors("memory://doctest/a.safetensors", {"weight": torch.zeros(2)}, {"made": "here"})
    >>> read_tensors("memory://doctest/a.safetensors")
    ({'weight': tensor([0., 0.])}, {'made': 'here'})
    """
    # A tensor may share its memory with another, or lie in an order of its own; a file can express neither.
    plain = {key: value.detach().cpu().clone(memory_format=torch.contiguous_format) for key, value in state.items()}
    store, name = find_file(address)
    content = safetensors.torch.save(plain, {**(metadata or {}), DIGEST: BLANK.decode()})
    store.write(name, seal(_with_sorted_metadata(content)))


def _header_size(content: bytes) -> int:
    """The first eight bytes of a file are the length of its header, which is JSON."""
    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or size > 100_000_000:  # more than the format allows
        raise safetensors.SafetensorError("there is no header of safetensors")
    return size


def _with_sorted_metadata(content: bytes) -> bytes:
    """The same file with its metadata in the order of the keys: safetensors itself writes them in a random one."""
    end = 8 + _header_size(content)
    header = json.loads(content[8:end])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    written = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    written += b" " * (-len(written) % 8)  # tensors begin at a multiple of eight bytes
    return len(written).to_bytes(8, "little") + written + content[end:]


def _metadata(header: bytes) -> dict[str, str]:
    try:
        content = read_json(header, "the header")
        check_form(content.get("__metadata__", {}), dict[str, str], "metadata")
    except ValueError as error:
        raise safetensors.SafetensorError(str(error)) from error
    return _without_digest(content.get("__metadata__", {}))


def _without_digest(metadata: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in metadata.items() if key != DIGEST}
