"""An engine by its name."""

from __future__ import annotations

from scuff.engine.cells import Engine
from scuff.engine.cluster import RayEngine
from scuff.engine.local import LocalEngine

ENGINES = ("local", "ray")


def open_engine(
    name: str = "local", *, address: str | None = None, workers: int | None = None, share: int = 1
) -> Engine:
    """The engine of a name: "local", or "ray" with the `address` of a cluster; without one, Ray starts one here.

    `workers` limits how many cells run at once, `share` is the number of trainings that share a GPU.

    >>> open_engine("local", workers=2).processes
    2
    """
    if name not in ENGINES:
        raise ValueError(f"no engine is called {name!r}; there are {' and '.join(ENGINES)}")
    if share < 1:
        raise ValueError(f"share must be at least 1, got {share}")
    if name == "ray":
        return RayEngine(address, workers, share)
    if address is not None:
        raise ValueError(f"an address is that of a cluster; with {address!r} comes the engine ray")
    return LocalEngine(workers, share)
