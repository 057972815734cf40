"""The catalogue: importing this package registers every corruption, one module per family."""

from scuff.corruptions import (  # noqa: F401  (registration)
    aberration,
    blur,
    colours,
    digital,
    fields,
    geometry,
    light,
    noise,
    obscure,
    patches,
    perspective,
    sequences,
    sky,
    tint,
    warps,
    weather,
)
from scuff.corruptions.registry import Corruption, get, names, register

__all__ = ["Corruption", "get", "names", "register"]
