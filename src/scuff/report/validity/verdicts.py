"""What the report of validity says first: whether benchmarks predict, and what makes them predict better."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from scuff.metrics import Score
from scuff.report.page import Verdicts
from scuff.report.validity.notes import some_of
from scuff.report.validity.scores import ALL, STRONG, WEAK, ValidityScores, signed, with_interval
from scuff.report.validity.single import corruption_words
from scuff.report.words import bracketed, count, hundredths, listed

TRENDS = {  # what is asked, in units of what a slope is, and the sign that the paper found
    "n": ("Number of categories", "per category more, at the same size", 1),
    "size": ("Size", "per corruption more, of the same categories", 1),
    "std": ("Imbalance", "per unit of std, at the same size, of the same categories", -1),
}
MOST_COMPARED = 4  # pairs of groups that are named for a slope
MOST_MEMBERS = 6  # of a benchmark that are named in a sentence


def validity_verdicts(scores: ValidityScores) -> Verdicts:
    """A sentence or two about every suite, then about corruptions, groups and searches, as far as they are there."""
    verdicts = [(_subject(scores, *suite), _suite_words(scores, *suite)) for suite in scores.suites]
    if len(scores.corruptions) > 1:
        verdicts.append(("Single corruptions", corruption_words(scores)))
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
            compared = compared_words(scores.trends, question, scores.overall)
            verdicts.append((title, _trend_words(question, lines[scores.overall], lines, compared)))
    return verdicts


def compared_words(trends: pd.DataFrame, question: str, natural: str) -> str:
    """How many comparisons of groups a slope is from, and the first of them.

    >>> steps = {"question": "n", "natural": "mean", "smaller": ["1,2", "all"], "larger": ["2,1", "all"]}
    >>> compared_words(pd.DataFrame(steps), "n", "mean")
    '1 comparison (1,2 to 2,1)'
    """
    its = trends[(trends["question"] == question) & (trends["natural"] == natural) & (trends["smaller"] != ALL)]
    pairs = [f"{row.smaller} to {row.larger}" for row in its.itertuples(index=False)]
    shown = "; ".join([*pairs[:MOST_COMPARED], *(["..."] if len(pairs) > MOST_COMPARED else [])])
    return f"{count(len(pairs), 'comparison')} ({shown})" if pairs else ""


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
    sentences += _range_words(found, scores.score(what, benchmark))
    given = _by_natural(scores, what, benchmark, "curved")
    if given:
        sentences.append(_given_words(found, given, scores.score(what, benchmark, kind="curved")))
    effective = scores.score(what, benchmark, kind="effective")
    if effective is not None and not math.isnan(effective.value):
        sentences.append(f"Effective robustness on both: {_mean(scores)}r = {with_interval(effective)}.")
    return " ".join(sentences)


def _range_words(found: Mapping[str, Score], mean: Score | None) -> list[str]:
    """The correlations with natural benchmarks in a sentence, if any is defined."""
    defined = {name: one for name, one in found.items() if not math.isnan(one.value)}
    if len(found) == 1 and defined:
        return [f"r = {with_interval(*defined.values())}."]
    if len(defined) < 2:
        return [f"With {name}, r = {with_interval(one)}." for name, one in defined.items()]
    order = sorted(defined, key=lambda name: defined[name].value)
    ends = " to ".join(f"{hundredths(defined[name].value)} with {name}" for name in (order[0], order[-1]))
    is_known = mean is not None and not math.isnan(mean.value)
    return [f"Mean r = {with_interval(mean)}, from {ends}." if is_known else f"r is from {ends}."]


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
    value = (
        ""
        if mean is None or math.isnan(mean.value)
        else f"{'mean ' if len(given) > 1 else ''}r = {with_interval(mean)}"
    )
    start = "Given a curve in clean accuracy"
    if len(undefined) == len(given):
        return f"{start}, it is not defined."
    still = "still " if sure and _sorted_out(found)[0] else ""
    if len(sure) == len(given):
        text = f"it {still}correlates{' with all of them' if len(given) > 1 else ''}"
    elif sure:
        text = f"it {still}correlates with {listed(sure)}"
        text += f", and is not known to with {listed(open_)}" if open_ else ""
    else:
        text = "it is not known to correlate" + (" with any of them" if len(given) > 1 else "")
    text += f"; it is the other way round with {listed(against)}" if against else ""
    return f"{start}, {text}{f': {value}' if value else ''}."


def _sorted_out(found: Mapping[str, Score]) -> tuple[list[str], list[str], list[str], list[str]]:
    """The names whose interval is above 0, below 0, holds 0; and those without a value."""
    undefined = [name for name, one in found.items() if math.isnan(one.value)]
    sure = [name for name, one in found.items() if one.low > 0]
    against = [name for name, one in found.items() if one.high < 0]
    return sure, against, [name for name in found if name not in {*undefined, *sure, *against}], undefined


def _trend_words(question: str, line, by_natural: Mapping[str, Any], compared: str) -> str:
    """Whether r changes in the mean; if that is not known, with which natural benchmarks it does."""
    _, unit, sign = TRENDS[question]
    amount = f"{signed(line.difference)}{bracketed(line.low, line.high, signed)} {unit}"
    amount += f", from {compared}" if compared else ""
    if not (line.low > 0 or line.high < 0):
        rising = [name for name, its in by_natural.items() if its.low > 0]
        falling = [name for name, its in by_natural.items() if its.high < 0]
        some = [f"{word} with {listed(names)}" for word, names in (("rises", rising), ("falls", falling)) if names]
        start = "no mean r is defined" if math.isnan(line.difference) else f"r is not known to change with it: {amount}"
        return f"{start}." + (f" It {listed(some)}." if some else "")
    rises = line.difference > 0
    paper = "as in the paper" if rises == (sign > 0) else "unlike in the paper"
    return f"r {'rises' if rises else 'falls'}, {paper}: {amount}."


def _search_verdict(scores: ValidityScores, row) -> tuple[str, str]:
    """What was found for a size, and the first words of what warns of it; all of them are in a section."""
    members = some_of(scores.members_of(row), MOST_MEMBERS)
    held_out = f"{hundredths(row.held_out)}{bracketed(row.held_out_low, row.held_out_high, hundredths)}"
    others = f"random ones have {hundredths(row.random)}, and all candidates together {hundredths(row.whole)}"
    text = f"{listed(members)}: r = {held_out} for held-out models, where {others}."
    warning = f" Warning: {_sentence(row.warning.partition(': ')[0])}" if row.warning else ""
    return f"Most predictive {int(row.size)}", text + warning


def _mean(scores: ValidityScores) -> str:
    return "mean " if len(scores.natural) > 1 else ""


def _intervals(names: Sequence[str]) -> str:
    return "interval holds" if len(names) == 1 else "intervals hold"


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
