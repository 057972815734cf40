"""One decorator and one dictionary: every kernel of every back end, and which of them answers a call."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import torch

BACKENDS = ("reference", "numba_cpu", "triton_gpu")
KERNELS: dict[tuple[str, str], Callable[..., Any]] = {}  # (back end, name) -> function

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_forced: str | None = None


def kernel(function: Kernel) -> Kernel:
    """Register a function under its name, for the back end (the folder) in which it is defined.

    The reference becomes the function that callers use: it runs the version of the back end for the device of its first
    argument, or the reference itself where that back end has none. `KERNELS["reference", name]` is the plain version.
    """
    home, name = function.__module__.split(".")[-2], function.__name__
    if (home, name) in KERNELS:
        raise ValueError(f"two kernels called {name!r} in {home}; give one of them another name")
    KERNELS[home, name] = function
    if home != "reference":
        return function

    @functools.wraps(function)
    def dispatch(*args: Any, **options: Any) -> Any:
        first = args[0] if args else next(iter(options.values()))
        backend = backend_name(first.device)
        _load(backend)
        return KERNELS.get((backend, name), function)(*args, **options)

    return cast(Kernel, dispatch)


def backend_name(device: torch.device) -> str:
    """The back end that answers for tensors on `device`."""
    if _forced is not None:
        return _forced
    if device.type == "cpu":
        return "numba_cpu"
    return "triton_gpu" if device.type == "cuda" and _triton_is_installed() else "reference"


@contextlib.contextmanager
def use_backend(name: str) -> Iterator[None]:
    """Answer every call inside the block with one back end: for tests and benchmarks."""
    global _forced
    if name not in BACKENDS:
        raise ValueError(f"unknown back end {name!r}; choose one of {', '.join(BACKENDS)}")
    before, _forced = _forced, name
    try:
        yield
    finally:
        _forced = before


@functools.lru_cache
def _triton_is_installed() -> bool:
    return importlib.util.find_spec("triton") is not None


@functools.lru_cache
def _load(backend: str) -> None:
    """Import the files of a back end, on its first use: their kernels register themselves."""
    package = importlib.import_module(f"{__package__}.{backend}")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
