"""What the report of validity says first: whether benchmarks predict, and what makes them predict better."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from scuff.metrics import Score
from scuff.report.page import Verdicts
from scuff.report.validity.scores import ALL, STRONG, WEAK, ValidityScores, signed
from scuff.report.words import bracketed, count, hundredths, listed

TRENDS = {  # what is asked, in units of what a slope is, and the sign that the paper found
    "n": ("Number of categories", "per category more, at the same size", 1),
    "size": ("Size", "per corruption more, of the same categories", 1),
    "std": ("Imbalance", "per unit of std, at the same size, of the same categories", -1),
}


def validity_verdicts(scores: ValidityScores) -> Verdicts:
    """A sentence or two about every suite, then about corruptions, groups and searches, as far as they are there."""
    verdicts = [(_subject(scores, *suite), _suite_words(scores, *suite)) for suite in scores.suites]
    if len(scores.corruptions) > 1:
        verdicts.append(("Single corruptions", _corruption_words(scores)))
    verdicts += trend_verdicts(scores)
    if scores.searches is not None:
        verdicts += [_search_verdict(scores, row) for row in scores.searches.itertuples(index=False)]
    return verdicts


def trend_verdicts(scores: ValidityScores) -> Verdicts:
    """Whether correlations rise with the number of categories, of corruptions, and with balance, as the paper says."""
    if scores.trends is None:
        return []
    slopes = scores.trends[scores.trends["smaller"] == ALL]
    verdicts = []
    for question, (title, *_) in TRENDS.items():
        lines = {row.natural: row for row in slopes[slopes["question"] == question].itertuples(index=False)}
        if scores.overall in lines:
            verdicts.append((title, _trend_words(question, lines[scores.overall], lines)))
    return verdicts


def warnings(scores: ValidityScores) -> list[str]:
    """What warns of benchmarks that were searched for, with their size."""
    if scores.searches is None:
        return []
    rows = scores.searches.itertuples(index=False)
    return [f"Warning, {count(int(row.size), 'corruption')}: {_sentence(row.warning)}" for row in rows if row.warning]


def _subject(scores: ValidityScores, what: str, benchmark: str) -> str:
    size = count(scores.size(what, benchmark), "corruption")
    if what == "score":
        return benchmark
    return f"All {size}" if benchmark == ALL else f"{benchmark} ({size})"


def _suite_words(scores: ValidityScores, what: str, benchmark: str) -> str:
    """Whether a benchmark predicts, with which natural benchmarks, and whether it still does given clean accuracy."""
    found = _by_natural(scores, what, benchmark, "pearson")
    sentences = [f"{_correlates(found)}."]
    mean = scores.score(what, benchmark)
    if len(scores.natural) > 1 and mean is not None and not math.isnan(mean.value):
        defined = {name: one.value for name, one in found.items() if not math.isnan(one.value)}
        ends = [
            f"{hundredths(defined[name])} with {name}"
            for name in (min(defined, key=defined.get), max(defined, key=defined.get))
        ]
        sentences.append(f"Mean r = {_value(mean)}, from {ends[0]} to {ends[1]}.")
    elif mean is not None and not math.isnan(mean.value):
        sentences.append(f"r = {_value(mean)}.")
    given = _by_natural(scores, what, benchmark, "partial")
    if given:
        sentences.append(_given_words(found, given, scores.score(what, benchmark, kind="partial")))
    effective = scores.score(what, benchmark, kind="effective")
    if effective is not None and not math.isnan(effective.value):
        sentences.append(f"Effective robustness on both: {_mean(scores)}r = {_value(effective)}.")
    return " ".join(sentences)


def _by_natural(scores: ValidityScores, what: str, benchmark: str, kind: str) -> dict[str, Score]:
    found = {natural: scores.score(what, benchmark, natural, kind) for natural in scores.natural}
    return {natural: one for natural, one in found.items() if one is not None}


def _correlates(found: Mapping[str, Score]) -> str:
    """With which natural benchmarks correlations are known to be positive, how strong they are, and with which not."""
    sure, against, open_, undefined = _sorted_out(found)
    shifts = count(len(found), "natural shift")
    if sure:
        named = f"all {shifts}" if 2 < len(sure) == len(found) else listed(sure)
        text = _graded({name: found[name].value for name in sure}, named)
    else:
        text = f"is not known to correlate with robustness to {'any of ' if len(found) > 1 else ''}{shifts}"
    text += f"; not known to for {listed(open_)}, whose {_intervals(open_)} 0" if sure and open_ else ""
    text += f"; models that are robust to it are less robust to {listed(against)}" if against else ""
    return text + (f"; not defined for {listed(undefined)}" if undefined else "")


def _graded(values: Mapping[str, float], named: str) -> str:
    """How strongly a benchmark correlates, by r as it is written: in one word if one holds for all."""
    grades: dict[str, list[str]] = {"strongly": [], "moderately": [], "weakly": []}
    for name, value in values.items():
        value = round(value, 2)
        grades["strongly" if value >= STRONG else "moderately" if value >= WEAK else "weakly"].append(name)
    used = {grade: names for grade, names in grades.items() if names}
    if len(used) == 1:
        return f"correlates {next(iter(used))} with robustness to {named}"
    each = [f"{grade} for {listed(names)}" for grade, names in used.items()]
    return f"correlates with robustness to {named}, {', '.join(each)}"


def _given_words(found: Mapping[str, Score], given: Mapping[str, Score], mean: Score | None) -> str:
    """Whether a benchmark says more than clean accuracy does."""
    sure, against, open_, undefined = _sorted_out(given)
    value = "" if mean is None or math.isnan(mean.value) else f"{'mean ' if len(given) > 1 else ''}r = {_value(mean)}"
    start = "Among models of the same clean accuracy"
    if len(undefined) == len(given):
        return f"{start}, it is not defined."
    still = "still " if sure and _sorted_out(found)[0] else ""
    if len(sure) == len(given):
        text = f"it {still}does{' for all of them' if len(given) > 1 else ''}"
    elif sure:
        text = f"it {still}does for {listed(sure)}"
        text += f", and is not known to for {listed(open_)}" if open_ else ""
    else:
        text = "it is not known to" + (" for any of them" if len(given) > 1 else "")
    text += f"; it is the other way round for {listed(against)}" if against else ""
    return f"{start}, {text}{f': {value}' if value else ''}."


def _sorted_out(found: Mapping[str, Score]) -> tuple[list[str], list[str], list[str], list[str]]:
    """The names whose interval is above 0, below 0, holds 0; and those without a value."""
    undefined = [name for name, one in found.items() if math.isnan(one.value)]
    sure = [name for name, one in found.items() if one.low > 0]
    against = [name for name, one in found.items() if one.high < 0]
    return sure, against, [name for name in found if name not in {*undefined, *sure, *against}], undefined


def _corruption_words(scores: ValidityScores) -> str:
    found = {name: scores.score("corruption", name) for name in scores.corruptions}
    known = {name: one for name, one in found.items() if not math.isnan(one.value)}
    if not known:
        return "no correlation is defined."
    names = list(known)
    text = f"{scores.shown[names[0]]} correlates best alone, r = {_value(known[names[0]])}"
    text += f", {scores.shown[names[-1]]} least, {_value(known[names[-1]])}"
    return f"{text}{' in the mean' if len(scores.natural) > 1 else ''}.{_better_alone(scores)}"


def _better_alone(scores: ValidityScores) -> str:
    """Which corruptions are known to do better alone than the benchmark that contributions are those to."""
    if scores.contributions is None or "alone_gain_low" not in scores.contributions:
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


def _trend_words(question: str, line, by_natural: Mapping[str, Any]) -> str:
    """Whether r changes in the mean; if that is not known, with which natural benchmarks it does."""
    _, unit, sign = TRENDS[question]
    if math.isnan(line.difference):
        return "not known."
    amount = f"{signed(line.difference)}{bracketed(line.low, line.high, signed)} {unit}"
    if line.low <= 0 <= line.high:
        rising = [name for name, its in by_natural.items() if its.low > 0]
        falling = [name for name, its in by_natural.items() if its.high < 0]
        some = [f"{word} with {listed(names)}" for word, names in (("rises", rising), ("falls", falling)) if names]
        return f"r is not known to change with it: {amount}." + (f" It {listed(some)}." if some else "")
    rises = line.difference > 0
    paper = "as in the paper" if rises == (sign > 0) else "unlike in the paper"
    return f"r {'rises' if rises else 'falls'}, {paper}: {amount}."


def _search_verdict(scores: ValidityScores, row) -> tuple[str, str]:
    members = [scores.shown.get(name, name) for name in row.members.split()]
    held_out = f"{hundredths(row.held_out)}{bracketed(row.held_out_low, row.held_out_high, hundredths)}"
    others = f"random ones have {hundredths(row.random)}, and all candidates together {hundredths(row.whole)}"
    text = f"{listed(members)}: r = {held_out} for held-out models, where {others}."
    warning = f" Warning: {_sentence(row.warning)}" if row.warning else ""
    return f"Most predictive {int(row.size)}", text + warning


def _mean(scores: ValidityScores) -> str:
    return "mean " if len(scores.natural) > 1 else ""


def _value(score: Score) -> str:
    return f"{hundredths(score.value)}{bracketed(score.low, score.high, hundredths)}"


def _intervals(names: Sequence[str]) -> str:
    return "interval holds" if len(names) == 1 else "intervals hold"


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
