"""The matrix of corruptions and natural benchmarks: which corruptions carry the signal."""

from __future__ import annotations

import math

from scuff.report.colours import shade
from scuff.report.heatmap import HeatCell, scale
from scuff.report.matrix import Matrix, make_matrix
from scuff.report.validity.scores import KINDS, MEAN, ValidityScores, signed
from scuff.report.words import hundredths, interval


def corruption_matrix(scores: ValidityScores) -> Matrix:
    """Pearson's correlation of every corruption alone with every natural benchmark; the best of a column is framed."""
    found = {(name, to): scores.score("corruption", name, to) for name in scores.corruptions for to in scores.columns}
    values = {key: one.value for key, one in found.items() if one is not None and not math.isnan(one.value)}
    best = {to: max((v for (_, other), v in values.items() if other == to), default=math.nan) for to in scores.columns}
    contributions = [] if scores.contributions is None else scores.contributions.itertuples(index=False)
    gains = {(row.corruption, row.natural): row for row in contributions}
    category_of = {name: category for category, members in scores.categories.items() for name in members}

    def cell(name: str, to: str) -> HeatCell | None:
        if (name, to) not in values:
            return None
        value, tip = values[name, to], [f"{scores.shown[name]} and {_with(to)}"]
        for kind, words in KINDS.items():
            one = scores.score("corruption", name, to, kind)
            if one is not None:
                between = interval(one.low, one.high, hundredths)
                tip.append(f"{words}: {hundredths(one.value)}" + (f" ({between})" if between else ""))
        if (name, to) in gains and not math.isnan(gains[name, to].gain):
            tip.append(f"gain in {scores.contributing}: {signed(gains[name, to].gain)}")
        tip += [f"category {category_of[name]}"] if name in category_of else []
        is_best = value == best[to] and len(scores.corruptions) > 1
        return HeatCell(hundredths(value), shade(max(value, 0.0), 1.0), "\n".join(tip), is_best)

    columns = [("", scores.natural), *([("", [MEAN])] if MEAN in scores.columns else [])]
    shown = scores.shown | {to: to for to in scores.columns}
    return make_matrix(
        "Pearson's correlation of corruptions alone with natural benchmarks",
        "",
        scale("0 or less", "1"),
        [("", scores.corruptions)],
        columns,
        cell,
        shown,
        is_flat=True,
    )


def _with(to: str) -> str:
    return "natural benchmarks, mean" if to == MEAN else to
