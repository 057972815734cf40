"""Which training noises are better than others, in tables and sentences, for the page and the terminal."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from scuff.metrics.evaluation.comparison import SIGNIFICANT
from scuff.report.separation.scores import COMPARED, EPSILON, MscrScores
from scuff.tables import Column, Table
from scuff.words import count, listed, p_value

ABOUT_RUNS = "P-values tell what other runs on the same data would change, not what other data would."
WORDS = {"clean": "in accuracy without noise", "robust": f"with noise of {EPSILON}", "mscr": "in MSCR"}


def changes_table(scores: MscrScores, model: str) -> Table:
    """What every training noise changes, compared with the smallest."""
    first = scores.accuracies.train_noise[0]
    than = f"noise of {scores.radius(first)}" if first else "none"
    caption = f"{model}: training noise minus {than}, in points, with 95 % intervals; p after Holm's correction"
    table = _wide(scores, model)
    return Table.of(caption, table[table["train_noise"] == first], [_noise(scores, "other"), *_columns(scores)])


def pairs_table(scores: MscrScores, model: str) -> Table:
    """All pairs of training noises."""
    names = [_noise(scores, "other"), _noise(scores, "train_noise", "minus training noise")]
    caption = f"{model}: all pairs of training noises, in points, with 95 % intervals; p after Holm's correction"
    return Table.of(caption, _wide(scores, model), [*names, *_columns(scores)])


def comparison_words(scores: MscrScores, model: str) -> str:
    """How many pairs differ, and how that was tested."""
    clear = {key: int((scores.pairs_of(model, key)["p_holm"] < SIGNIFICANT).sum()) for key in COMPARED}
    pairs, runs = len(scores.pairs_of(model, "mscr")), len(scores.accuracies.runs)
    first, *others = [f"{clear[key]} {WORDS[key]}" for key in COMPARED]
    differ = "differs" if clear[COMPARED[0]] == 1 else "differ"
    counts = listed([first.replace(" ", f" {differ} ", 1), *others])
    return (
        f"{model}: of {count(pairs, 'pair')} of training noises, {counts} (p < {SIGNIFICANT}; paired t-tests over "
        f"{runs} runs, Holm's correction for {count(pairs, 'pair')} each)."
    )


def _wide(scores: MscrScores, model: str) -> pd.DataFrame:
    """A line per pair with the differences of all scores, each as NAME, NAME_low, NAME_high and NAME_p."""
    table = scores.pairs_of(model, "mscr")[["train_noise", "other"]]
    for key in COMPARED:
        of_key, names = scores.pairs_of(model, key), {"value": key, "low": f"{key}_low", "high": f"{key}_high"}
        table = table.join(of_key[[*names, "p_holm"]].rename(columns={**names, "p_holm": f"{key}_p"}))
    return table


def _noise(scores: MscrScores, key: str, heading: str = "training noise") -> Column:
    return Column(heading, lambda line: scores.radius(line[key]))


def _columns(scores: MscrScores) -> Iterator[Column]:
    for key, heading in zip(COMPARED, ("without noise", f"with noise of {EPSILON}", "MSCR"), strict=True):
        yield Column(heading, key, scores.change, interval=True)
        yield Column(f"p ({heading})", f"{key}_p", p_value)
