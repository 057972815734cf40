"""Tables of docs/results/validity-imagenet.md, as Markdown, from the files beside it.

    python tools/validity_tables.py                       # print them
    python tools/validity_tables.py imagenet-testbed.csv  # first compute the files anew, in a minute

A test holds the page to them, and another one, on the table itself, the files.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from scuff import metrics, studies
from scuff.design import find_categories
from scuff.metrics import Overlaps, Shifts, read_overlaps
from scuff.metrics.intervals import DEFAULT
from scuff.metrics.validity.resampled import percentiles, resample_models, resampled
from scuff.suites import load_suite

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "validity-imagenet"
FILES = ("correlations", "contributions", "groups", "trends", "searches", "variants", "thresholds")
DECIMALS = 6

NATURAL = ("imagenet-a", "imagenet-r", "imagenet-v2", "objectnet", "imagenet-sketch", "mean")
SIZES = (1, 3, 5, 10)
LEAST_CORRELATION = {3: 0.5, 6: 0.78}  # within categories: the paper's rule, and one that gives as many as it found

# The column INetC of the paper's Table 2: Pearson's correlation over its 21 models.
PUBLISHED = dict(zip(NATURAL, (0.642, 0.565, 0.857, 0.807, 0.641, 0.702), strict=True))

# Section 4 of the paper: the mean correlation of corruptions of the same category, and of different ones.
PUBLISHED_SAME, PUBLISHED_DIFFERENT = 0.67, 0.10
LEAST_CLEAN = {"all": 0, "above 60 %": 60, "above 65 %": 65, "above 70 %": 70, "above 75 %": 75}  # clean accuracy
LIKE = "like the paper's"
GIVEN = {"pearson": None, "partial": 1, "curved": 3}  # degree of the polynomial in clean accuracy that is removed

# The paper's models as far as the table has them, or nearly.
LIKE_THE_PAPER = (
    *("resnet18", "resnet18-rotation-worst10_30"),
    *("resnet50", "resnet50_trained_on_SIN_and_IN", "resnet50_augmix", "resnet50_deepaugment"),
    *("resnet50_linf_eps4_robust", "efficientnet-b0", "efficientnet-b0-advprop-autoaug"),
    *("densenet121", "densenet121_lpf5", "resnet152", "resnet101_cutmix"),
    *("resnext101_32x8d", "instagram-resnext101_32x16d", "resnext101_32x16d_ssl", "resnext101_32x8d_swsl"),
)
QUESTIONS = {
    "n": "a category more, at the same size",
    "size": "a corruption more, of the same categories",
    "std": "1 more of std, at the same size",
}


def compute(table: str | Path) -> dict[str, pd.DataFrame]:
    """All numbers of the page, from the table of accuracies."""
    shifts = studies.read_accuracy_table(table, RESULTS / "testbed.yaml")
    overlaps = read_overlaps(RESULTS / "overlap-accuracies.csv")
    found: dict[str, list[pd.DataFrame]] = {name: [] for name in FILES}
    for count, least in LEAST_CORRELATION.items():
        categories = find_categories(overlaps, least_correlation=least).groups()
        assert len(categories) == count
        for units in ("models", "families"):
            sizes = SIZES if count == 3 else ()  # suites, corruptions and searches are the same for all categories
            study = studies.validity(shifts, categories=categories, resample=units, search=sizes)
            for name in FILES[:-2]:
                its = getattr(study, name)
                if its is None or (name == "contributions" and count != 3):
                    continue
                if name == "correlations" and count != 3:
                    its = its[its["what"] == "category"].copy()
                if name == "contributions":
                    its = its[its["natural"] == "mean"].copy()
                its.insert(0, "resample", units)
                its.insert(0, "categories_by", count)
                found[name].append(its)
    found["variants"] = [_score_variants(replace(shifts, families=None))]
    found["thresholds"] = [_score_thresholds(shifts, overlaps)]
    return {name: pd.concat(tables, ignore_index=True).round(DECIMALS) for name, tables in found.items()}


def _score_variants(shifts: Shifts) -> pd.DataFrame:
    """ImageNet-C with the paper's clean accuracy, of all classes, and over models like the paper's."""
    few = shifts.take(LIKE_THE_PAPER)
    variants = {"all": shifts, "all, 1000 classes": shifts, "few": few, "few, 1000 classes": few}
    members = [f"imagenet-c/{entry}" for entry in load_suite("imagenet-c").benchmark()]
    tables = []
    for name, its in variants.items():
        if "1000" in name:
            its = replace(its, references=pd.DataFrame(dict.fromkeys(its.natural, its.clean)))
        found = metrics.validity(its, {"imagenet-c": members})
        found.insert(0, "variant", name)
        tables.append(found[found["kind"].isin(["pearson", "spearman"])])
    return pd.concat(tables, ignore_index=True)


def _score_thresholds(shifts: Shifts, overlaps: Overlaps) -> pd.DataFrame:
    """ImageNet-C and categories over models above some clean accuracy, and over those like the paper's."""
    found = {count: find_categories(overlaps, least_correlation=r).groups() for count, r in LEAST_CORRELATION.items()}
    names = {name.partition("/")[2]: name for name in shifts.corrupted}
    categories = {k: [[names[name.partition("/")[2]] for name in its] for its in c.values()] for k, c in found.items()}
    benchmarks = {"imagenet-c": [names[entry] for entry in load_suite("imagenet-c").benchmark()]}
    benchmarks |= {f"category {place}": its for place, its in enumerate(categories[3], 1)}
    clean = 100 * shifts.clean
    selections = {which: list(clean.index[clean > least]) for which, least in LEAST_CLEAN.items()}
    tables = []
    for which, models in (selections | {LIKE: list(LIKE_THE_PAPER)}).items():
        some = shifts.take(models)
        for units in ("models", "families"):
            its = some if units == "families" else replace(some, families=None)
            scored = metrics.validity(its, benchmarks).query("natural == 'mean' and kind in @GIVEN")
            rows = [scored[["benchmark", "kind", "value", "low", "high"]].rename(columns={"benchmark": "what"})]
            rows += [category_agreement(its, groups, f", {count} categories") for count, groups in categories.items()]
            tables.append(pd.concat(rows).assign(which=which, resample=units, models=len(models)))
    columns = ["which", "resample", "what", "kind", "value", "low", "high", "models"]
    return pd.concat(tables, ignore_index=True)[columns]


def category_agreement(shifts: Shifts, categories: list[list[str]], suffix: str = "") -> pd.DataFrame:
    """Mean correlations over models of what they lose to two corruptions: of the same category, of different ones.

    Also their difference; all three as they are, and given a line or a curve in clean accuracy. Intervals are by
    bootstrap over models, or over families where they are known.
    """
    lost = shifts.synthetic_residuals()[[name for names in categories for name in names]].to_numpy().T
    category = np.repeat(range(len(categories)), [len(names) for names in categories])
    first, second = np.triu_indices(len(category), 1)
    same = category[first] == category[second]
    n = len(shifts.models)
    times = np.vstack([np.ones(n, int), resample_models(n, DEFAULT, shifts.families)])  # first as they are
    lines = []
    for kind, degree in GIVEN.items():
        given = None if degree is None else shifts.clean.to_numpy()
        kind_of = "pearson" if degree is None else "partial"
        pairs = resampled(kind_of, lost, lost, times, given, degree or 1)[:, first, second]
        means = [pairs[:, which].mean(axis=1) for which in (same, ~same)]
        for what, values in (("same", means[0]), ("different", means[1]), ("gap", means[0] - means[1])):
            low, high, _ = percentiles(values[1:], DEFAULT.level)
            lines.append((f"{what}{suffix}", kind, values[0], low, high))
    return pd.DataFrame(lines, columns=["what", "kind", "value", "low", "high"])


def threshold_lines(found: dict[str, pd.DataFrame]) -> list[str]:
    """ImageNet-C over models above some clean accuracy: three kinds of correlation, in the mean over natural shifts."""
    table = found["thresholds"].query("what == 'imagenet-c'").set_index(["which", "resample", "kind"]).sort_index()
    lines = []
    for which in LEAST_CLEAN:
        its = table.loc[which]
        cells = [f"{_interval(its.loc['models', kind])} {_bracket(its.loc['families', kind])}" for kind in GIVEN]
        lines.append(f"| {which} | {its['models'].iloc[0]} | {' | '.join(cells)} |")
    return lines


def agreement_lines(found: dict[str, pd.DataFrame], categories: int, kind: str = "pearson") -> list[str]:
    """Correlations of two corruptions, of the same category and of different ones, and the difference."""
    table = found["thresholds"].query("kind == @kind").set_index(["which", "what", "resample"]).sort_index()
    lines = []
    for which in dict.fromkeys(found["thresholds"]["which"]):
        rows = [table.loc[(which, f"{what}, {categories} categories")] for what in ("same", "different", "gap")]
        cells = [f"{_interval(row.loc['models'])} {_bracket(row.loc['families'])}" for row in rows]
        lines.append(f"| {which} | {rows[0]['models'].iloc[0]} | {' | '.join(cells)} |")
    return lines


def category_threshold_lines(found: dict[str, pd.DataFrame]) -> list[str]:
    """Per category: its mean correlation with natural shifts over models above some clean accuracy."""
    table = found["thresholds"].query("resample == 'models' and kind == 'pearson'").set_index(["what", "which"])
    return [
        f"| {place} | {' | '.join(_interval(table.loc[(f'category {place}', which)]) for which in LEAST_CLEAN)} |"
        for place in (1, 2, 3)
    ]


def read_results() -> dict[str, pd.DataFrame]:
    """The files beside the page."""
    texts = ("note", "warning", "benchmark", "group")
    return {
        name: pd.read_csv(RESULTS / f"{name}.csv", dtype=dict.fromkeys(texts, str)).fillna({"note": "", "warning": ""})
        for name in FILES
    }


def benchmark_lines(found: dict[str, pd.DataFrame]) -> list[str]:
    """ImageNet-C: all kinds of correlation, and the paper's column."""
    table, lines = found["correlations"], []
    chosen = table[(table["benchmark"] == "imagenet-c") & (table["categories_by"] == 3)]
    for natural in NATURAL:
        its = chosen[chosen["natural"] == natural].set_index(["resample", "kind"])
        cells = [
            _interval(its.loc["models", kind]) for kind in ("pearson", "spearman", "partial", "curved", "effective")
        ]
        by_family = _bracket(its.loc["families", "pearson"])
        lines.append(f"| {natural} | {cells[0]} | {by_family} | {' | '.join(cells[1:])} | {PUBLISHED[natural]:.3f} |")
    return lines


def variant_lines(found: dict[str, pd.DataFrame]) -> list[str]:
    """ImageNet-C by other definitions and over other models."""
    table, lines = found["variants"], []
    table = table[table["kind"] == "pearson"].set_index(["variant", "natural"])
    for natural in NATURAL:
        cells = [_interval(table.loc[variant, natural]) for variant in dict.fromkeys(table.index.get_level_values(0))]
        lines.append(f"| {natural} | {' | '.join(cells)} | {PUBLISHED[natural]:.3f} |")
    return lines


def category_lines(found: dict[str, pd.DataFrame], categories: int = 3) -> list[str]:
    """Pearson's correlations of categories, with intervals over models."""
    table = found["correlations"]
    table = table[
        (table["categories_by"] == categories) & (table["resample"] == "models") & (table["what"] == "category")
    ]
    lines = []
    for category, its in table.groupby("benchmark"):
        wide = its.set_index(["kind", "natural"])
        cells = [_interval(wide.loc["pearson", natural]) for natural in NATURAL]
        spearman = f"{wide.loc[('spearman', 'mean'), 'value']:.2f}"
        lines.append(f"| {category} ({its['size'].iloc[0]}) | {' | '.join(cells)} | {spearman} |")
    return lines


def corruption_lines(found: dict[str, pd.DataFrame]) -> list[str]:
    """Every corruption alone, the best first."""
    table = found["correlations"]
    table = table[(table["categories_by"] == 3) & (table["resample"] == "models") & (table["what"] == "corruption")]
    wide = table[table["kind"] == "pearson"].set_index(["benchmark", "natural"])
    order = wide.xs("mean", level="natural")["value"].sort_values(ascending=False, kind="stable").index
    lines = []
    for name in order:
        cells = [f"{wide.loc[(name, natural), 'value']:.2f}" for natural in NATURAL[:-1]]
        lines.append(
            f"| {name.partition('/')[2]} | {' | '.join(cells)} | {_interval(wide.loc[(name, 'mean')])} |",
        )
    return lines


def contribution_words(found: dict[str, pd.DataFrame]) -> dict[str, str]:
    """What is said of snow alone, and of fog among the others; intervals over families."""
    table = found["contributions"]
    wide = table[table["resample"] == "families"].set_index("corruption")
    snow, fog = wide.loc["imagenet-c/snow"], wide.loc["imagenet-c/fog"]
    return {
        "snow": f"{snow['alone_gain']:.3f} {_bracket(snow, 3, name='alone_gain')}",
        "fog": f"{fog['gain']:.3f} {_bracket(fog, 3, name='gain')}",
    }


def group_lines(found: dict[str, pd.DataFrame], categories: int, kind: str) -> list[str]:
    """Groups of benchmarks, as in the paper's tables 2 and 3."""
    table = found["groups"]
    table = table[(table["categories_by"] == categories) & (table["resample"] == "models") & (table["kind"] == kind)]
    names = list(dict.fromkeys(table["group"]))
    wide = table.set_index(["natural", "group"])
    lines = [f"| | {' | '.join(name.removeprefix('std ') for name in names)} |", "|---" * (len(names) + 1) + "|"]
    for natural in NATURAL:
        values = [f"{wide.loc[(natural, group), 'value']:.3f}" for group in names]
        lines.append(f"| {natural} | {' | '.join(values)} |")
    lines.append(f"| benchmarks | {' | '.join(str(wide.loc[('mean', g), 'benchmarks']) for g in names)} |")
    return lines


def trend_lines(found: dict[str, pd.DataFrame], natural: str = "mean") -> list[str]:
    """What a step adds to the correlation, with both sets of categories and both kinds of intervals."""
    table = found["trends"]
    table = table[(table["smaller"] == "all") & (table["natural"] == natural)]
    wide = table.rename(columns={"difference": "value"}).set_index(["question", "categories_by", "resample"])
    lines = []
    for question, words in QUESTIONS.items():
        cells = []
        for count in LEAST_CORRELATION:
            lines_of = [wide.loc[(question, count, units)] for units in ("models", "families")]
            cells += [f"{lines_of[0]['value']:+.3f}", *(_bracket(line, 3, "+") for line in lines_of)]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return lines


def step_lines(found: dict[str, pd.DataFrame], categories: int) -> list[str]:
    """Single comparisons, in the mean over natural benchmarks, with intervals over families."""
    table = found["trends"]
    table = table[(table["categories_by"] == categories) & (table["resample"] == "families")]
    table = table[(table["natural"] == "mean") & (table["smaller"] != "all")].rename(columns={"difference": "value"})
    return [
        f"| {row['smaller']} → {row['larger']} | {row['categories']} | {row['value']:+.3f} {_bracket(row, 3, '+')} |"
        for _, row in table.iterrows()
    ]


def search_lines(found: dict[str, pd.DataFrame]) -> list[str]:
    """The most predictive benchmarks, scored on held-out models and on held-out families."""
    table = found["searches"]
    wide = table[table["categories_by"] == 3].set_index(["size", "resample"])
    lines = []
    for size in SIZES:
        ours, families = wide.loc[(size, "models")], wide.loc[(size, "families")]
        members = ", ".join(name.partition("/")[2] for name in ours["members"].split(";"))
        scores = f"{ours['chosen']:.2f} | {_interval(ours, 'held_out')} | {ours['random']:.2f}"
        gains = f"{_interval(ours, 'gain')} | {_interval(families, 'gain')} | {_interval(families, 'gain_over_whole')}"
        lines.append(f"| {size} | {scores} | {gains} | {members} |")
    return lines


def _interval(row: pd.Series, name: str = "value") -> str:
    return f"{row[name]:.2f} {_bracket(row, name=name)}"


def _bracket(row: pd.Series, decimals: int = 2, sign: str = "", name: str = "value") -> str:
    prefix = "" if name == "value" else f"{name}_"
    return f"[{row[f'{prefix}low']:{sign}.{decimals}f}, {row[f'{prefix}high']:{sign}.{decimals}f}]"


def main() -> None:
    if len(sys.argv) > 1:
        for name, table in compute(sys.argv[1]).items():
            table.to_csv(RESULTS / f"{name}.csv", index=False)
    found = read_results()
    parts = [benchmark_lines(found), variant_lines(found), category_lines(found), corruption_lines(found)]
    parts += [group_lines(found, count, kind) for count in LEAST_CORRELATION for kind in ("n,k", "std")]
    parts += [trend_lines(found), *(step_lines(found, count) for count in LEAST_CORRELATION), search_lines(found)]
    parts += [threshold_lines(found), *(agreement_lines(found, count) for count in LEAST_CORRELATION)]
    parts += [agreement_lines(found, 3, "curved"), category_threshold_lines(found)]
    print("\n\n".join("\n".join(lines) for lines in parts))


if __name__ == "__main__":
    main()
