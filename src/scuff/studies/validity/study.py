"""Does a synthetic benchmark predict robustness to natural shifts? A study over many models."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, Literal

from scuff.options import REPEATED, TEXT, WHOLE, WHOLES, Kind, Option, numbers
from scuff.studies.base import Study, StudySettings, as_function, study
from scuff.vocabulary import Seed, Severities

if TYPE_CHECKING:
    import pandas as pd

    from scuff.metrics import Shifts
    from scuff.studies.validity.results import Validity  # noqa: F401  (of the base class)
    from scuff.studies.validity.table import TableMapping
    from scuff.suites import Suite

Place = str | os.PathLike[str]
Units = Literal["models", "families"]

SOURCE = "A CSV table of accuracies, or folders of scuff evaluate by suites of corruptions."
NATURAL = "An evaluation of a natural shift, and one of clean images of its classes; may be repeated."
CATEGORIES = "Categories of corruptions: a file, the folder or CSV file of scuff overlap, or families (the default)."
PAIRS = "Groups of benchmarks with N categories and K corruptions of each. Default: all possible ones, if there are "
PAIRS += "--categories."
RESAMPLE = "What is resampled for intervals, and held out together. Default: families, if the table has any."


class ValiditySettings(StudySettings, total=False):
    """The form of validity.json."""

    models: list[str]
    left_out: dict[str, str]
    suites: dict[str, list[str]]
    categories: dict[str, list[str]]
    notes: list[str]
    same: float | None
    different: float | None


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


NATURAL_FOLDERS = Kind(list[str], write=write_natural)
PAIRS_OF_NUMBERS = Kind(str, read_pairs, write_pairs)


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
    form = ValiditySettings
    noted = ("models", "left_out", "notes", "same", "different")  # `table` is a hash of all accuracies
    resumes = has_cells = False

    source: Annotated[
        "Shifts | pd.DataFrame | Place | Sequence[Place]",
        Option(SOURCE, REPEATED, "INPUT...", is_argument=True, resume="noted"),
    ]
    out: Annotated[
        Place | None, Option("Folder for all results. Default: nothing is kept.", TEXT, "DIR", resume="noted")
    ] = None
    _: KW_ONLY
    mapping: Annotated[
        "TableMapping | Mapping[str, Any] | Place | None",
        Option("YAML file that says what the columns of the table mean.", TEXT, "FILE", resume="noted"),
    ] = None
    natural: Annotated[
        Mapping[str, Sequence[tuple[Place, Place | None]]] | Sequence[str] | None,
        Option(NATURAL, NATURAL_FOLDERS, "[NAME=]DIR[,REFERENCE]", resume="noted"),
    ] = None
    categories: Annotated[
        Mapping[str, Sequence[str]] | Place | None, Option(CATEGORIES, TEXT, "FILE|FROM|families")
    ] = None
    pairs: Annotated[
        Sequence[tuple[int, int]] | tuple[int, int] | None,
        Option(PAIRS, PAIRS_OF_NUMBERS, "'N,K N,K ...'"),
    ] = None
    search: Annotated[
        int | Sequence[int],
        Option("Search for the most predictive benchmarks of these sizes, as in 3,5.", WHOLES, "SIZES"),
    ] = ()
    severities: Severities = None
    suites: Annotated[
        "Sequence[Suite | str] | None",
        Option("Suite to score instead of all that are known; may be repeated.", REPEATED, "NAME|FILE", "--suite"),
    ] = None
    count: Annotated[int, Option("Approximate number of benchmarks in a group.", WHOLE, "N")] = 1000
    resample: Annotated[Units | None, Option(RESAMPLE, TEXT, "models|families", resume="noted")] = None
    resamples: Annotated[int, Option("Number of bootstrap resamples, at least 100.", WHOLE, "N")] = 1000
    seed: Seed = 0
    device: Annotated[None, Option("Not needed: everything is computed from a table.", resume="noted")] = None


validity = as_function(ValidityStudy)
