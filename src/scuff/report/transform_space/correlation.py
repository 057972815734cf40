"""The page about correlation: that of distances, which shows errors where there are any."""

from scuff.report.transform_space.distances import page

__all__ = ["page"]
