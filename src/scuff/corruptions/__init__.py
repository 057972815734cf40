"""The catalogue: importing this package registers every corruption, one module per family."""

from scuff.corruptions import (  # noqa: F401  (registration)
    blur,
    colours,
    digital,
    fields,
    geometry,
    grids,
    light,
    noise,
    patches,
    screens,
    sequences,
    sky,
    warps,
    weather,
)
from scuff.corruptions.registry import Corruption, get, names, register

__all__ = ["Corruption", "get", "names", "register"]
