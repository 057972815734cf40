"""Hold the claims of the paper on non-overlapping corruptions against studies of ours, as tables in Markdown.

    python tools/overlap_claims.py
    python tools/overlap_claims.py --study runs/noc --seeds runs/c    # studies of your own

The study must hold the suites noc-candidates and cifar10-c, and the models all:imagenet-noc and all:cifar10-c; what is
said of pairs of ImageNet-C comes from a study of cifar10-c with several seeds. Beside each statistic stands the same
one of the paper's tables, which determine the accuracies of its networks (`published.csv`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from page_parts import plain

from scuff.metrics import (
    Accuracies,
    Overlaps,
    agreement,
    balance,
    coverage,
    direct_coverage,
    load_reference,
    overlaps,
    read_accuracies,
)
from scuff.metrics.intervals import student_half_width
from scuff.metrics.overlap.benchmarks import spread
from scuff.studies import read_overlap
from scuff.suites import load_suite

RESULTS = Path(__file__).parent.parent / "docs" / "results"
STUDY = RESULTS / "overlap-cifar10" / "accuracies.csv"
SEEDS = RESULTS / "validity-imagenet" / "overlap-accuracies.csv"
PUBLISHED = RESULTS / "overlap-cifar10" / "published.csv"

APART = 0.1  # below which Algorithm 1 of the paper calls corruptions non-overlapping
COVERED = 0.3  # above which the paper calls a corruption covered
C = "cifar10-c/"
NOISES = [C + name for name in ("gaussian_noise", "shot_noise", "impulse_noise")]
BLURS = [C + name for name in ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur")]
PIXELATE, JPEG = C + "pixelate", C + "jpeg_compression"
TEXTURES = [*NOISES, *BLURS, PIXELATE, JPEG]
NOC = [f"noc-candidates/{name}" for name in load_suite("imagenet-noc").benchmark()]
IMAGENET_C = [C + name for name in load_suite("cifar10-c").benchmark()]

Pairs = Sequence[tuple[str, str]]
CLAIMS: dict[str, tuple[Pairs, bool]] = {  # pairs of corruptions, and whether they are said to overlap
    "noises overlap with each other (bench1)": (list(combinations(NOISES, 2)), True),
    "noises overlap with blurs": (list(product(NOISES, BLURS)), True),
    "noises overlap with JPEG": (list(product(NOISES, [JPEG])), True),
    "noises overlap with pixelate": (list(product(NOISES, [PIXELATE])), True),
    "blurs overlap with each other": (list(combinations(BLURS, 2)), True),
    "blurs overlap with JPEG": (list(product(BLURS, [JPEG])), True),
    "blurs overlap with pixelate": (list(product(BLURS, [PIXELATE])), True),
    "pixelate overlaps with JPEG": ([(PIXELATE, JPEG)], True),
    "fog overlaps with contrast": ([(C + "fog", C + "contrast")], True),
    "snow overlaps with frost": ([(C + "snow", C + "frost")], True),
    "gaussian noise, brightness and elastic do not (bench2)": (
        list(combinations([C + "gaussian_noise", C + "brightness", C + "elastic_transform"], 2)),
        False,
    ),
}
YES, NO, OPEN = "yes", "**no**", "open"


# --- tables -----------------------------------------------------------------------------------------------------------


def pair_lines(seeds: Accuracies, paper: Overlaps) -> list[str]:
    """Per claim on pairs of ImageNet-C: the mean score, the range, how many are above 0.3, and whether it holds."""
    each, lines = overlaps_of_seeds(seeds), []
    for claim, (pairs, overlap) in CLAIMS.items():
        theirs = pair_scores(paper, pairs)
        ours = np.array([pair_scores(matrix, pairs) for matrix in each])
        means = ours.mean(axis=1)
        half = student_half_width(means)
        found = f"{means.mean():.2f} [{means.mean() - half:.2f}, {means.mean() + half:.2f}]"
        cells = [f"{theirs.mean():.2f}{ends(theirs)}", f"{found}{ends(ours.mean(axis=0))}"]
        verdicts = [judge(theirs.mean(), 0, overlap), judge(means.mean(), half, overlap)]
        lines.append(f"| {claim} | {len(pairs)} | {cells[0]} | {verdicts[0]} | {cells[1]} | {verdicts[1]} |")
    return lines


def agreement_lines(seeds: Accuracies, paper: Overlaps) -> list[str]:
    """How well our scores agree with the paper's, pair by pair: means over seeds with Student's intervals."""
    lines = []
    for what, names in (("all 15 corruptions", IMAGENET_C), ("noises, blurs, pixelate, JPEG", TEXTURES)):
        theirs = paper.take(names)
        found = [measure_agreement(matrix.take(names), theirs) for matrix in overlaps_of_seeds(seeds)]
        means, halves = np.mean(found, axis=0), student_half_width(np.array(found))
        shown = [percent if place > 2 else hundredths for place in range(len(means))]
        cells = [form(m, h) for form, m, h in zip(shown, means, halves, strict=True)]
        lines.append(f"| {what} | {len(names) * (len(names) - 1) // 2} | {' | '.join(cells)} |")
    return lines


def measure_agreement(ours: Overlaps, theirs: Overlaps) -> list[float]:
    """Pearson, Spearman, the mean absolute difference, and the shares of pairs on the same side of 0, 0.1 and 0.3."""
    sides = [agreement(ours, theirs, threshold) for threshold in (np.nextafter(0, 1), APART, COVERED)]
    first = sides[0]
    return [first.pearson, first.spearman, first.mean_difference, *(found.same_side for found in sides)]


def benchmark_lines(table: Accuracies) -> list[str]:
    """Per claim on whole benchmarks: what the paper printed, what we found, and whether it holds."""
    no = NO if len(table.seeds) > 1 else f"{NO}, with one seed"
    return [
        f"| {claim.text} | {claim.paper} | {claim.here} | {YES if claim.holds else no} |"
        for claim in benchmark_claims(table, overlaps(table))
    ]


class Claim(NamedTuple):
    """A claim of the paper on a benchmark, its own numbers, ours, and whether it holds here."""

    text: str
    paper: str
    here: str
    holds: bool


def benchmark_claims(table: Accuracies, matrix: Overlaps) -> Iterator[Claim]:
    """Coverage, balance and mean overlap of ImageNet-NOC and ImageNet-C."""
    theirs = {name: overlaps(read_published(name)) for name in ("7", "8")}
    means = [found.mean_overlap() for found in (theirs["8"], theirs["7"], matrix.take(NOC), matrix.take(IMAGENET_C))]
    text = "NOC {:.2f}, C {:.2f}"
    yield Claim(
        "ImageNet-NOC overlaps less within itself than ImageNet-C",
        text.format(*means[:2]),
        text.format(*means[2:]),
        means[2] < means[3],
    )
    pairs = [(matrix.score(a, b).value, a, b) for a, b in combinations(NOC, 2)]
    above = sorted((pair for pair in pairs if pair[0] >= APART), reverse=True)
    most = "" if not above else f"; most {above[0][0]:.2f} ({plain(above[0][1])}, {plain(above[0][2])})"
    off = theirs["8"].values[~np.eye(len(NOC), dtype=bool)]
    yield Claim(
        "the eight corruptions of ImageNet-NOC do not overlap",
        f"{(off >= APART).sum() // 2} of 28 pairs at 0.1 or above; most {off.max():.2f}",
        f"{len(above)} of 28 pairs at 0.1 or above{most}",
        not above,
    )
    for name in ("hue", "border"):
        found = coverage(matrix, IMAGENET_C, [f"noc-candidates/{name}"]).iloc[0]
        text = f"largest overlap {found.overlap:.2f}, with {plain(found.nearest)}"
        yield Claim(f"{name} is covered by no ImageNet-C corruption", "said of figure 3", text, not found.covered)
    found = coverage(matrix, NOC, IMAGENET_C)
    lacking = ", ".join(f"{plain(c.corruption)} ({c.overlap:.2f})" for c in found[~found.covered].itertuples())
    text = f"{found.covered.sum()} of 15" + (f"; not {lacking}" if lacking else "")
    yield Claim(
        "every ImageNet-C corruption is covered by ImageNet-NOC", "said of figure 3", text, bool(found.covered.all())
    )
    found = direct_coverage(table, "all:imagenet-noc", IMAGENET_C, as_paper=True)  # one seed: no intervals over seeds
    printed = printed_gains("1a", "all:imagenet-noc")
    yield Claim(
        "training on ImageNet-NOC helps on all of ImageNet-C",
        f"{(printed > 0).sum()} of 15",
        f"{found.helped.sum()} of 15",
        bool(found.helped.all()),
    )
    found = direct_coverage(table, "all:cifar10-c", NOC, as_paper=True)
    printed = printed_gains("1b", "all:cifar10-c")
    worse = sorted(plain(name) for name in found.corruption[~found.helped])
    said = sorted(plain(name) for name in printed.index[printed <= 0])
    yield Claim(
        "training on ImageNet-C is worse than none on hue and border alone",
        f"worse on {', '.join(said)}",
        f"worse on {', '.join(worse) or 'none'}",
        worse == ["border", "hue"],
    )
    noc, c = (balance(table, names) for names in (NOC, IMAGENET_C))
    spreads = [spread(printed_mces(name)) for name in ("8", "7")]
    text = "range {:.0f} against {:.0f}, deviation {:.1f} against {:.1f}"
    yield Claim(
        "ImageNet-NOC is better balanced than ImageNet-C",
        text.format(spreads[0][0], spreads[1][0], spreads[0][1], spreads[1][1]),
        text.format(noc.range.value, c.range.value, noc.std.value, c.std.value),
        noc.range.value < c.range.value and noc.std.value < c.std.value,
    )


# --- what the paper printed -------------------------------------------------------------------------------------------


def printed_table(name: str) -> pd.DataFrame:
    """A table of the paper: models x tests, relative CE in per cent, and the clean error as a share."""
    printed = pd.read_csv(PUBLISHED, dtype={"table": str}).query("table == @name")
    rows, columns = (list(dict.fromkeys(printed[axis])) for axis in ("trained_on", "tested_on"))
    return printed.pivot(index="trained_on", columns="tested_on", values="printed").loc[rows, columns]


def read_published(name: str) -> Accuracies:
    """The accuracies that a table of relative CE determines: E = clean + CE (E' - clean'), with those of AlexNet."""
    printed = printed_table(name)
    tests = [test for test in printed if test != "clean"]
    alexnet = load_reference("alexnet", "imagenet-c" if tests[0].startswith(C) else "imagenet-noc")
    rises = np.array([np.mean(alexnet.errors[plain(test)]) for test in tests]) - alexnet.clean
    errors = printed[["clean"]].to_numpy() + printed[tests].to_numpy() / 100 * rises
    values = 1 - np.hstack([printed[["clean"]].to_numpy(), errors])
    return Accuracies(tuple(printed.index), ("clean", *tests), values[None])


def printed_gains(name: str, model: str) -> pd.Series:
    """By how much a model's CE is below the standard model's, per corruption."""
    printed = printed_table(name).drop(columns="clean")
    return printed.loc["standard"] - printed.loc[model]


def printed_mces(name: str) -> np.ndarray:
    """The mCE of models that were each trained with one corruption, rounded as in Table 2."""
    return printed_table(name).drop(columns="clean").drop(index="standard").mean(axis=1).round().to_numpy()


# --- arithmetic -------------------------------------------------------------------------------------------------------


def overlaps_of_seeds(table: Accuracies) -> list[Overlaps]:
    """The scores of every seed by itself, of corruptions whose scores over all seeds are defined."""
    names, seeds = overlaps(table).defined().names, range(len(table.seeds))
    alone = [replace(table, values=table.values[[s]], seeds=table.seeds[s : s + 1]) for s in seeds]
    return [overlaps(one, names, least_gain=0) for one in alone]


def pair_scores(matrix: Overlaps, pairs: Pairs) -> np.ndarray:
    """The scores of some pairs."""
    return np.array([matrix.score(*pair).value for pair in pairs])


def pair_table(seeds: Accuracies, paper: Overlaps) -> pd.DataFrame:
    """All pairs of ImageNet-C: the paper's score, ours, and its interval over seeds."""
    ours, lines = overlaps(seeds), []
    for a, b in combinations(IMAGENET_C, 2):
        score = ours.score(a, b)
        values = [round(float(value), 4) for value in (paper.score(a, b).value, score.value, score.low, score.high)]
        lines.append((plain(a), plain(b), *values))
    return pd.DataFrame(lines, columns=["a", "b", "paper", "here", "low", "high"])


def judge(mean: float, half: float, overlap: bool) -> str:
    """Whether pairs overlap, or do not, as is said: the whole interval of their mean is on that side of 0.1."""
    if abs(mean - APART) <= half:
        return OPEN
    return YES if (mean > APART) == overlap else NO


def ends(scores: np.ndarray) -> str:
    """The smallest and the largest of several scores, and how many are above 0.3."""
    if len(scores) == 1:
        return ""
    return f"; {scores.min():.2f} to {scores.max():.2f}, {(scores > COVERED).sum()} above {COVERED:g}"


def hundredths(mean: float, half: float) -> str:
    return f"{mean:.2f} ± {half:.2f}"


def percent(mean: float, half: float) -> str:
    return f"{100 * mean:.0f} ± {100 * half:.0f} %"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--study", type=Path, default=STUDY)
    parser.add_argument("--seeds", type=Path, default=SEEDS)
    parser.add_argument("--pairs", type=Path, help="Write the scores of all pairs to this CSV file.")
    asked = parser.parse_args()
    table, seeds = (read_accuracies(at) if at.is_file() else read_overlap(at) for at in (asked.study, asked.seeds))
    paper = overlaps(read_published("7"))
    print("| claim | pairs | the paper's Table 7 | holds there | here | holds here |\n|---|---|---|---|---|---|")
    print("\n".join(pair_lines(seeds, paper)), end="\n\n")
    print("\n".join(agreement_lines(seeds, paper)), end="\n\n")
    print("| claim | the paper | here | holds here |\n|---|---|---|---|")
    print("\n".join(benchmark_lines(table)))
    if asked.pairs:
        pair_table(seeds, paper).to_csv(asked.pairs, index=False)


if __name__ == "__main__":
    main()
