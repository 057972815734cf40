"""Errors inside somebody's model, told so that its author can find them."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator

from torch import OutOfMemoryError, Tensor

OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "alloc_failed")


class ModelError(ValueError):
    """A model failed; the message says which, on what images, and where."""


@contextlib.contextmanager
def explaining_errors(called: str, images: Tensor | None = None) -> Iterator[None]:
    """Turn whatever a model raises into a ModelError; that memory ran out is for others to deal with."""
    try:
        yield
    except Exception as error:
        if isinstance(error, ModelError) or is_out_of_memory(error):
            raise
        on = "" if images is None else f" on images {tuple(images.shape)} {images.dtype}"
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{frame.filename}:{frame.lineno}"
        raise ModelError(f"{called} failed{on}: {type(error).__name__}: {error} ({where})") from error


def is_out_of_memory(error: Exception) -> bool:
    """Whether memory ran out. Torch says so by a type of its own on a GPU, and by words on a CPU and in libraries."""
    if isinstance(error, (OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error).lower() for words in OUT_OF_MEMORY)


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and all that it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def leaves_sound(error: Exception) -> bool:
    """Whether a process can be trusted after it: not if memory ran out or a GPU failed, whatever was made of it.

    >>> leaves_sound(ValueError("wrong shape")), leaves_sound(MemoryError())
    (True, False)
    """
    return not any(isinstance(cause, (RuntimeError, MemoryError)) for cause in causes(error))
