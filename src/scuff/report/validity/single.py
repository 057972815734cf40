"""What the report of validity says of single corruptions: which correlates best alone, and better than all together."""

from __future__ import annotations

import math
from collections.abc import Mapping

from scuff.metrics import Score
from scuff.report.validity.notes import some_of
from scuff.report.validity.scores import ValidityScores, with_interval
from scuff.report.words import listed


def corruption_words(scores: ValidityScores) -> str:
    """Which corruption correlates best alone, in the mean; if that is not defined, with every natural benchmark."""
    if not scores.telling:
        return "no correlation is defined."
    found = {natural: _alone(scores, natural) for natural in scores.telling}
    if scores.overall in found:
        known = found[scores.overall]
        lacking = [scores.shown[name] for name in scores.corruptions if name not in known]
        none = f" No correlation is defined for {listed(some_of(lacking))}." if lacking else ""
        where = " in the mean" if len(scores.natural) > 1 else ""
        return f"{_best_alone(scores, known, where)}.{none}{_better_alone(scores)}"
    undefined = [natural for natural in scores.natural if natural not in found]
    sentences = [f"With {natural}, {_best_alone(scores, its)}." for natural, its in found.items()]
    return " ".join([f"no correlation with {listed(undefined)} is defined, and so none in the mean.", *sentences])


def _alone(scores: ValidityScores, natural: str) -> dict[str, Score]:
    """The correlations of single corruptions that are defined, the highest first."""
    found = {name: scores.score("corruption", name, natural) for name in scores.corruptions}
    known = {name: one for name, one in found.items() if one is not None and not math.isnan(one.value)}
    return dict(sorted(known.items(), key=lambda item: -item[1].value))


def _best_alone(scores: ValidityScores, known: Mapping[str, Score], where: str = "") -> str:
    """Which corruption correlates best, of those whose interval is above 0, and which least."""
    names = list(known)
    sure = [name for name, one in known.items() if one.low > 0]
    if not sure:
        start = f"none of {len(known)} is known to correlate alone{where}"
        return f"{start}; the highest r, of {scores.shown[names[0]]}, is {with_interval(known[names[0]])}"
    best = f"{scores.shown[sure[0]]} correlates best alone{where}"
    if sure[0] != names[0]:
        best += ", of those whose interval is above 0"
    least = f"; {scores.shown[names[-1]]} least, {with_interval(known[names[-1]])}" if len(known) > 1 else ""
    return f"{best}, r = {with_interval(known[sure[0]])}{least}"


def _better_alone(scores: ValidityScores) -> str:
    """Which corruptions are known to do better alone than the benchmark that contributions are those to."""
    if scores.contributions is None:
        return ""
    its = scores.contributions[scores.contributions["natural"] == scores.overall]
    its = its[its["alone_gain"].notna()]
    if len(its) < 2:
        return ""
    better = [scores.shown.get(name, name) for name in its.loc[its["alone_gain_low"] > 0, "corruption"]]
    whole = f"better alone than {scores.contributing} together"
    if not better:
        return f" Of {len(its)}, none is known to correlate {whole}."
    verb = "correlates" if len(better) == 1 else "correlate"
    return f" Of {len(its)}, {listed(better)} {verb} {whole}: the interval of the difference is above 0."
