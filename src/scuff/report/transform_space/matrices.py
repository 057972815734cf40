"""The matrix of distances: schemes down, corruptions across."""

from __future__ import annotations

from scuff.report.colours import shade
from scuff.report.heatmap import HeatCell, scale
from scuff.report.matrix import Matrix, make_matrix
from scuff.report.transform_space.names import full_name, is_subset, short_name
from scuff.report.transform_space.scores import DistanceScores
from scuff.report.transform_space.shared import near
from scuff.words import count, percent_sign

MOST_ROWS = 64  # of more schemes, the nearest are shown


def distance_matrix(scores: DistanceScores) -> Matrix:
    """The MSD of every scheme to every corruption. Colours compare the schemes of a column; the nearest is framed."""
    lowest, highest = scores.msd.min(), scores.msd.max()

    def cell(scheme: str, corruption: str) -> HeatCell:
        value, least, most = scores.msd.at[scheme, corruption], lowest[corruption], highest[corruption]
        is_nearest = value == least and len(scores.msd) > 1
        colour = shade(most - value, (most - least) or 1.0)
        return HeatCell(near(value), colour, _tip(scores, scheme, corruption), is_nearest)

    rows = shown_schemes(scores)
    groups = [[s for s in rows if not is_subset(s)], [s for s in rows if is_subset(s)]]
    shown = scores.shown | {scheme: short_name(scheme) for scheme in rows}
    return make_matrix(
        "MSD of schemes to corruptions, mean over severities",
        "",
        scale("farthest", "nearest scheme"),
        [("", group) for group in groups if group],
        [("", list(scores.msd.columns))],
        cell,
        shown,
        is_flat=True,
    )


def shown_schemes(scores: DistanceScores) -> list[str]:
    """The schemes that have a row, from near to far: all with a name of their own, and the nearest of the others."""
    if len(scores.by_distance) <= MOST_ROWS:
        return scores.by_distance
    room = max(0, MOST_ROWS - len(scores.named))
    kept = {*scores.named, *[scheme for scheme in scores.by_distance if is_subset(scheme)][:room]}
    return [scheme for scheme in scores.by_distance if scheme in kept]


def _tip(scores: DistanceScores, scheme: str, corruption: str) -> str:
    deviation = scores.spread.at[scheme, corruption]
    lines = [
        full_name(scheme),
        f"to {scores.shown[corruption]}: MSD {near(scores.msd.at[scheme, corruption])}",
        f"deviation {near(deviation)} over {count(scores.resamplings, 'resampling')}" if deviation >= 0 else "",
        f"MMD {near(scores.mmd.at[scheme, corruption])}",
    ]
    if scores.errors is not None and scores.errors.at[scheme, corruption] >= 0:
        lines.append(f"trained with it: {percent_sign(scores.errors.at[scheme, corruption])} error")
    return "\n".join(filter(None, lines))
