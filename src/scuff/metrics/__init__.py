"""Scores of rows, each with an interval, and distances between classes.

Pure: numpy, pandas, scipy, numba, threadpoolctl and yaml; torch for distances on a GPU and between pictures only.

Rows have one line per image and cell (a corruption at a severity), as an evaluation writes them. Scores take the rows
of one model; `summary`, `ranks` and `compare` take those of many, in one table or as {model: rows}.

>>> from scuff.metrics import example_rows, mean_error
>>> print(mean_error(example_rows()))
0.38 [0.33, 0.42] (n = 200; bootstrap over images 95 %)
"""

from scuff.metrics.adaptation import (
    adaptation_gains,
    adaptation_scores,
    collapse,
    negative_flips,
    segment_errors,
    stream_error,
    window_errors,
)
from scuff.metrics.estimate import bootstrap, bootstrap_difference
from scuff.metrics.evaluation.comparison import compare, difference, differences, holm, ranks, scores, summary
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
from scuff.metrics.evaluation.own import register
from scuff.metrics.evaluation.references import Reference, load_reference
from scuff.metrics.evaluation.stability import flip_probability, mfr, mt5d, top5_distance
from scuff.metrics.evaluation.tables import Cells, by_model, read_cells
from scuff.metrics.intervals import Resampling, wilson
from scuff.metrics.overlap.accuracies import Accuracies, read_accuracies, robustness_scores
from scuff.metrics.overlap.benchmarks import Balance, balance, ce_table, coverage, direct_coverage, spread
from scuff.metrics.overlap.scores import Agreement, Overlaps, agreement, overlap, overlaps, read_overlaps
from scuff.metrics.sampling.scores import sampled_scores
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
from scuff.metrics.separation.training_noise import compare_training_noise
from scuff.metrics.survival import (
    median_failure,
    survival,
    survival_area,
    survival_differences,
    survival_scores,
    survival_table,
)
from scuff.metrics.tasks.performance import Performance, cell_scores, corruption_scores, performance, task_scores
from scuff.metrics.transform_space.distances import Distances, read_distances
from scuff.metrics.transform_space.nearness import closest_order, mmd, msd, scheme_correlations
from scuff.metrics.validity.correlation import Correlation, correlate
from scuff.metrics.validity.effective import Effective, effective_robustness
from scuff.metrics.validity.scores import contributions, validity
from scuff.metrics.validity.shift_tables import complete_shifts, read_shifts
from scuff.metrics.validity.shifts import Shifts
from scuff.metrics.visual import vif_distance

# Any score, evaluations, and then a group for each question: overlap, separation, transform space and validity.
__all__ = ["Difference", "Resampling", "Score", "bootstrap", "bootstrap_difference", "to_frame", "wilson"]
__all__ += ["Cells", "Reference", "accuracy", "by_model", "ce", "cell_errors", "compare", "difference", "differences"]
__all__ += ["ece", "error", "example_films", "example_rows", "family_means", "flip_probability", "holm"]
__all__ += ["load_reference", "mce", "mean_error", "mfr", "mt5d", "ranks", "read_cells", "register", "reliability"]
__all__ += ["residual_robustness", "robustness_score", "sampled_scores", "scores", "summary", "top5_distance"]
__all__ += ["Accuracies", "Agreement", "Balance", "Overlaps", "agreement", "balance", "ce_table", "coverage"]
__all__ += ["direct_coverage", "overlap", "overlaps", "read_accuracies", "read_overlaps", "robustness_scores", "spread"]
__all__ += ["Neighbours", "RobustAccuracies", "Separation", "accuracy_table", "class_separation", "class_separations"]
__all__ += [
    "compare_training_noise",
    "copies_effect",
    "mscr",
    "mscr_scores",
    "nearest_other_class",
    "read_robust_accuracies",
    "running_mscr",
]
__all__ += ["median_failure", "survival", "survival_area", "survival_differences", "survival_scores", "survival_table"]
__all__ += ["adaptation_gains", "adaptation_scores", "collapse", "negative_flips", "segment_errors", "stream_error"]
__all__ += ["window_errors"]
__all__ += ["Distances", "closest_order", "mmd", "msd", "read_distances", "scheme_correlations"]
__all__ += ["Correlation", "Effective", "Shifts", "complete_shifts", "contributions", "correlate"]
__all__ += ["Performance", "cell_scores", "corruption_scores", "performance", "task_scores"]
__all__ += ["effective_robustness", "read_shifts", "validity", "vif_distance"]
