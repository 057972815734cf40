"""What the page about validity says first: whether benchmarks predict, and what makes them predict better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from scuff.report.page import Verdicts
from scuff.report.validity.scores import ALL, ValidityScores, signed, with_interval
from scuff.report.validity.tables import some_of, step_name
from scuff.words import bracketed, count, hundredths, listed

WEAK, STRONG = 0.3, 0.6  # correlations below the first are called weak, from the second on strong
GRADES = ("strong", "moderate", "weak", "not known (the interval holds 0)", "negative", "not defined")
TRENDS = {  # title, unit of the slope, and the sign that the paper found
    "n": ("Number of categories", "per category more, at the same size", 1),
    "size": ("Size", "per corruption more, of the same categories", 1),
    "std": ("Imbalance", "per unit of std, at the same size, of the same categories", -1),
}
MOST_COMPARED = 4  # pairs of groups that are named for a slope
MOST_MEMBERS = 6  # of a benchmark that are named in a sentence
RUNNERS_UP = 2  # corruptions that are named after the most predictive one


def validity_verdicts(scores: ValidityScores) -> Verdicts:
    """Sentences about every suite, then about corruptions, groups and searches, as far as they were computed."""
    verdicts = []
    for what, name in scores.suites:
        size = count(int(scores.score(what, name).size), "corruption")
        subject = name if what == "score" else f"All {size}" if name == ALL else f"{name} ({size})"
        verdicts.append((subject, _suite_words(scores, what, name)))
    if len(scores.corruptions) > 1:
        verdicts.append(("Single corruptions", corruption_words(scores)))
    verdicts += trend_verdicts(scores)
    rows = [] if scores.searches is None else scores.searches.itertuples(index=False)
    return verdicts + [(f"Most predictive {row.size}", _search_words(scores, row)) for row in rows]


# --- suites ---------------------------------------------------------------------------------------------------------


def _suite_words(scores: ValidityScores, what: str, name: str) -> str:
    """Which natural benchmarks a benchmark predicts, how well, and whether it still does given clean accuracy."""
    rows, mean = scores.by_natural(what, name), scores.score(what, name)
    sentences = [f"correlation with robustness to natural shifts: {_graded(rows)}."]
    defined = sorted((row for row in rows.values() if not math.isnan(row.value)), key=lambda row: row.value)
    if len(rows) == 1:
        sentences += [f"r = {with_interval(row)}." for row in defined]
    elif defined:
        average = "r" if math.isnan(mean.value) else f"Mean r = {with_interval(mean)},"
        ends = " to ".join(f"{hundredths(row.value)} with {row.natural}" for row in (defined[0], defined[-1]))
        sentences.append(f"{average} from {ends}.")
    for kind, start in {
        "curved": "Given a curve in clean accuracy",
        "effective": "Effective robustness on both",
    }.items():
        rows, mean = scores.by_natural(what, name, kind), scores.score(what, name, kind=kind)
        if rows:
            average = "" if math.isnan(mean.value) else f"; {'mean ' if len(rows) > 1 else ''}r = {with_interval(mean)}"
            sentences.append(f"{start}: {_graded(rows)}{average}.")
    return " ".join(sentences)


def _graded(rows: Mapping[str, Any]) -> str:
    """How strongly natural benchmarks correlate, those with the same grade together."""
    names: dict[str, list[str]] = {}
    for name, row in rows.items():
        names.setdefault(_grade(row), []).append(name)
    if len(names) == 1 and len(rows) > 2:
        return f"{next(iter(names))} for all {len(rows)}"
    return "; ".join(f"{grade} for {listed(names[grade])}" for grade in GRADES if grade in names)


def _grade(row: Any) -> str:
    """A word for a correlation, by its interval, and by r as it is written."""
    if math.isnan(row.value):
        return "not defined"
    if row.high < 0:
        return "negative"
    if not row.low > 0:
        return "not known (the interval holds 0)"
    value = round(row.value, 2)
    return "strong" if value >= STRONG else "moderate" if value >= WEAK else "weak"


# --- corruptions ----------------------------------------------------------------------------------------------------


def corruption_words(scores: ValidityScores) -> str:
    """Which corruptions correlate best alone, on average; if that is not defined, with every natural benchmark."""
    if not scores.telling:
        return "no correlation is defined."
    if scores.telling != [scores.overall]:
        undefined = listed([natural for natural in scores.natural if natural not in scores.telling])
        each = [_best_alone(scores, natural, f" with {natural}") for natural in scores.telling]
        return " ".join([f"no correlation with {undefined} is defined, and so none on average.", *each])
    lacking = [name for name in scores.corruptions if math.isnan(scores.score("corruption", name).value)]
    none = f" No correlation is defined for {listed(some_of(list(map(scores.name, lacking))))}." if lacking else ""
    where = " on average" if len(scores.natural) > 1 else ""
    return f"{_best_alone(scores, scores.overall, where)}{none}{_better_alone(scores)}"


def _best_alone(scores: ValidityScores, natural: str, where: str) -> str:
    """Which corruptions correlate best, of those whose interval is above 0, and which least."""
    rows = [row for name in scores.corruptions if (row := scores.score("corruption", name, natural)) is not None]
    rows = sorted((row for row in rows if not math.isnan(row.value)), key=lambda row: -row.value)
    above = [row for row in rows if row.low > 0]
    if not above:
        highest = f"the highest r, of {scores.name(rows[0].benchmark)}, is {with_interval(rows[0])}"
        return f"none of {len(rows)} is known to correlate alone{where}; {highest}."
    text = f"{scores.name(above[0].benchmark)} correlates best alone{where}"
    text += ", of those whose interval is above 0" if above[0] != rows[0] else ""
    others = [f"{scores.name(row.benchmark)} ({hundredths(row.value)})" for row in above[1 : 1 + RUNNERS_UP]]
    then = f", then {listed(others)}" if others else ""
    least = f"; {scores.name(rows[-1].benchmark)} least, {with_interval(rows[-1])}" if len(rows) > 1 else ""
    return f"{text}, r = {with_interval(above[0])}{then}{least}."


def _better_alone(scores: ValidityScores) -> str:
    """Which corruptions are known to do better alone than the benchmark that they are members of."""
    if scores.contributions is None:
        return ""
    rows = scores.contributions[scores.contributions["natural"] == scores.overall]
    rows = rows[rows["alone_gain"].notna()]
    if len(rows) < 2:
        return ""
    better = [scores.name(name) for name in rows.loc[rows["alone_gain_low"] > 0, "corruption"]]
    whole = f"better alone than {scores.contributing} together"
    if not better:
        return f" Of {len(rows)}, none is known to correlate {whole}."
    verb = "correlates" if len(better) == 1 else "correlate"
    return f" Of {len(rows)}, {listed(better)} {verb} {whole}: the interval of the difference is above 0."


# --- groups and searches --------------------------------------------------------------------------------------------


def trend_verdicts(scores: ValidityScores) -> Verdicts:
    """Whether correlations rise with the number of categories, of corruptions, and with balance, as the paper says."""
    if scores.trends is None:
        return []
    slopes = scores.trends[scores.trends["smaller"] == ALL]
    verdicts = []
    for question, (title, unit, sign) in TRENDS.items():
        rows = {row.natural: row for row in slopes[slopes["question"] == question].itertuples(index=False)}
        if scores.overall in rows:
            row, compared = rows[scores.overall], compared_words(scores.trends, question, scores.overall)
            amount = f"{signed(row.difference)}{bracketed(row.low, row.high, signed)} {unit}"
            amount += f", from {compared}" if compared else ""
            verdicts.append((title, _trend_words(row, rows, sign, amount)))
    return verdicts


def _trend_words(row: Any, by_natural: Mapping[str, Any], sign: int, amount: str) -> str:
    """Whether r changes on average; if that is not known, with which natural benchmarks it does."""
    if row.low > 0 or row.high < 0:
        paper = "as in the paper" if (row.difference > 0) == (sign > 0) else "unlike in the paper"
        return f"r {'rises' if row.difference > 0 else 'falls'}, {paper}: {amount}."
    rising = [name for name, each in by_natural.items() if each.low > 0]
    falling = [name for name, each in by_natural.items() if each.high < 0]
    some = [f"{verb} with {listed(names)}" for verb, names in (("rises", rising), ("falls", falling)) if names]
    start = f"r is not known to change with it: {amount}"
    if math.isnan(row.difference):
        start = "no mean r is defined" + (f" ({row.note})" if row.note else "")
    return f"{start}." + (f" It {listed(some)}." if some else "")


def compared_words(trends: pd.DataFrame, question: str, natural: str) -> str:
    """How many comparisons of groups a slope is from, and the first of them.

    >>> steps = {"question": "n", "natural": "mean", "smaller": ["1,2", "all"], "larger": ["2,1", "all"]}
    >>> compared_words(pd.DataFrame(steps), "n", "mean")
    '1 comparison (1,2 to 2,1)'
    """
    rows = trends[(trends["question"] == question) & (trends["natural"] == natural) & (trends["smaller"] != ALL)]
    steps = [step_name(row) for row in rows.to_dict("records")]
    named = "; ".join([*steps[:MOST_COMPARED], *(["..."] if len(steps) > MOST_COMPARED else [])])
    return f"{count(len(steps), 'comparison')} ({named})" if steps else ""


def _search_words(scores: ValidityScores, row: Any) -> str:
    """What was found for a size, and the beginning of its warning, which a section has in full."""
    members = listed(some_of(scores.members_of(row.members), MOST_MEMBERS))
    held_out = f"{hundredths(row.held_out)}{bracketed(row.held_out_low, row.held_out_high, hundredths)}"
    others = f"random ones have {hundredths(row.random)}, and all candidates together {hundredths(row.whole)}"
    warning = f" Warning: {_sentence(row.warning.partition(': ')[0])}" if row.warning else ""
    return f"{members}: r = {held_out} for held-out models, where {others}.{warning}"


def warnings(scores: ValidityScores) -> list[str]:
    """Warnings about benchmarks that were searched for, with their size."""
    rows = [] if scores.searches is None else scores.searches.itertuples(index=False)
    return [f"Warning, {count(row.size, 'corruption')}: {_sentence(row.warning)}" for row in rows if row.warning]


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
