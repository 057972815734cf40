"""Design of benchmarks: which corruptions to take, and how severe. Pure: no torch, no images.

`find_nonoverlapping` chooses corruptions that do not overlap, `find_categories` groups them, `balanced` takes the same
number from each category, `find_dissimilar` chooses corruptions that look different from those of another benchmark,
and `calibrate` finds a range of severities.
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
from scuff.design.dissimilar import find_dissimilar
from scuff.design.dissimilar_groups import Scan, average_spread, severity_groups
from scuff.design.dissimilar_result import Dissimilar
from scuff.design.dissimilar_sets import contribution, matched_sets
from scuff.design.nonoverlapping import Selection, find_nonoverlapping, nonoverlapping, sweep

__all__ = [
    "Calibration",
    "Categories",
    "Dissimilar",
    "Scan",
    "Selection",
    "average_spread",
    "balanced",
    "calibrate",
    "contribution",
    "correlations",
    "count_benchmarks",
    "find_categories",
    "find_dissimilar",
    "find_nonoverlapping",
    "generate",
    "least_overlapping",
    "linkage",
    "matched_sets",
    "nonoverlapping",
    "severity_groups",
    "spread_of",
    "std_groups",
    "substitute",
    "sweep",
]
