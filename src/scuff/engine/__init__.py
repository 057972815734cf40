"""Where cells run: on this machine, or on a Ray cluster."""

from scuff.engine.cells import Advance, CellsFailed, Engine, Failure, Needs, Work, needs_of
from scuff.engine.cluster import RayEngine
from scuff.engine.journal import read_journals
from scuff.engine.local import LocalEngine
from scuff.engine.open import open_engine
from scuff.engine.run import Progress, Run
from scuff.engine.status import Status, read_statuses

__all__ = [
    "Advance",
    "CellsFailed",
    "Engine",
    "Failure",
    "LocalEngine",
    "Needs",
    "Progress",
    "RayEngine",
    "Run",
    "Status",
    "Work",
    "needs_of",
    "open_engine",
    "read_journals",
    "read_statuses",
]
