"""Where cells run."""

from scuff.engine.local import count_processes, run_cells

__all__ = ["count_processes", "run_cells"]
