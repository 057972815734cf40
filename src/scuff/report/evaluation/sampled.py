"""The page about a sample of an evaluation: scores that are estimates, and what their intervals are for."""

from __future__ import annotations

from collections.abc import Mapping

from scuff.evaluation.sampled import read_control, read_samples, sample_scores
from scuff.metrics.evaluation.tables import CLEAN
from scuff.metrics.sampling.estimate import Population
from scuff.metrics.score import Score
from scuff.report import parts
from scuff.report.page import Page
from scuff.report.settings import all_facts, meanings, settings_section
from scuff.store import Store
from scuff.tables import Column, Table
from scuff.words import count, entry_name, grouped

POPULATIONS: dict[Population, str] = {
    "these": "What a full run over these images would print",
    "like": "What other images like these would give",
}


def sampled_page(directory: str) -> Page:
    """The page about the samples in a folder."""
    samples, settings, suite = read_samples(directory)
    control, store = settings.get("control"), Store(directory)
    controls = {model: read_control(control, store, model, settings) for model in samples}
    tables = {
        of: {model: sample_scores(rows, settings, suite, of, controls[model]) for model, rows in samples.items()}
        for of in POPULATIONS
    }
    total = settings["images"] * len(next(iter(samples.values()))[["corruption", "severity"]].drop_duplicates())
    passes = [len(rows) for rows in samples.values()]
    words = f"{grouped(max(passes))} of {grouped(total)} passes"
    return Page(
        f"A sample of {suite.name}: {count(len(samples), 'model')}",
        f"Estimates from {words} of each model.",
        [(model, _verdict(scores)) for model, scores in tables["these"].items()],
        [
            parts.section(
                "sample",
                "Scores from a sample",
                "These scores are estimates: only some images were tried in each cell. The intervals say how far the "
                "full run may be from them; those for other images are wider where images were tried several times."
                + (f" They are narrower by a control: {control_words(control)}." if control else ""),
                *(part for of, head in POPULATIONS.items() for part in _tables(tables[of], head)),
            ),
            settings_section(all_facts(settings, hidden=("class_names", "families")), None, meanings("sampled")),
        ],
    )


def control_words(control: str) -> str:
    """What a control is."""
    if control == CLEAN:
        return "the results of each model on all clean images"
    return f"the results of another model on all images in all cells ({control})"


def _tables(scores: Mapping[str, Mapping[str, Score]], head: str) -> list[parts.Part]:
    return [parts.heading(head), parts.table(sampled_table(scores), sortable=False)]


def _verdict(scores: Mapping[str, Score]) -> str:
    mean = scores["mean_error"]
    return f"a mean error of {100 * mean.value:.1f} % [{100 * mean.low:.1f}, {100 * mean.high:.1f}] under corruption."


def sampled_table(scores: Mapping[str, Mapping[str, Score]]) -> Table:
    """One column per model, and a line per score of a sample, in per cent."""
    first = next(iter(scores.values()))
    plain = "not normalised" in first["mce"].note if "mce" in first else True
    names = {"clean_error": "clean error %", "mean_error": "mean error %", "mce": None if plain else "mCE %"}
    lines = [name for name in first if names.get(name, name) is not None]

    def value(model: str, name: str) -> str:
        score = scores[model][name]
        factor = 100 if name in ("clean_error", "mean_error") else 1
        value, low, high = (factor * number for number in (score.value, score.low, score.high))
        return f"{value:.1f} [{low:.1f}, {high:.1f}]"

    kind = "error %" if plain else "CE %"
    columns = [Column("", lambda name: names.get(name) or f"{entry_name(name)}: {kind}")]
    columns += [Column(model, lambda name, m=model: value(m, name)) for model in scores]  # type: ignore[misc]
    return Table.of(f"From {list(first.values())[-1].n} passes", lines, columns)
