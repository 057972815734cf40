"""One decorator and one dictionary: every kernel of every back end, and which of them answers a call."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar, cast

import torch

BACKENDS = ("reference", "numba_cpu", "triton_gpu")
KERNELS: dict[tuple[str, str], Callable[..., Any]] = {}  # (back end, name) -> function
LITTLE = 1 << 20  # values: seven pictures of 224 pixels, or sixteen smaller ones
MANY_TERMS = 60_000_000  # 10 to 25 ns each in plain torch

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_forced: str | None = None
_begun = 0  # values that this process has been given so far
_is_sparing: ContextVar[bool] = ContextVar("_is_sparing", default=False)


def kernel(function: Kernel) -> Kernel:
    """Register a function under its name, for the back end (the folder) in which it is defined.

    The reference becomes the function that callers use: it runs the version of the back end for the device of its first
    argument, or the reference itself where that back end has none. `KERNELS["reference", name]` is the plain version.
    """
    return _register(function)


def slow_kernel(terms: Callable[..., int]) -> Callable[[Kernel], Kernel]:
    """`kernel`, for a reference that can take seconds for a picture; `terms` of its arguments says how many it sums."""
    return lambda function: _register(function, terms)


def _register(function: Kernel, terms: Callable[..., int] = lambda *_, **__: 0) -> Kernel:
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
        if backend == "numba_cpu" and _forced is None and _is_sparing.get() and terms(*args, **options) <= MANY_TERMS:
            return function(*args, **options)
        _load(backend)
        return KERNELS.get((backend, name), function)(*args, **options)

    return cast(Kernel, dispatch)


@contextlib.contextmanager
def sparing_compiler(values: int) -> Iterator[None]:
    """Answer by the reference inside the block, as long as a process has had little to do: the first result comes soon.

    Importing numba takes a second, and compiling what a machine has never compiled several. For a few pictures, plain
    torch takes less, and makes the same bytes. Kernels for which it takes much longer are compiled nevertheless.
    """
    global _begun
    _begun += max(values, LITTLE // 16)
    token = _is_sparing.set(_begun <= LITTLE)
    try:
        yield
    finally:
        _is_sparing.reset(token)


def backend_name(device: torch.device) -> str:
    """The back end that answers for tensors on `device`."""
    if _forced is not None:
        return _forced
    if device.type == "cpu":
        return "numba_cpu"
    return "triton_gpu" if device.type == "cuda" and _triton_is_installed() else "reference"


def is_forced() -> bool:
    """Whether somebody has chosen the back end."""
    return _forced is not None


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
