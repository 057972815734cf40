"""The names of `scuff.words`, for modules that still import them from here."""

from scuff.words import *  # noqa: F403
from scuff.words import NOTHING  # noqa: F401
