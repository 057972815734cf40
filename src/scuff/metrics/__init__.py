"""Scores of rows, each with an interval, and distances between classes.

Pure: numpy, pandas, scipy, numba, threadpoolctl and yaml; no images, and torch for distances on a GPU only.

Rows have one line per image and cell (a corruption at a severity), as an evaluation writes them. Scores take the rows
of one model; `summary`, `ranks` and `compare` take those of many, in one table or as {model: rows}.

>>> from scuff.metrics import example_rows, mean_error
>>> print(mean_error(example_rows()))
0.38 [0.33, 0.42] (n = 200; bootstrap over images 95 %)
"""

from scuff.metrics.estimate import bootstrap, bootstrap_difference
from scuff.metrics.evaluation.comparison import compare, difference, differences, ranks, scores, summary
from scuff.metrics.evaluation.confidence import ece, reliability
from scuff.metrics.evaluation.corruption_error import ce, mce
from scuff.metrics.evaluation.errors import (
    accuracy,
    cell_errors,
    error,
    family_means,
    mean_error,
    residual_robustness,
    robustness_score,
)
from scuff.metrics.evaluation.examples import example_films, example_rows
from scuff.metrics.evaluation.references import Reference, load_reference
from scuff.metrics.evaluation.stability import flip_probability, mfr, mt5d, top5_distance
from scuff.metrics.evaluation.tables import Cells, by_model, read_cells
from scuff.metrics.intervals import Resampling, wilson
from scuff.metrics.overlap.accuracies import Accuracies, read_accuracies
from scuff.metrics.overlap.agreement import Agreement, agreement
from scuff.metrics.overlap.balance import Balance, balance, spread
from scuff.metrics.overlap.coverage import coverage, direct_coverage
from scuff.metrics.overlap.scores import Overlaps, overlap, overlaps, read_overlaps, robustness_scores
from scuff.metrics.score import Difference, Score, to_frame
from scuff.metrics.separation.classes import (
    Neighbours,
    Separation,
    class_separation,
    class_separations,
    nearest_other_class,
)
from scuff.metrics.separation.mscr import accuracy_table, copies_effect, mscr, mscr_scores, running_mscr
from scuff.metrics.separation.robust_accuracies import RobustAccuracies, read_robust_accuracies
from scuff.metrics.transform_space.distances import Distances, read_distances
from scuff.metrics.transform_space.nearness import closest_order, mmd, msd, scheme_correlations
from scuff.metrics.validity.correlation import Correlation, correlate
from scuff.metrics.validity.effective import Effective, effective_robustness
from scuff.metrics.validity.scores import contributions, validity
from scuff.metrics.validity.shift_tables import complete_shifts, read_shifts
from scuff.metrics.validity.shifts import Shifts

__all__ = [
    "Accuracies",
    "Agreement",
    "Balance",
    "Cells",
    "Correlation",
    "Difference",
    "Distances",
    "Effective",
    "Neighbours",
    "Overlaps",
    "Reference",
    "Resampling",
    "RobustAccuracies",
    "Score",
    "Separation",
    "Shifts",
    "accuracy",
    "accuracy_table",
    "agreement",
    "balance",
    "bootstrap",
    "bootstrap_difference",
    "by_model",
    "ce",
    "cell_errors",
    "class_separation",
    "class_separations",
    "closest_order",
    "compare",
    "complete_shifts",
    "contributions",
    "copies_effect",
    "correlate",
    "coverage",
    "difference",
    "differences",
    "direct_coverage",
    "ece",
    "effective_robustness",
    "error",
    "example_films",
    "example_rows",
    "family_means",
    "flip_probability",
    "load_reference",
    "mce",
    "mean_error",
    "mfr",
    "mmd",
    "mscr",
    "mscr_scores",
    "msd",
    "mt5d",
    "nearest_other_class",
    "overlap",
    "overlaps",
    "ranks",
    "read_accuracies",
    "read_cells",
    "read_distances",
    "read_overlaps",
    "read_robust_accuracies",
    "read_shifts",
    "reliability",
    "residual_robustness",
    "robustness_score",
    "robustness_scores",
    "running_mscr",
    "scheme_correlations",
    "scores",
    "spread",
    "summary",
    "to_frame",
    "top5_distance",
    "validity",
    "wilson",
]
