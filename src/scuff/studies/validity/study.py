"""Does a synthetic benchmark predict robustness to natural shifts? A study over many models."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal

from scuff.studies.base import Study, as_function, study
from scuff.studies.options import REPEATED, TEXT, WHOLE, WHOLES, Kind, numbers, option

if TYPE_CHECKING:
    import pandas as pd

    from scuff.metrics import Shifts
    from scuff.studies.validity.mapping import TableMapping
    from scuff.suites import Suite

Place = str | os.PathLike[str]


def read_pairs(text: str, flag: str = "--pairs") -> list[tuple[int, int]]:
    """`2,3 3,2` as a list of pairs.

    >>> read_pairs("2,3 3,2")
    [(2, 3), (3, 2)]
    """
    pairs = [tuple(numbers(word, flag, int, "2,3 3,2") or ()) for word in text.split()]
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{flag} takes pairs of whole numbers separated by spaces, as in '2,3 3,2'; got {text!r}")
    return pairs


def write_pairs(pairs: Sequence[Any]) -> list[str]:
    """Pairs as one word of a command; a single pair may come alone.

    >>> write_pairs([(2, 3), (3, 2)]), write_pairs((2, 3))
    (['2,3 3,2'], ['2,3'])
    """
    several = [pairs] if isinstance(pairs[0], int) else pairs
    return [" ".join(f"{n},{k}" for n, k in several)]


def write_natural(natural: Mapping[str, Sequence[Sequence[str | None]]] | Sequence[str]) -> list[str]:
    """Folders of natural benchmarks as the command takes them, [NAME=]DIR[,REFERENCE].

    >>> write_natural({"imagenet-a": [["runs/a", "runs/val-a"]], "v2": [["runs/v2", None]]})
    ['imagenet-a=runs/a,runs/val-a', 'v2=runs/v2']
    """
    if not isinstance(natural, Mapping):
        return list(natural)
    return [f"{name}={','.join(filter(None, pair))}" for name, folders in natural.items() for pair in folders]


@study
class ValidityStudy(Study["Validity"]):
    """Correlate robustness to synthetic benchmarks with robustness to natural shifts, over models.

    What models lose to synthetic benchmarks (residual robustness) is correlated with what they lose to natural ones:
    for every suite, every category of corruptions, every corruption alone; and, as Laugros, Caplier and Ospici did for
    ImageNet-Syn2Nat, for groups of thousands of benchmarks that have n categories and k corruptions of each, or that
    are more or less balanced. Beyond the paper, the most predictive benchmark of a given size is searched for, and
    scored on models that did not choose it. Everything rests on a table, and takes seconds.
    """

    name = question = command = "validity"
    planner = "scuff.studies.validity.plan:plan_validity"
    reader = "scuff.studies.validity.results:read_validity"
    noted = ("models", "left_out", "notes", "same", "different")  # `table` is a hash of all accuracies
    resumes = has_cells = False

    source: Shifts | pd.DataFrame | Place | Sequence[Place] = option(
        "A CSV table of accuracies, or folders of scuff evaluate by suites of corruptions.",
        kind=REPEATED,
        metavar="INPUT...",
        is_argument=True,
        resume="noted",
    )
    out: Place | None = option(
        "Folder for all results. Default: nothing is kept.", None, kind=TEXT, metavar="DIR", resume="noted"
    )
    _: KW_ONLY
    mapping: TableMapping | Mapping[str, Any] | Place | None = option(
        "YAML file that says what the columns of the table mean.", None, kind=TEXT, metavar="FILE", resume="noted"
    )
    natural: Mapping[str, Sequence[tuple[Place, Place | None]]] | Sequence[str] | None = option(
        "An evaluation of a natural shift, and one of clean images of its classes; may be repeated.",
        None,
        kind=Kind(list[str], write=write_natural),
        metavar="[NAME=]DIR[,REFERENCE]",
        resume="noted",
    )
    categories: Mapping[str, Sequence[str]] | Place | None = option(
        "Categories of corruptions: a file, the folder or CSV file of scuff overlap, or families (the default).",
        None,
        kind=TEXT,
        metavar="FILE|FROM|families",
    )
    pairs: Sequence[tuple[int, int]] | tuple[int, int] | None = option(
        "Groups of benchmarks with N categories and K corruptions of each. Default: all possible ones, if there are "
        "--categories.",
        None,
        kind=Kind(str, read_pairs, write_pairs),
        metavar="'N,K N,K ...'",
    )
    search: int | Sequence[int] = option(
        "Search for the most predictive benchmarks of these sizes, as in 3,5.", (), kind=WHOLES, metavar="SIZES"
    )
    severities: Sequence[int] | None = option(
        "Use only these severities, as in 1,3,5.", None, kind=WHOLES, flag="--severity", metavar="LEVELS"
    )
    suites: Sequence[Suite | str] | None = option(
        "Suite to score instead of all that are known; may be repeated.",
        None,
        kind=REPEATED,
        flag="--suite",
        metavar="NAME|FILE",
    )
    count: int = option("Approximate number of benchmarks in a group.", 1000, kind=WHOLE, metavar="N")
    resample: Literal["models", "families"] | None = option(
        "What is resampled for intervals, and held out together. Default: families, if the table has any.",
        None,
        kind=TEXT,
        metavar="models|families",
        resume="noted",
    )
    resamples: int = option("Number of bootstrap resamples, at least 100.", 1000, kind=WHOLE, metavar="N")
    seed: int = option("Seed of everything random.", 0, kind=WHOLE, metavar="N")
    device: None = option("Not needed: everything is computed from a table.", None, resume="noted")


validity = as_function(ValidityStudy)
