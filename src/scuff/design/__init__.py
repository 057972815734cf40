"""Design of benchmarks: which corruptions to take, and how severe. Pure: no torch, no images.

`find_nonoverlapping` chooses corruptions that do not overlap, `find_categories` groups them, `balanced` takes the same
number from each category, and `stability` tells how far all of this depends on the seed. `find_dissimilar` chooses
corruptions that look different from those of another benchmark, and `calibrate` finds a range of severities.
`group_validity` tells how well groups of benchmarks predict robustness to natural shifts, `trends` what makes them do
so, and `find_predictive` searches the benchmark that does so best.
"""

from scuff.design.calibration.calibrate import Calibration, calibrate
from scuff.design.overlap.balanced import (
    balanced,
    count_benchmarks,
    generate,
    least_overlapping,
    spread_of,
    std_groups,
    substitute,
)
from scuff.design.overlap.categories import Categories, correlations, find_categories, linkage
from scuff.design.overlap.nonoverlapping import Selection, find_nonoverlapping, nonoverlapping, sweep
from scuff.design.overlap.stability import Stability, stability
from scuff.design.transform_space.dissimilar import Dissimilar, find_dissimilar
from scuff.design.transform_space.groups import Scan, average_spread, severity_groups
from scuff.design.transform_space.sets import contribution, matched_sets
from scuff.design.validity.groups import Group, nk_groups, spread_groups
from scuff.design.validity.predictive import Predictive, find_predictive
from scuff.design.validity.scores import GroupValidity, benchmark_correlations, group_validity
from scuff.design.validity.trends import trends

# Overlaps and severities, then dissimilar benchmarks, then predictive ones.
__all__ = ["Calibration", "Categories", "Selection", "Stability", "balanced", "calibrate", "correlations"]
__all__ += ["count_benchmarks", "find_categories", "find_nonoverlapping", "generate"]
__all__ += [
    "least_overlapping",
    "linkage",
    "nonoverlapping",
    "spread_of",
    "stability",
    "std_groups",
    "substitute",
    "sweep",
]
__all__ += ["Dissimilar", "Scan", "average_spread", "contribution", "find_dissimilar", "matched_sets"]
__all__ += ["severity_groups"]
__all__ += ["Group", "GroupValidity", "Predictive", "benchmark_correlations", "find_predictive", "group_validity"]
__all__ += ["nk_groups", "spread_groups", "trends"]
