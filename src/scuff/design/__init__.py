"""Design of benchmarks: which corruptions to take, and how severe. Pure: no torch, no images.

`find_nonoverlapping` chooses corruptions that do not overlap, `find_categories` groups them, `balanced` takes the same
number from each category, and `calibrate` finds a range of severities.
"""

from scuff.design.balanced import (
    balanced,
    count_benchmarks,
    generate,
    least_overlapping,
    spread_of,
    std_groups,
    substitute,
)
from scuff.design.calibrate import Calibration, calibrate
from scuff.design.categories import Categories, correlations, find_categories, linkage
from scuff.design.nonoverlapping import Selection, find_nonoverlapping, nonoverlapping, sweep

__all__ = [
    "Calibration",
    "Categories",
    "Selection",
    "balanced",
    "calibrate",
    "correlations",
    "count_benchmarks",
    "find_categories",
    "find_nonoverlapping",
    "generate",
    "least_overlapping",
    "linkage",
    "nonoverlapping",
    "spread_of",
    "std_groups",
    "substitute",
    "sweep",
]
