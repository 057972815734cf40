"""The matrix of corruptions and natural benchmarks: which corruptions carry the signal."""

from __future__ import annotations

import math

from scuff.metrics.validity.shifts import MEAN
from scuff.report.colours import shade
from scuff.report.heatmap import HeatCell, scale
from scuff.report.matrix import Matrix, make_matrix
from scuff.report.validity.scores import KINDS, ValidityScores, signed
from scuff.words import hundredths, interval


def corruption_matrix(scores: ValidityScores) -> Matrix:
    """Pearson's correlation of every corruption alone with every natural benchmark; the best of a column is framed."""
    scored = {(name, to): scores.score("corruption", name, to) for name in scores.corruptions for to in scores.columns}
    values = {key: row.value for key, row in scored.items() if row is not None and not math.isnan(row.value)}
    best = {to: max((v for (_, other), v in values.items() if other == to), default=math.nan) for to in scores.columns}
    rows = [] if scores.contributions is None else scores.contributions.itertuples(index=False)
    gains = {(row.corruption, row.natural): row.gain for row in rows if not math.isnan(row.gain)}
    categories = scores.settings.get("categories") or {}
    category_of = {name: category for category, members in categories.items() for name in members}

    def cell(name: str, to: str) -> HeatCell | None:
        if (name, to) not in values:
            return None
        value, tip = values[name, to], [f"{scores.name(name)} and {'natural benchmarks, mean' if to == MEAN else to}"]
        for kind, words in KINDS.items():
            row = scores.score("corruption", name, to, kind)
            if row is not None:
                between = interval(row.low, row.high, hundredths)
                tip.append(f"{words}: {hundredths(row.value)}" + (f" ({between})" if between else ""))
        tip += [f"gain in {scores.contributing}: {signed(gains[name, to])}"] if (name, to) in gains else []
        tip += [f"category {category_of[name]}"] if name in category_of else []
        is_best = value == best[to] and len(scores.corruptions) > 1
        return HeatCell(hundredths(value), shade(max(value, 0.0), 1.0), "\n".join(tip), is_best)

    columns = [("", scores.natural), *([("", [MEAN])] if MEAN in scores.columns else [])]
    shown = {name: scores.name(name) for name in scores.corruptions} | {to: to for to in scores.columns}
    caption, ends = "Pearson's correlation of corruptions alone with natural benchmarks", scale("0 or less", "1")
    return make_matrix(caption, "", ends, [("", scores.corruptions)], columns, cell, shown, is_flat=True)
