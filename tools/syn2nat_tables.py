"""Tables for a page on Syn2Nat's overlaps on CIFAR-10, from the accuracies of one or several seeds.

    for seed in 0 1 2; do tools/experiments.sh syn2nat $seed; done
    python tools/syn2nat_tables.py --out docs/results/syn2nat-cifar10 runs/syn2nat-*/accuracies.csv
    python tools/syn2nat_tables.py docs/results/syn2nat-cifar10/accuracies.csv

With `--out` the seeds are joined into one `accuracies.csv` there, with the matrix of overlaps beside it. The tables go
to the terminal as Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import combinations
from math import comb
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import hypergeom
from scipy.stats import t as student
from sklearn.metrics import adjusted_rand_score

from scuff.design import Categories, find_categories, least_overlapping
from scuff.design.overlap.stability import count_members
from scuff.metrics import Accuracies, Overlaps, agreement, overlaps, read_accuracies, robustness_scores
from scuff.suites import load_suite

SUITE = "syn2nat-candidates/"
MOST, EACH = 6, 3  # ImageNet-Syn2Nat has three corruptions of each of six categories
PUBLISHED = [SUITE + name for name in load_suite("imagenet-syn2nat").benchmark()]
THRESHOLD = 0.1
SHUFFLES = 1000


def published_categories() -> dict[str, str]:
    """The paper's category of each corruption, as far as its text and the order of its list tell."""
    groups = load_suite("imagenet-syn2nat").categories
    groups = {**groups, "fine_grain": [*groups["fine_grain"], "gauss_noise", "multiplicative_noise"]}
    return {SUITE + name: category for category, members in groups.items() for name in members}


class Design(NamedTuple):
    """What the paper's rules make of one matrix."""

    matrix: Overlaps
    categories: Categories
    picked: tuple[str, ...]

    @property
    def rand(self) -> float:
        """The adjusted Rand index with the paper's categories, over the corruptions whose category is known."""
        known, labels = published_categories(), dict(zip(self.categories.names, self.categories.labels, strict=True))
        shared = [name for name in labels if name in known]
        return float(adjusted_rand_score([known[name] for name in shared], [labels[name] for name in shared]))


def design(matrix: Overlaps) -> Design:
    """Categories with the first K that suffices, and the benchmark of three from each of up to six of them."""
    categories = find_categories(matrix, compared=0)
    groups = categories.groups()
    large = sum(len(members) >= EACH for members in groups.values())
    return Design(matrix, categories, least_overlapping(matrix, groups, min(MOST, large), EACH) if large else ())


def designs(table: Accuracies) -> dict[str, Design]:
    """Of every seed alone and, if there are several, of their mean."""
    frame = table.to_frame()
    alone = {f"seed {seed}": design(overlaps(frame[frame["seed"] == seed])) for seed in table.seeds}
    return alone | ({"all seeds": design(overlaps(table))} if len(alone) > 1 else {})


def seeds_table(found: dict[str, Design]) -> Iterator[str]:
    """K by the paper's rule, and how far its categories agree with the paper's."""
    yield "| | K | correlation within | between | mean overlap | adjusted Rand index with the paper's categories |"
    yield "|---|---|---|---|---|---|"
    for name, one in found.items():
        of_k = one.categories
        means = f"{of_k.same:.2f} | {of_k.different:.2f} | {one.matrix.defined().mean_overlap():.3f}"
        yield f"| {name} | {of_k.k} | {means} | {one.rand:.2f} |"


def categories_table(one: Design) -> Iterator[str]:
    """The categories, with the paper's of each member in brackets where it is known."""
    known = published_categories()
    yield "| category | corruptions (the paper's category, where it is known) |"
    yield "|---|---|"
    for number, members in one.categories.groups().items():
        words = [f"{plain(name)} ({known[name]})" if name in known else plain(name) for name in members]
        yield f"| {number} | {', '.join(words)} |"


def picks_table(found: dict[str, Design]) -> Iterator[str]:
    """What the paper's rule picks, beside the paper's pick."""
    yield "| | size | mean overlap | of the paper's 18 | corruptions |"
    yield "|---|---|---|---|---|"
    for name, one in found.items():
        words, shared = ", ".join(map(plain, one.picked)), sum(member in PUBLISHED for member in one.picked)
        yield f"| {name} | {len(one.picked)} | {one.matrix.mean_overlap(one.picked):.3f} | {shared} | {words} |"
    matrix = list(found.values())[-1].matrix.defined()
    theirs = [name for name in PUBLISHED if name in matrix.names]
    yield f"| the paper's | {len(theirs)} | {matrix.mean_overlap(theirs):.3f} | {len(theirs)} | |"


def chance_lines(found: dict[str, Design]) -> Iterator[str]:
    """What agreement with the paper would be by chance: for groups by shuffled labels, for picks by random draws."""
    known, last = published_categories(), list(found.values())[-1]
    labels = dict(zip(last.categories.names, last.categories.labels, strict=True))
    shared = [name for name in labels if name in known]
    theirs, ours = [known[name] for name in shared], np.array([labels[name] for name in shared])
    rng = np.random.default_rng(0)
    shuffled = [adjusted_rand_score(theirs, rng.permutation(ours)) for _ in range(SHUFFLES)]
    reached = sum(value >= last.rand for value in shuffled) or "none"
    yield (
        f"Shuffled labels give an adjusted Rand index above {np.quantile(shuffled, 0.95):.2f} in 5 % of {SHUFFLES}"
        f" draws, and {last.rand:.2f} or more in {reached} of them."
    )
    law = hypergeom(len(labels), len(PUBLISHED), len(last.picked))
    yield f"{len(last.picked)} random candidates share {law.mean():.1f} ± {law.std():.1f} with the paper's 18."


def interval_lines(found: dict[str, Design]) -> Iterator[str]:
    """Means over seeds, with Student's 95 % intervals."""
    alone = [one for name, one in found.items() if name != "all seeds"]
    values = {
        "mean overlap": [one.matrix.defined().mean_overlap() for one in alone],
        "correlation of overlaps within categories": [one.categories.same for one in alone],
        "and between categories": [one.categories.different for one in alone],
        "adjusted Rand index with the paper's categories": [one.rand for one in alone],
    }
    yield f"| over {len(alone)} seeds | mean [95 %] |"
    yield "|---|---|"
    for what, each in values.items():
        mean, half = np.mean(each), student.ppf(0.975, len(each) - 1) * np.std(each, ddof=1) / np.sqrt(len(each))
        yield f"| {what} | {mean:.3f} [{mean - half:.3f}, {mean + half:.3f}] |"


def stability_table(found: dict[str, Design]) -> Iterator[str]:
    """How far two seeds agree."""
    alone = {name: one for name, one in found.items() if name != "all seeds"}
    yield f"| seeds | correlation | change side of {THRESHOLD} | adjusted Rand index | picked by both | by any |"
    yield "|---|---|---|---|---|---|"
    for (a, one), (b, other) in combinations(alone.items(), 2):
        both = agreement(one.matrix, other.matrix, THRESHOLD)
        changing = round(both.pairs * (1 - both.same_side))
        labels = [dict(zip(c.names, c.labels, strict=True)) for c in (one.categories, other.categories)]
        shared = [name for name in labels[0] if name in labels[1]]
        rand = adjusted_rand_score(*([of_seed[name] for name in shared] for of_seed in labels))
        picked = f"{len({*one.picked} & {*other.picked})} | {len({*one.picked} | {*other.picked})}"
        seeds = f"{a.removeprefix('seed ')} and {b.removeprefix('seed ')}"
        yield f"| {seeds} | {both.pearson:.2f} | {changing} of {both.pairs} | {rand:.2f} | {picked} |"
    counts = count_members([one.picked for one in alone.values()])
    always = [plain(name) for name, number in counts.items() if number == len(alone)]
    yield f"\nPicked with every seed: {len(always)} of {len(counts)} that are ever picked: {', '.join(always)}."


def damage_table(table: Accuracies) -> Iterator[str]:
    """What every candidate leaves of the standard model's accuracy, and what is left after training on it."""
    scores = robustness_scores(table)
    yield "| candidate | R of the standard model | R of the model trained on it |"
    yield "|---|---|---|"
    for name in sorted(table.corruptions, key=lambda name: scores.loc["standard", name]):
        yield f"| {plain(name)} | {scores.loc['standard', name]:.2f} | {scores.loc[name, name]:.2f} |"


def plain(address: str) -> str:
    """The name without the suite."""
    return address.removeprefix(SUITE)


def main() -> None:
    """Join the seeds and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="accuracies.csv of one or several seeds")
    parser.add_argument("--out", type=Path, help="folder for the joined table and the matrix")
    given = parser.parse_args()
    frame = pd.concat([pd.read_csv(file) for file in given.files]).sort_values("seed", kind="stable")
    table = read_accuracies(frame)
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        frame.to_csv(given.out / "accuracies.csv", index=False)
        overlaps(table).save(given.out / "overlap.csv")
    found = designs(table)
    last = list(found.values())[-1]
    print(f"{comb(len(last.matrix.defined().names), 2)} pairs; undefined: {dict(last.matrix.undefined) or 'none'}\n")
    for lines in (seeds_table(found), categories_table(last), picks_table(found), damage_table(table)):
        print("\n".join(lines), end="\n\n")
    if len(table.seeds) > 1:
        print("\n".join(stability_table(found)), end="\n\n")
        print("\n".join(interval_lines(found)), end="\n\n")
    print("\n".join(chance_lines(found)))


if __name__ == "__main__":
    main()
