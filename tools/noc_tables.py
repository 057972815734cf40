"""The page docs/results/noc-cifar10.md from the folders of `tools/experiments.sh calibrate` and `noc`.

    python tools/noc_tables.py runs docs/results/noc-cifar10.md

First, accuracies of all seeds and architectures go into a folder of the page's name, with the calibrated suite. Then
the page is made of these alone, so that seeds may be run on different days: what has not run again stays as it was.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from page_parts import cost_section, keep, keep_costs, paragraph, plain, spanned, table, words

from scuff.design import find_nonoverlapping, stability, sweep
from scuff.metrics import (
    Accuracies,
    Overlaps,
    agreement,
    balance,
    ce_table,
    coverage,
    direct_coverage,
    overlaps,
    read_accuracies,
    robustness_scores,
)
from scuff.suites import load_suite

APART = 0.1  # below which Algorithm 1 calls corruptions non-overlapping
NOC, C, WHOLE = "cifar10-noc/", "cifar10-c/", ("all:cifar10-noc8", "all:cifar10-c")
EIGHT = [NOC + name for name in load_suite("imagenet-noc").benchmark()]
FIFTEEN = [C + name for name in load_suite("cifar10-c").benchmark()]
OTHERS = {"resnet50_32": "ResNet-50", "densenet121_32": "DenseNet-121"}
BEFORE = Path(__file__).parent.parent / "docs" / "results" / "overlap-cifar10"

HEAD = """# ImageNet-NOC, calibrated to CIFAR-10

The study of [overlap-cifar10.md](overlap-cifar10.md) again, as appendix A of the paper demands it: first the severities
of all candidates are [calibrated](../calibration.md) to our standard network, from robustness scores (R) of 0.95 to
0.5; then every network is trained with several seeds. ResNet-18, recipe `cifar-fast`, 9 epochs. Intervals are
Student's, of the mean over seeds, 95 %. This page and its [tables](noc-cifar10) are made by `tools/noc_tables.py` from
what `tools/experiments.sh calibrate` and `noc` leave."""


def main(runs: str, page: str) -> None:
    """Write the tables and the page."""
    out, tables = Path(page), Path(page).with_suffix("")
    tables.mkdir(parents=True, exist_ok=True)
    collect(Path(runs), tables)
    study = read_accuracies(tables / "accuracies.csv")
    others = {words: tables / f"{name}.csv" for name, words in OTHERS.items()}
    others = {words: read_accuracies(file) for words, file in others.items() if file.exists()}
    sections = [calibration(study, tables), choice(study), whole(study), errors(study, tables)]
    if others:
        sections.append(architectures(study, others))
    sections.append(cost_section(tables / "costs.csv", "; before them, calibration takes a minute"))
    out.write_text("\n\n".join([HEAD, *sections]) + "\n", encoding="utf-8")


def collect(runs: Path, tables: Path) -> None:
    """Bring what has run to the tables; a seed that has run again replaces what was there."""
    suite = runs / "calibration" / "cifar10-noc.yaml"
    if suite.exists():
        shutil.copy(suite, tables / suite.name)
        found = json.loads(suite.with_suffix(".calibration.json").read_text(encoding="utf-8"))["entries"].values()
        columns = ["entry", "parameter", "low", "high", "robustness_mildest", "robustness_severest", "note"]
        pd.DataFrame(found)[columns].round(4).to_csv(tables / "calibration.csv", index=False)
    for name, pattern in (("accuracies", "noc-[0-9]*"), *((name, f"noc-{name}-*") for name in OTHERS)):
        new = [pd.read_csv(file) for file in sorted(runs.glob(f"{pattern}/accuracies.csv"))]
        keep(tables / f"{name}.csv", new, "seed")
    keep_costs(runs.glob("noc-*"), "overlap.json", tables / "costs.csv")
    if not (tables / "accuracies.csv").exists():
        raise SystemExit(f"there are no results in {runs}")


# --- sections ---------------------------------------------------------------------------------------------------------


def calibration(study: Accuracies, tables: Path) -> str:
    """The ranges that were found, and robustness scores of the standard model before and after."""
    before = robustness_scores(read_accuracies(BEFORE / "accuracies.csv")).loc["standard"]
    after = robustness_scores(study).loc["standard"]
    found = pd.read_csv(tables / "calibration.csv", keep_default_na=False).set_index("entry")
    old = pd.Series({name: before[f"noc-candidates/{name}"] for name in found.index})
    new = pd.Series({name: after[NOC + name] for name in found.index}).sort_values()
    rows = []
    for name in new.index:
        line = found.loc[name]
        span = f"{line.parameter} {line.low:g} to {line.high:g}"
        ends = f"{line.robustness_mildest:.2f} to {line.robustness_severest:.2f}"
        rows.append([name, span, ends, f"{old[name]:.2f}", f"{new[name]:.2f}", line.note])
    text = (
        f"Of severities drawn as the paper has them for 224 pixels, the {len(found)} candidates leave the standard"
        f" models {old.min():.2f} to {old.max():.2f} of their clean accuracy; after calibration {new.min():.2f} to"
        f" {new.max():.2f} (seeds: {', '.join(map(str, study.seeds))}). Parameters that are whole numbers are coarse"
        " at 32 pixels, and some cannot go far enough; then the range ends where the last column says."
    )
    head = ("candidate", "calibrated range", "R at its ends", "mean R as in the paper", "mean R calibrated", "remark")
    return "\n\n".join(["## Calibration", paragraph(text), table(head, rows)])


def choice(study: Accuracies) -> str:
    """Algorithm 1 with every seed and on the mean, how stable it is, and the sweep of thresholds."""
    names = [name for name in study.corruptions if name.startswith(NOC)]
    candidates = study.take(("standard", *names), ("clean", *names))
    rows = []
    for what, matrix in {**by_seed(candidates), "the mean": overlaps(candidates)}.items():
        chosen = find_nonoverlapping(matrix, APART)
        shared = len({*chosen.members} & {*EIGHT})
        numbers = [len(chosen.members), f"{chosen.mean_overlap:.3f}", chosen.largest_subsets, shared]
        rows.append([what, *numbers, words(chosen.members)])
    parts = [
        "## Benchmarks without overlaps",
        "Algorithm 1 at a threshold of 0.1, of the calibrated candidates:",
        table(("seed", "corruptions", "mean overlap", "sets as large", "of the paper's eight", "the set"), rows),
    ]
    if len(study.seeds) > 1:
        found = stability(candidates, APART)
        counts = found.counts()
        always = [name for name, number in counts.items() if number == len(study.seeds)]
        others = [f"{plain(name)} ({number})" for name, number in counts.items() if name not in always]
        pairs = found.compare()
        fit = pairs["pearson"]
        text = (
            f"Chosen with every seed: {words(always) or 'none'}; with some: {', '.join(others) or 'none'}. Scores of"
            f" two seeds correlate by {fit.mean():.2f} ({fit.min():.2f} to {fit.max():.2f}). Two benchmarks share"
            f" {pairs['shared'].mean():.1f} of the {pairs['chosen'].mean():.1f} corruptions that are in either."
            f" {len(found.changing())} of {len(names) * (len(names) - 1) // 2} pairs are below 0.1 with some seeds and"
            " not with others."
        )
        parts.append(paragraph(text))
    swept = [
        [f"{row.threshold:.2f}", row.size, f"{row.mean_overlap:.3f}", row.largest_subsets, words(row.members)]
        for row in sweep(overlaps(candidates)).itertuples()
    ]
    parts.append("By threshold, on the mean over seeds (figure 7):")
    parts.append(table(("threshold", "corruptions", "mean overlap", "sets as large", "the set"), swept))
    return "\n\n".join(parts)


def whole(study: Accuracies) -> str:
    """The claims on ImageNet-NOC and ImageNet-C as benchmarks."""
    rows = list(claims(study, overlaps(study)))
    return "## The paper's claims\n\n" + table(("claim", "the paper", "here"), rows)


def claims(study: Accuracies, matrix: Overlaps) -> Iterator[list[str]]:
    """Each with the paper's number and ours; a pair, or a corruption, counts as such if its whole interval does."""
    means = np.array([[one.mean_overlap(EIGHT), one.mean_overlap(FIFTEEN)] for one in by_seed(study).values()])
    here = f"NOC {spanned(means[:, 0])}, C {spanned(means[:, 1])}; less by {spanned(means[:, 1] - means[:, 0])}"
    yield ["ImageNet-NOC overlaps less within itself than ImageNet-C", "NOC 0.01, C 0.24", here]
    scores = {pair: matrix.score(*pair) for pair in combinations(EIGHT, 2)}
    above = [pair for pair, score in scores.items() if score.low >= APART]
    open_ = [pair for pair, score in scores.items() if score.low < APART <= score.high]
    (a, b), most = max(scores.items(), key=lambda item: item[1].value)
    here = f"{len(above)} above, {len(open_)} open; most {most.value:.2f} ({plain(a)}, {plain(b)})"
    yield ["its eight do not overlap: 28 pairs below 0.1", "0 above, most 0.07", here]
    for name in ("hue", "border"):
        found = coverage(matrix, FIFTEEN, [NOC + name]).iloc[0]
        here = f"largest overlap {found.overlap:.2f} [{found.low:.2f}, {found.high:.2f}], with {plain(found.nearest)}"
        yield [f"{name} is covered by no corruption of ImageNet-C (0.3)", "said of figure 3", here]
    found = coverage(matrix, EIGHT, FIFTEEN)
    lacking = ", ".join(f"{plain(c.corruption)} ({c.overlap:.2f})" for c in found[~found.covered].itertuples())
    here = f"{(found.covered & found.certain).sum()} of 15 surely, {found.covered.sum()} in the mean"
    yield ["ImageNet-NOC covers all of ImageNet-C", "said of figure 3", here + (f"; not {lacking}" if lacking else "")]
    for model, tests, claim, printed in (
        (WHOLE[0], FIFTEEN, "training on ImageNet-NOC helps on all of ImageNet-C", "15 of 15"),
        (WHOLE[1], EIGHT, "training on ImageNet-C is worse than none on hue and border alone", "border, hue"),
    ):
        found = direct_coverage(study, model, tests)
        harmed = words(found.corruption[found.harmed]) or "none"
        yield [claim, printed, f"helps on {found.helped.sum()} of {len(tests)}, harms on {harmed}"]
    noc, c = (balance(study, names) for names in (EIGHT, FIFTEEN))
    for what, printed in (("range", "11 against 40"), ("std", "3.7 against 12.1")):
        ours = [f"{s.value:.1f} [{s.low:.1f}, {s.high:.1f}]" for s in (getattr(noc, what), getattr(c, what))]
        yield [f"ImageNet-NOC is better balanced: {what} of mCE (table 2)", printed, " against ".join(ours)]


def errors(study: Accuracies, tables: Path) -> str:
    """Relative CE against the standard model, as tables 1, 7 and 8, beside the paper's by the same measure."""
    frames, rows = [], []
    for name, benchmark, models in (
        ("1a", FIFTEEN, WHOLE[:1]),
        ("1b", EIGHT, WHOLE[1:]),
        ("7", FIFTEEN, FIFTEEN),
        ("8", EIGHT, EIGHT),
    ):
        ours = ce_table(study, benchmark, models).assign(table=name)
        theirs = printed(name)
        ours["paper"] = [theirs.get(key, np.nan) for key in zip(ours["model"], ours["corruption"], strict=True)]
        frames.append(ours)
        both = ours.dropna(subset=["value", "paper"])
        fit = np.corrcoef(both.value, both.paper)[0, 1]
        apart = (both.value - both.paper).abs().mean()
        rows.append(
            [name, len(both), f"{both.value.mean():.0f}", f"{both.paper.mean():.0f}", f"{fit:.2f}", f"{apart:.0f}"]
        )
    every = pd.concat(frames)
    every[["table", "model", "corruption", "value", "low", "high", "paper"]].round(2).to_csv(
        tables / "ce.csv", index=False
    )
    shown = every[every.table.isin(["1a", "1b"])]
    cells = [
        [line.table, plain(line.model), plain(line.corruption), f"{line.value:.0f} [{line.low:.0f}, {line.high:.0f}]",
         "" if np.isnan(line.paper) else f"{line.paper:.0f}"]
        for line in shown.itertuples()
    ]  # fmt: skip
    text = (
        "CE in percent of the standard model's own rise, which is 100 on every corruption; the paper divides by"
        " AlexNet's, and its numbers are brought to the same measure here. All cells with their intervals are in"
        " [ce.csv](noc-cifar10/ce.csv)."
    )
    return "\n\n".join([
        "## Corruption errors: tables 1, 7 and 8",
        paragraph(text),
        table(("table", "cells", "mean here", "in the paper", "correlation", "mean difference"), rows),
        "Table 1, networks trained with a whole benchmark:",
        table(("table", "trained with", "tested on", "CE here", "the paper"), cells),
    ])  # fmt: skip


def architectures(study: Accuracies, others: dict[str, Accuracies]) -> str:
    """How far other architectures give the same scores and the same benchmark, beside how far two seeds do."""
    names = [name for name in study.corruptions if name.startswith(NOC)]
    candidates = study.take(("standard", *names), ("clean", *names))
    mean, alone = overlaps(candidates), by_seed(candidates)
    ours, rows = {*find_nonoverlapping(mean, APART).members}, []
    of_others = {f"{name}, {seed}": one for name, table in others.items() for seed, one in by_seed(table).items()}
    for what, matrix in {**{f"ResNet-18, {seed}": one for seed, one in alone.items()}, **of_others}.items():
        chosen = find_nonoverlapping(matrix, APART)
        rest = [one for seed, one in alone.items() if f"ResNet-18, {seed}" != what] or [mean]
        fits = [agreement(matrix, one, APART) for one in rest]
        largest = max(fits, key=lambda fit: fit.largest_difference)
        numbers = [
            correlation(matrix, rest),
            f"{np.mean([fit.mean_difference for fit in fits]):.2f}",
            f"{largest.largest_difference:.2f} ({words(largest.largest_pair)})",
            f"{100 * np.mean([fit.same_side for fit in fits]):.0f} %",
        ]
        rows.append([what, *numbers, len(chosen.members), len({*chosen.members} & ours), words(chosen.members)])
    scores = ("correlation", "mean difference", "largest difference", "same side of 0.1")
    head = ("network", *scores, "corruptions", "of the mean's", "the set")
    text = (
        "The paper: scores hardly depend on the architecture, and with DenseNet-121 six of the eight corruptions are"
        f" chosen again. Here, the {len(names) * (len(names) - 1) // 2} scores against those of every seed of ResNet-18"
        " but itself, and what Algorithm 1 chooses. Intervals of correlations: 95 %, by bootstrap over corruptions."
    )
    return "\n\n".join(["## Other architectures", paragraph(text), table(head, rows)])


# --- arithmetic -------------------------------------------------------------------------------------------------------


def correlation(matrix: Overlaps, others: Sequence[Overlaps], resamples: int = 2000) -> str:
    """The mean correlation of scores with those of other matrices, and its interval by bootstrap over corruptions."""
    ours, *theirs = (one.to_frame().loc[[*matrix.names], [*matrix.names]].to_numpy() for one in (matrix, *others))
    count = len(ours)
    a, b = np.triu_indices(count, 1)
    draws = np.random.default_rng(0).integers(count, size=(resamples, count))
    means = []
    for drawn in (np.arange(count), *draws):
        first, second = drawn[a], drawn[b]
        pairs = first[first != second], second[first != second]  # of one drawn twice, there is no score with itself
        means.append(np.mean([np.corrcoef(ours[pairs], one[pairs])[0, 1] for one in theirs]))
    low, high = np.percentile(means[1:], [2.5, 97.5])
    return f"{means[0]:.2f} [{low:.2f}, {high:.2f}]"


def by_seed(study: Accuracies) -> dict[str, Overlaps]:
    """The scores of every seed alone, of corruptions that have scores in the mean."""
    names = overlaps(study).defined().names
    alone = [replace(study, values=study.values[[k]], seeds=(seed,), hits=None) for k, seed in enumerate(study.seeds)]
    return {f"seed {one.seeds[0]}": overlaps(one, names, least_gain=0) for one in alone}


def printed(name: str) -> dict[tuple[str, str], float]:
    """A table of the paper as percent of its standard model's CE, by our names of models and tests."""
    lines = pd.read_csv(BEFORE / "published.csv", dtype={"table": str}).query("table == @name and tested_on != 'clean'")
    cells = lines.set_index(["trained_on", "tested_on"])["printed"]
    renamed = {"all:imagenet-noc": WHOLE[0]}

    def ours(address: str) -> str:
        return renamed.get(address, address.replace("noc-candidates/", NOC))

    return {
        (ours(model), ours(test)): 100 * value / cells["standard", test]
        for (model, test), value in cells.items()
        if model != "standard"
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
