"""The page about a class separation is that of MSCR, without the parts on models."""

from scuff.report.separation.mscr import page

__all__ = ["page"]
