"""The catalogue: importing this package registers every corruption, one module per family."""

from scuff.corruptions import blur, digital, noise, weather  # noqa: F401  (registration)
from scuff.corruptions.registry import Corruption, get, names, register

__all__ = ["Corruption", "get", "names", "register"]
