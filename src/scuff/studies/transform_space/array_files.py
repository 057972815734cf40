"""Arrays as files of a study."""

from __future__ import annotations

import io
from collections.abc import Sequence
from zipfile import BadZipFile

import numpy as np

from scuff.store import Store


def save_arrays(store: Store, name: str, **arrays: np.ndarray) -> None:
    """Write arrays as one .npz file."""
    file = io.BytesIO()
    np.savez(file, **arrays)
    store.write(name, file.getvalue())


def load_arrays(store: Store, name: str, keys: Sequence[str]) -> dict[str, np.ndarray]:
    """Arrays of an .npz file."""
    try:
        with np.load(io.BytesIO(store.read(name)), allow_pickle=False) as file:
            return {key: file[key] for key in keys}
    except (BadZipFile, ValueError, KeyError, EOFError) as error:
        raise ValueError(f"{store.root}/{name} is damaged ({error}); delete it and run the same again") from error
