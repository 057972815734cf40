"""`scuff design`: build benchmarks."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scuff.cli.calibration import calibrate_command
from scuff.cli.files import Json, check_files, write_files
from scuff.cli.options import Seed
from scuff.cli.transform_space import dissimilar_command
from scuff.options import words

if TYPE_CHECKING:
    from scuff.metrics import Overlaps
    from scuff.suites import Suite

BENCHMARKS_PRINTED = 10  # of those that are drawn at random

From = Annotated[
    str,
    typer.Argument(
        metavar="FROM",
        help="Folder of scuff overlap; or a CSV file: accuracies (trained_on, tested_on, accuracy) or a square matrix "
        "of overlaps.",
    ),
]
Suites = Annotated[
    list[str] | None,
    typer.Option("--suite", metavar="FILE", help="Suite file of your own that corruptions come from; repeatable."),
]
Only = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Choose only among these corruptions, or suites, as in noc-candidates."),
]
UseOf = Annotated[
    str,
    typer.Option(
        "--use", metavar="robustness|accuracy", help="What overlaps compare; accuracies as the code of Syn2Nat does."
    ),
]
Name = Annotated[str | None, typer.Option(help="Name of the new suite. Default: that of its file.")]

design_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@design_app.callback()
def _design() -> None:
    """Build benchmarks: which corruptions, and how severe.

    Corruptions are chosen by how they overlap, or by how they look to a network.

    \b
    Examples:
      scuff overlap noc-candidates --data cifar10:data --out runs/noc    first, measure overlaps
      scuff design nonoverlapping runs/noc --out my-noc.yaml
      scuff design categories runs/noc
      scuff design balanced runs/noc --n 6 --k 3 --out my-balanced.yaml
      scuff design assess runs/noc
      scuff design dissimilar cifar10-c c-bar-candidates-32 --data cifar10:data --model a.safetensors \\
        --extractor b.safetensors --out runs/c-bar
    """


@design_app.command("nonoverlapping")
def nonoverlapping_command(
    source: From,
    threshold: float = typer.Option(0.1, help="No pair may overlap by this much or more."),
    sweep: bool = typer.Option(False, "--sweep", help="Also show what thresholds from 0.05 to 0.5 would give."),
    matrices: bool = typer.Option(
        False, "--matrices", help="Also show the overlaps inside of the benchmark; with --sweep, at every threshold."
    ),
    out: Path | None = typer.Option(None, metavar="FILE.yaml", help="Suite file to write."),
    name: Name = None,
    only: Only = None,
    suite: Suites = None,
    use: UseOf = "robustness",
) -> None:
    """Choose corruptions that do not overlap.

    The largest set in which every pair overlaps less than the threshold; of several, the one with the lowest mean
    overlap. The search is exact. A higher threshold gives a larger benchmark, which covers more but is less balanced.

    \b
    Examples:
      scuff design nonoverlapping runs/noc --sweep
      scuff design nonoverlapping runs/noc --threshold 0.15 --out my-noc.yaml
      scuff design nonoverlapping runs/noc --only noc-candidates --sweep --matrices
      scuff design nonoverlapping accuracies.csv
    """
    from scuff import design
    from scuff.cli.console import print_table
    from scuff.design.overlap.nonoverlapping import THRESHOLDS
    from scuff.report.overlap.designs import explain_selection, selection_table, sweep_matrices, sweep_table

    _check_ending(out, (".yaml", ".yml"))
    overlaps = _read(source, only, suite, use)
    if sweep or matrices:
        swept = design.sweep(overlaps, THRESHOLDS if sweep else [threshold])
        tables = [sweep_table(swept)] if sweep else []
        for table in [*tables, *(sweep_matrices(overlaps, swept).values() if matrices else ())]:
            print_table(table)
    selection = design.find_nonoverlapping(overlaps, threshold)
    print_table(selection_table(overlaps, selection))
    typer.echo("\n".join(explain_selection(selection)))
    if out is not None:
        _save_suite(selection.to_suite(name or out.stem, overlaps.suites), out)


@design_app.command("categories")
def categories_command(
    source: From,
    correlation: float = typer.Option(0.5, help="Least mean correlation of overlaps within a category."),
    seed: Seed = 0,
    out: Path | None = typer.Option(None, metavar="FILE", help="File for the categories: .json or .yaml."),
    only: Only = None,
    use: UseOf = "robustness",
) -> None:
    """Group corruptions into categories.

    Corruptions that overlap with the same others belong together. K-means is tried with 2, 3, ... categories until
    overlaps within categories correlate enough. The table compares each number of categories with as many groups from
    hierarchical clustering. Give the categories in the file better names, and use it with scuff design balanced.

    \b
    Examples:
      scuff design categories runs/noc
      scuff design categories runs/noc --out categories.yaml
    """
    from scuff.cli.console import print_table
    from scuff.design import find_categories
    from scuff.report.overlap.designs import explain_categories, groups_table, steps_table

    _check_ending(out, (".json", ".yaml", ".yml"))
    overlaps = _read(source, only, use=use)
    categories = find_categories(overlaps, least_correlation=correlation, seed=seed)
    print_table(steps_table(categories))
    print_table(groups_table(categories.groups()))
    typer.echo("\n".join(explain_categories(categories, correlation)))
    if out is not None:
        _write(out, categories.groups())
        typer.echo(f"Categories: {out}")


@design_app.command("balanced")
def balanced_command(
    source: From,
    n: int = typer.Option(..., "--n", help="Number of categories."),
    k: int = typer.Option(..., "--k", help="Number of corruptions from each category."),
    categories: Path | None = typer.Option(
        None, metavar="FILE", help="Categories, as scuff design categories writes them. Default: found anew."
    ),
    count: int | None = typer.Option(
        None, metavar="N", help="Draw this many different benchmarks at random instead of the best."
    ),
    seed: Seed = 0,
    out: Path | None = typer.Option(
        None, metavar="FILE", help="Suite file to write, .yaml; with --count, a list of benchmarks."
    ),
    name: Name = None,
    only: Only = None,
    suite: Suites = None,
    use: UseOf = "robustness",
) -> None:
    """Take k corruptions from each of n categories.

    Of all such benchmarks, the one whose corruptions of the same category overlap least, as ImageNet-Syn2Nat was
    chosen (n = 6, k = 3). With --count, different ones at random, to study what benchmarks have in common.

    \b
    Examples:
      scuff design balanced runs/noc --n 4 --k 2 --out my-balanced.yaml
      scuff design balanced runs/noc --n 4 --k 2 --categories categories.yaml
      scuff design balanced runs/noc --n 6 --k 1 --count 1000 --out benchmarks.json
    """
    from scuff import design
    from scuff.cli.console import print_table
    from scuff.design.overlap.categories import read_categories
    from scuff.report.overlap.designs import groups_table

    _check_ending(out, (".yaml", ".yml") if count is None else (".json", ".yaml", ".yml"))
    overlaps = _read(source, only, suite, use)
    groups = read_categories(categories) if categories else design.find_categories(overlaps, seed=seed).groups()
    if count is None:
        members = design.least_overlapping(overlaps, groups, n, k)
        chosen = {category: [name for name in group if name in members] for category, group in groups.items()}
        print_table(groups_table({category: group for category, group in chosen.items() if group}))
        if out is not None:
            _save_suite(design.balanced(overlaps, groups, n, k, name or out.stem), out)
        return
    benchmarks = design.generate(groups, n, k, count, seed)
    typer.echo("\n".join(", ".join(benchmark) for benchmark in benchmarks[:BENCHMARKS_PRINTED]))
    shown, possible = min(count, BENCHMARKS_PRINTED), design.count_benchmarks(groups, n, k)
    typer.echo(f"{shown} of the {count} benchmarks drawn, out of {possible} possible.")
    if out is not None:
        _write(out, benchmarks)
        typer.echo(f"Benchmarks: {out}")


@design_app.command("assess")
def assess_command(
    source: From,
    benchmark: str | None = typer.Option(
        None, metavar="NAMES", help="Corruptions of the benchmark, or suites. Default: every suite of the table."
    ),
    baseline: str = typer.Option(
        "standard", metavar="MODEL|alexnet", help="Reference of corruption errors: a model of the table, or published."
    ),
    as_paper: bool = typer.Option(
        False, "--as-paper", help="Count training as help if a difference is above 0, whatever its interval."
    ),
    use: UseOf = "robustness",
    as_json: Json = None,
    as_csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Also write corruption errors.")] = None,
) -> None:
    """Say how complete and how fair a benchmark is: its coverage, its balance, and corruption errors on it.

    Coverage: which corruptions outside of it overlap with one of its own, and which ones training on all of it helps
    against. Balance: how far apart the models come out that were each trained on one of its corruptions.

    \b
    Examples:
      scuff design assess runs/noc
      scuff design assess accuracies.csv --benchmark fog,hue,noc-candidates/rain
      scuff design assess runs/noc --benchmark noc-candidates --baseline alexnet --csv errors.csv
    """
    check_files(as_json, as_csv)
    from scuff.cli.console import print_table
    from scuff.design.overlap.nonoverlapping import THRESHOLD
    from scuff.report.overlap import benchmarks
    from scuff.report.overlap.overlap import read_table
    from scuff.report.overlap.scores import measure_overlap
    from scuff.studies import read_overlap

    accuracies = read_overlap(source) if _is_folder(source) else read_table(source)
    chosen = None if benchmark is None else _choose(accuracies.corruptions, benchmark)
    options: dict[str, Any] = {"use": use, "baseline": baseline, "as_paper": as_paper, "benchmark": chosen}
    scores = measure_overlap(accuracies, THRESHOLD, **options)
    if scores.coverage:
        print_table(benchmarks.coverage_table(scores))
    if scores.direct:
        print_table(benchmarks.direct_table(scores))
        typer.echo("\n".join(benchmarks.direct_words(scores)))
    for _, table in benchmarks.ce_tables(scores):
        print_table(table)
    coverage = {" against ".join(key): frame for key, frame in scores.coverage.items()}
    kinds: dict[str, Any] = {"coverage": coverage, "direct": scores.direct, "balance": scores.balances}
    if not scores.balances:
        if as_json:
            write_files(kinds, None, as_json, None)
        raise ValueError(
            f"no benchmark here has corruption errors relative to {baseline}; take another --baseline (published ones "
            "are those of one suite), or a benchmark of two corruptions or more that harm it, with a model of each"
        )
    print_table(benchmarks.balance_table(scores))
    typer.echo(f"Intervals: {scores.overlaps.interval}.")
    if as_json or as_csv:
        import pandas as pd

        errors = pd.concat([frame.assign(benchmark=name) for name, frame in scores.errors.items()])
        write_files({**kinds, "errors": errors}, errors, as_json, as_csv)


design_app.command("dissimilar")(dissimilar_command)
design_app.command("calibrate")(calibrate_command)


# --- files ----------------------------------------------------------------------------------------------------------


def _read(source: str, only: str | None, suites: list[str] | None = None, use: str = "robustness") -> Overlaps:
    """The overlaps of a study's folder, or of a CSV file; of all corruptions, or `only` of some entries or suites."""
    from scuff import studies
    from scuff.metrics import read_overlaps
    from scuff.suites import load_suite

    loaded = [load_suite(suite) for suite in suites or ()]
    read = studies.read_overlap(source) if _is_folder(source) else source
    overlaps = read_overlaps(read, loaded, use=use)  # type: ignore[arg-type]
    return overlaps if only is None else overlaps.take(_choose(overlaps.names, only))


def _is_folder(source: str) -> bool:
    return os.path.isdir(source) or "://" in source


def _choose(names: Sequence[str], only: str) -> list[str]:
    """The corruptions that are meant by addresses, entries and suites."""
    chosen: list[str] = []
    for word in words(only) or ():
        matching = [name for name in names if word in (name, *name.rpartition("/")[::2])]
        if not matching:
            raise ValueError(f"there is no corruption or suite {word!r} here; there are {', '.join(names)}")
        chosen += matching
    return list(dict.fromkeys(chosen))


def _write(path: Path, content: Any) -> None:
    import yaml

    from scuff.files import write_by_rename

    plain = content if isinstance(content, dict) else list(map(list, content))
    with write_by_rename(path) as file:
        if path.suffix == ".json":
            file.write(json.dumps(plain, indent=1).encode())
        else:
            yaml.safe_dump(plain, file, sort_keys=False, default_flow_style=None, width=120, encoding="utf-8")


def _save_suite(suite: Suite, out: Path) -> None:
    suite.save(out)
    typer.echo(f"Suite: {out} ({len(suite.entries)} corruptions; see them with scuff show {out})")


def _check_ending(out: Path | None, endings: tuple[str, ...]) -> None:
    if out is not None and out.suffix not in endings:
        raise ValueError(f"--out must end in {' or '.join(endings)}, got {out}")
