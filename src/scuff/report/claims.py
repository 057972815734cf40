"""The page about claims: each with its verdict, what was measured, and how the evidence grew."""

from __future__ import annotations

import math

from scuff.metrics.claims.trial import Outcome
from scuff.report import figure, parts
from scuff.report.figure import Figure
from scuff.report.page import Page
from scuff.report.settings import meanings, study_section
from scuff.studies.claims.results import Checked, ClaimResult, read_claims_study
from scuff.studies.claims.study import ClaimsStudy
from scuff.tables import Column, Table
from scuff.words import count, grouped, listed

WORDS = {
    "holds": "The model passes: all claims hold.",
    "fails": "The model does not pass.",
    "undecided": "Not decided: the budget ended before the evidence was enough.",
}
HIDDEN = ("claims_file", "class_names", "model_name")


def page(directory: str) -> Page:
    """The page about what `scuff check` left in a folder."""
    checked = read_claims_study(directory)
    failed = [claim.name for claim in checked.claims if claim.verdict == "fails"]
    words = WORDS[checked.verdict] + (f" What fails: {listed(failed)}." if failed else "")
    if checked.verdict == "holds" and any(claim.verdict == "undecided" for claim in checked.claims):
        words = "The model passes: none of the claims fails, and those that are undecided may be."
    settings = {key: value for key, value in checked.settings.items() if key not in HIDDEN}
    passes = sum(claim.passes for claim in checked.claims)
    return Page(
        f"Claims about {checked.model}",
        f"{count(len(checked.claims), 'claim')} decided by {grouped(passes)} passes.",
        [("Verdict", words)],
        [
            parts.section(
                "claims",
                "Claims",
                "A claim is tried image by image until the evidence is enough. Whatever the data, one that is false is "
                "said to hold with probability 1 - confidence at most, and one that is true to fail likewise.",
                parts.table(claims_table(checked), sortable=False),
                *(f"{claim.name}: {note}." for claim in checked.claims for note in claim.notes),
            ),
            parts.section(
                "evidence",
                "How the evidence grew",
                "Somebody bets that the claim is true, and somebody else that it is false, each with one coin, at odds "
                "that are fair at the bound. The curves are what they own; who reaches the dotted line is believed. "
                "Where several trials must all hold, the bet against one of them must reach a second, higher line.",
                parts.figures([evidence_figure(claim) for claim in checked.claims]),
                parts.folded(trials_table(checked), "All trials"),
            ),
            study_section(ClaimsStudy, settings, directory, meanings("claims")),
        ],
    )


def claims_table(checked: Checked) -> Table:
    """A line per claim."""
    has_holm = any(claim.holm for claim in checked.claims)
    columns = [
        Column("", lambda claim: claim.name),
        Column("claim", lambda claim: claim.sentence),
        Column("confidence", lambda claim: 1 - claim.resolved["alpha"], "{:g}".format),
        Column("verdict", lambda claim: claim.verdict),
        *([Column("of all together (Holm)", lambda claim: claim.holm)] if has_holm else []),
        Column("measured", measured),
        Column("passes", lambda claim: claim.passes, grouped),
    ]
    return Table.of(
        "In brackets: where the value may be, each end at the claim's confidence.", list(checked.claims), columns
    )


def trials_table(checked: Checked) -> Table:
    """A line per trial: of claims about each cell or each group there are several."""
    lines = [(claim, outcome) for claim in checked.claims for outcome in claim.outcomes]
    columns = [
        Column("claim", lambda line: line[0].name),
        Column("of", lambda line: line[1].name or "all"),
        Column("verdict", lambda line: line[1].verdict),
        Column("value", lambda line: _value(line[1])),
        Column("from", lambda line: line[1].low, "{:.3g}".format),
        Column("to", lambda line: line[1].high, "{:.3g}".format),
        Column("images", lambda line: line[1].images, grouped),
    ]
    return Table.of("Trials", lines, columns)


def evidence_figure(claim: ClaimResult) -> Figure:
    """What both bettors own after each image of the trial that decided the claim."""
    outcome = claim.worst
    images = [point[0] for point in outcome.curve]
    alpha = claim.resolved["alpha"]
    traces = []
    for place, (name, column) in enumerate({"that it holds": 1, "that it fails": 2}.items()):
        coins = [min(point[column] / math.log(10), 12.0) for point in outcome.curve]
        texts = [
            figure.label(name, f"{k} images", f"{10**coin:.3g} coins") for k, coin in zip(images, coins, strict=True)
        ]
        traces.append(figure.line_trace(place, images, figure.numbers(coins), texts, name=name))
    for enough in sorted({1, claim.resolved["trials"]}):
        needed = math.log10(enough / alpha)
        line = {"x": [images[0], images[-1]], "y": [needed, needed], "mode": "lines", **figure.SILENT}
        traces.append({**line, "line": {"color": "@ink", "dash": "dot", "width": 1}})
    of = f", {outcome.name}" if outcome.name else ""
    return Figure(
        f"evidence-{claim.name}",
        f"{claim.name}{of}: {outcome.verdict}",
        f"Evidence for and against the claim {claim.name} over {outcome.images} images; {outcome.verdict}.",
        260,
        traces,
        figure.layout_of({"title": "images"}, {"title": figure.titled("coins, powers of 10")}, legend=True),
    )


def measured(claim: ClaimResult) -> str:
    """The value of the trial that decided a claim, with its interval."""
    worst = claim.worst
    where = f" ({worst.name})" if worst.name else ""
    return f"{_value(worst)} [{worst.low:.3g}, {worst.high:.3g}]{where}"


def _value(outcome: Outcome) -> str:
    return "none" if outcome.estimate is None else f"{outcome.estimate:.3g}"
