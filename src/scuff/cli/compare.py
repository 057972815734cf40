"""`scuff compare`: which of two models is more robust, and where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scuff.cli.files import Csv, Json, check_files, write_files
from scuff.tables import TYPED, Column, Table
from scuff.words import class_name, entry_name, fine, listed, p_value, percent, sharp, signed_percent

if TYPE_CHECKING:
    import pandas as pd

    from scuff.evaluation import Evaluation
    from scuff.metrics import Difference, Score
    from scuff.metrics.evaluation.versus import Versus

SAME = ("suite", "source_fingerprint", "seed", "cut", "as_published")  # what both evaluations must have in common
MOST_CLASSES = 10  # that are shown
ABOUT_P = (
    "P-values: two-sided z-tests of the same images, with the standard error from the bootstrap. They tell what other "
    "images of the same kind would change, not what another training of the models would."
)


Data = Annotated[
    str | None, typer.Option(metavar="SOURCE", help="Clean images: then A are corrupted images, compared with ours.")
]
Limit = Annotated[int | None, typer.Option(metavar="N", help="With --data: number of images per cell (default 500).")]


def compare_command(
    a: str = typer.Argument(..., metavar="A", help="Folder of an evaluation; FOLDER:MODEL if it has several models."),
    b: str | None = typer.Argument(None, metavar="[B]", help="The other. Not needed if A has exactly two models."),
    data: Data = None,
    limit: Limit = None,
    as_json: Json = None,
    as_csv: Csv = None,
) -> None:
    """Say which of two models is more robust, and where: by corruption, severity and class.

    Both must have seen the same images, corrupted alike, so that they are compared image by image. Differences are B
    minus A, in percentage points of error: below 0, B is better. Where many are tested at once, p-values are those
    after Holm's correction, so that among equal models one of them falls below 0.05 in 5 % of cases only.

    With --data, A are corrupted images that somebody published, SUITE:DIR, and they are compared with ours. The seeds
    of CIFAR-10-C and ImageNet-C are lost, so that pixels differ; eleven statistics of each image must agree up to
    chance. (Files that were made by a lock are the same byte for byte: scuff verify.)

    \b
    Examples:
      scuff compare runs/plain runs/augmix
      scuff compare runs/both:plain runs/both:augmix
      scuff compare runs/both --json both.json --csv both.csv
      scuff compare cifar10-c:CIFAR-10-C --data cifar10:data --csv alike.csv
    """
    check_files(as_json, as_csv)
    if data is not None:
        _compare_images(a, b, data, limit, as_json, as_csv)
        return
    if limit is not None:
        raise ValueError("--limit is for images; evaluations are compared on all that they have")
    from scuff.cli.console import print_table
    from scuff.metrics.evaluation.versus import versus
    from scuff.report.evaluation.scores import counted_suite

    (evaluation, rows_a), (_, rows_b) = _sides(a, b)
    found = versus(rows_a, rows_b, counted_suite(evaluation))
    if found.a == found.b and b is not None:
        found = replace(found, a=a, b=b)  # known by their folders
    verdict = list(verdict_words(found))
    typer.echo("\n".join(verdict))
    for table in tables(found, evaluation.settings["class_names"]):
        print_table(table)
    typer.echo(ABOUT_P)
    named = {"value": "b_minus_a"}
    frames = {kind: getattr(found, kind).rename(columns=named) for kind in ("corruptions", "cells", "classes")}
    threes = {"overall": found.overall, "clean": found.clean}
    means = {kind: three and dict(zip(("a", "b", "b_minus_a"), three, strict=True)) for kind, three in threes.items()}
    write_files({"a": found.a, "b": found.b, "verdict": verdict, **means, **frames}, frames["cells"], as_json, as_csv)


def _compare_images(
    a: str, b: str | None, data: str, limit: int | None, as_json: Path | None, as_csv: Path | None
) -> None:
    from scuff.cli.console import print_table
    from scuff.cli.jobs import resumable_job
    from scuff.resemblance import resemblance

    if b is not None:
        raise ValueError(f"with --data, images of one folder are compared with ours; leave out {b}")
    with resumable_job(goes_on=False) as advance:
        found = resemblance(a, data, limit=500 if limit is None else limit, progress=advance)
    print_table(resemblance_table(found))
    off = found[found["p_holm"].map(_is_clear)]
    verdict = (
        f"{len(off)} of {len(found)} averages differ by more than chance, in {_cells_of(off)} of {_cells_of(found)} "
        f"cells (p < {_significant()} after Holm's correction); {found['images'].iloc[0]} images per cell."
    )
    typer.echo(verdict)
    write_files({"verdict": verdict, "statistics": found}, found, as_json, as_csv)


def _cells_of(found: pd.DataFrame) -> int:
    return len(found[["corruption", "severity"]].drop_duplicates())


def resemblance_table(found: pd.DataFrame) -> Table:
    """A line for each cell: how far images are changed, and the average that differs most clearly."""
    lines = []
    for (entry, level), cell in found.groupby(["corruption", "severity"], sort=False):
        change, worst = cell.set_index("statistic").loc["mae"], cell.loc[cell["p_value"].idxmin()]
        lines.append({"entry": entry_name(entry), "level": str(level or ""), "change": change, "worst": worst})
    columns = [
        Column("corruption", "entry"),
        Column("severity", "level"),
        Column("mean change: ours", lambda line: line["change"]["ours"], fine),
        Column("theirs", lambda line: line["change"]["theirs"], fine),
        Column("difference", lambda line: line["change"]["difference"], fine),
        Column("by chance up to", lambda line: line["change"]["chance"], fine),
        Column("clearest difference", lambda line: line["worst"]["statistic"]),
        Column("p", lambda line: line["worst"]["p_holm"], p_value),
    ]
    return Table.of("Averages over images, where white is 1", lines, columns)


# --- what is compared -------------------------------------------------------------------------------------------------


def _sides(a: str, b: str | None) -> list[tuple[Evaluation, pd.DataFrame]]:
    """The evaluation and the rows of both models, which must have seen the same."""
    from scuff.evaluation import read_evaluation
    from scuff.metrics import by_model

    if b is None:
        evaluation = _checked(read_evaluation(a), a)
        models = by_model(evaluation.rows)
        if len(models) != 2:
            raise ValueError(f"{a} holds {listed(list(models))}; name two of them, as in {a}:{next(iter(models))}")
        return [(evaluation, rows) for rows in models.values()]  # type: ignore[misc]
    sides = [_side(text) for text in (a, b)]
    ours, theirs = (evaluation.settings for evaluation, _ in sides)
    other = [name for name in SAME if ours.get(name) != theirs.get(name)]
    if other:
        raise ValueError(f"{a} and {b} cannot be compared image by image: they differ in {listed(other)}")
    return sides


def _side(text: str) -> tuple[Evaluation, pd.DataFrame]:
    from scuff.evaluation.results import read_model

    evaluation, rows = read_model(text)
    return _checked(evaluation, text), rows


def _checked(evaluation: Evaluation, place: str) -> Evaluation:
    if "frame" in evaluation.rows:
        raise ValueError(f"{place} holds sequences, whose flips scuff report compares; compare takes single images")
    return evaluation


# --- what is said -----------------------------------------------------------------------------------------------------


def verdict_words(found: Versus) -> Iterator[str]:
    """Who is better, in sentences."""
    for scores, where in ((found.overall, "Corrupted images"), (found.clean, "Clean images")):
        if scores is not None:
            yield f"{where}: {_who_wins(found, *scores)}"
    for frame, kind, plural in ((found.corruptions, "corruption", "corruptions"), (found.classes, "class", "classes")):
        if len(frame) > 1:
            yield f"By {kind}: {_how_many(found, frame, plural)}"


def _who_wins(found: Versus, a: Score, b: Score, difference: Difference) -> str:
    low, high = difference.low, difference.high
    form, signed = sharp(percent, low, high), sharp(signed_percent, low, high)
    best, other = (found.a, found.b) if a.value <= b.value else (found.b, found.a)
    who = f"{best} makes fewer errors than {other}" if _is_clear(difference.p_value) else "no clear difference"
    ends = "" if difference.n < 2 else f" [{signed(low)}, {signed(high)}]"
    words = (
        f"{who}; {found.a} {form(a.value)} %, {found.b} {form(b.value)} %, difference {signed(difference.value)} points"
    )
    return f"{words}{ends}, {_p_words(difference.p_value)}.".translate(TYPED)


def _how_many(found: Versus, frame: pd.DataFrame, plural: str) -> str:
    clear = frame[frame["p_holm"].map(_is_clear)]
    wins = [f"{found.a} is better on {(clear['value'] > 0).sum()}", f"{found.b} on {(clear['value'] < 0).sum()}"]
    correction = f"p < {_significant()} after Holm's correction for {len(frame)} comparisons"
    return f"of {len(frame)} {plural}, {', '.join(wins)}, and {len(frame) - len(clear)} are not clear ({correction})."


def _p_words(p: float) -> str:
    text = p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def _significant() -> float:
    from scuff.metrics.evaluation.comparison import SIGNIFICANT

    return SIGNIFICANT


def _is_clear(p: float) -> bool:
    return p < _significant()


# --- what is shown ----------------------------------------------------------------------------------------------------


def tables(found: Versus, class_names: list[str]) -> Iterator[Table]:
    """By corruption, by corruption and severity, and by class."""
    from scuff.report.evaluation.sections import difference_map

    errors = [
        Column(f"{found.a} %", "a", percent),
        Column(f"{found.b} %", "b", percent),
        Column("difference, points", "value", signed_percent, interval=True),
        Column("p (Holm)", "p_holm", p_value),
    ]
    if len(found.corruptions):
        name = Column("corruption", lambda line: entry_name(line["corruption"]))
        yield Table.of("Errors by corruption, with 95 % intervals", found.corruptions, [name, *errors])
    if len(found.cells) > len(found.corruptions):
        yield difference_map(found.cells)
    classes = found.classes.iloc[(-found.classes["value"].abs()).argsort(kind="stable")].head(MOST_CLASSES)
    few = f"; the {len(classes)} that differ most, of {len(found.classes)}" if len(classes) < len(found.classes) else ""
    of_class = [Column("class", lambda line: class_name(class_names, line["label"])), Column("images", "n", str)]
    over = "over all corruptions" if len(found.corruptions) else "of clean images"
    yield Table.of(f"Errors by class {over}{few}", classes, [*of_class, *errors])
