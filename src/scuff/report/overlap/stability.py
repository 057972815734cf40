"""The section about seeds: whether another training would have chosen the same."""

from __future__ import annotations

import math

from scuff.design import Stability
from scuff.report import parts
from scuff.report.overlap.scores import OverlapScores
from scuff.report.parts import Section
from scuff.tables import Column, Table
from scuff.words import count, hundredths, listed, percent, percent_sign

MOST_PAIRS = 30  # in the table of pairs that change side


def stability_words(found: Stability) -> str:
    """How far seeds agree, in a sentence."""
    table, changing = found.compare(), found.changing()
    pairs = math.comb(len(found.overlaps[0].names), 2)
    counts = found.counts()
    common = sum(number == len(found.seeds) for number in counts.values())
    numbers = [str(categories.k) for categories in found.categories]
    return (
        f"{listed(numbers)} categories with {count(len(found.seeds), 'seed')}, which agree by an adjusted Rand index "
        f"of {hundredths(table['rand'].mean())} on average; {len(changing)} of {count(pairs, 'pair')} "
        f"({percent_sign(len(changing) / pairs)}) change side of {found.threshold:g}; {common} of the "
        f"{len(counts)} corruptions that are ever chosen are chosen with every seed."
    )


def stability_section(scores: OverlapScores) -> Section:
    """Overlaps, categories and benchmarks of single seeds beside each other."""
    found, shown = scores.stability, scores.shown
    assert found is not None
    of_seed = zip(found.seeds, found.categories, found.selections, strict=True)
    alone = [
        {"seed": seed, "k": categories.k, "size": len(selection.members), "members": selection.members}
        for seed, categories, selection in of_seed
    ]
    alone_columns = [
        Column("seed", lambda row: str(row["seed"])),
        Column("categories", "k", str),
        Column("size", "size", str),
        Column("benchmark without overlaps", lambda row: listed([shown[name] for name in row["members"]])),
    ]
    two_columns = [
        Column("seeds", lambda row: f"{row['seed']:.0f} and {row['other']:.0f}"),
        Column("correlation of overlaps", "pearson", hundredths),
        Column("mean difference", "mean_difference", hundredths),
        Column(f"% on the same side of {found.threshold:g}", "same_side", percent),
        Column("adjusted Rand index", "rand", hundredths),
        Column("chosen by both", "shared", lambda number: f"{number:.0f}"),
        Column("by either", "chosen", lambda number: f"{number:.0f}"),
    ]
    chosen = [Column("corruption", lambda item: shown[item[0]]), Column("seeds", lambda item: item[1], str)]
    changing = found.changing()
    changing_columns = [
        Column("corruption", lambda row: shown[row["a"]]),
        Column("other corruption", lambda row: shown[row["b"]]),
        Column("lowest overlap", "lowest", hundredths),
        Column("highest", "highest", hundredths),
    ]
    caption = f"Pairs that change side of {found.threshold:g}: the {min(len(changing), MOST_PAIRS)} that differ most"
    left_out = listed([shown[name] for name in found.left_out])
    return parts.section(
        "stability",
        "Stability over seeds",
        f"What every seed would have said alone: {stability_words(found)}",
        parts.table(Table.of("Designs of single seeds", alone, alone_columns), sortable=False),
        parts.table(Table.of("How far two seeds agree", found.compare(), two_columns)),
        parts.note(f"Without overlaps with some seed, and left out here: {left_out}.") if left_out else None,
        parts.folded(
            Table.of("Seeds that choose a corruption", found.counts().items(), chosen), "How often each is chosen"
        ),
        parts.folded(Table.of(caption, changing.head(MOST_PAIRS), changing_columns), "Pairs that change side")
        if len(changing)
        else None,
    )
