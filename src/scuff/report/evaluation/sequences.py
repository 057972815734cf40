"""What the page of an evaluation says of sequences: flip rates and top-5 distances."""

from __future__ import annotations

from scuff.metrics import Score
from scuff.report import parts
from scuff.report.evaluation.scores import SequenceScores
from scuff.report.parts import Section
from scuff.tables import Column, Table
from scuff.words import bracketed, entry_name, fine, percent, plain, reference_name


def verdict(model: str, scores: SequenceScores, baseline: str | None) -> str:
    """One sentence about a model."""
    rate, distance = scores.flip_rates[model], scores.distances[model]
    flips, moves = (heading.removesuffix(" %") for heading in headings(scores))
    than = "" if baseline is None or _is_plain(rate) else f", where {reference_name(baseline)} has 100"
    unit = "" if _is_plain(distance) else "\u00a0%"
    return (
        f"{flips} {plain(rate.value)}\u00a0%{bracketed(rate.low, rate.high, plain)}{than}; "
        f"{moves} {fine(distance.value)}{unit}{bracketed(distance.low, distance.high, fine)}."
    )


def summary_section(scores: SequenceScores) -> Section:
    """The table of mean flip rates and distances."""
    flips, moves = headings(scores)
    columns = [
        Column("model", str),
        Column(flips, scores.flip_rates.get, plain, best="lowest"),
        Column(moves, scores.distances.get, fine, best="lowest"),
    ]
    table = Table.of("Scores, with 95 % intervals below them", scores.models, columns, sort=flips)
    notes = sorted({rate.note for rate in scores.flip_rates.values() if rate.note})
    return parts.section("summary", "Summary", parts.table(table), *(parts.note(f"{note}.") for note in notes))


def sequences_section(scores: SequenceScores, several: bool) -> Section:
    """Flip probabilities and top-5 distances by perturbation, at one difficulty of several or the only one."""
    at = f", difficulty {scores.difficulty}" if several else ""
    tables = [
        Table.pivot(
            f"{caption}, with 95 % intervals{at}",
            frame,
            "corruption",
            "model",
            Column("perturbation", "value", form, interval=True),
            heads=scores.models,
            name=entry_name,
        )
        for caption, frame, form in (
            ("Flip probability in per cent", scores.flips, percent),
            ("Top-5 distance, 0 to 15", scores.moves, fine),
        )
    ]
    return parts.section(
        f"sequences{scores.difficulty}" if several else "sequences",
        f"Every perturbation{at}",
        "How often the prediction changes from frame to frame, and how far the five best classes move.",
        *map(parts.table, tables),
    )


def headings(scores: SequenceScores) -> tuple[str, str]:
    """What the two scores are called, which depends on whether they are relative to a reference."""
    rate, distance = (next(iter(values.values())) for values in (scores.flip_rates, scores.distances))
    return (
        "flip probability %" if _is_plain(rate) else "mFR %",
        "top-5 distance" if _is_plain(distance) else "mT5D %",
    )


def _is_plain(score: Score) -> bool:
    """Whether a score is not relative to a reference."""
    return "not normalised" in score.note
