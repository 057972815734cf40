"""How far corruptions overlap: one model per corruption, every model on every corruption."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, Required

from scuff.options import REPEATED, TEXT, WHOLE, WORDS, Option
from scuff.studies.base import Study, StudySettings, as_function, study
from scuff.vocabulary import Architecture, Data, Epochs, Limit, MaybeOut, Out, RecipeName, Seeds, SkipUnreadable, Test

if TYPE_CHECKING:
    from scuff.metrics.overlap.scores import Overlaps  # noqa: F401  (of the base class)
    from scuff.suites import Suite

STANDARD_FROM = Option("Study whose standard models are used for fine-tuning.", TEXT, "DIR", resume="noted")


class OverlapSettings(StudySettings, total=False):
    """The form of overlap.json."""

    suites: Required[list[dict[str, Any]]]
    seeds: Required[list[int]]


@study
class OverlapStudy(Study["Overlaps"]):
    """Train, test, and return the matrix of overlapping scores.

    The six steps of the paper on non-overlapping corruptions. (1, 2) Train a standard model on clean images, and for
    every corruption one whose training images are half corrupted; (3, 4) test all of them on clean images and on every
    corruption; (5, 6) compute robustness and overlapping scores from the accuracies. Every image draws its severity.
    `read_overlap(out)` gives the accuracies, for coverage and balance.
    """

    name = question = command = "overlap"
    planner = "scuff.studies.overlap.plan:plan_overlap"
    reader = "scuff.studies.overlap.results:read_overlap"
    form = OverlapSettings

    suites: Annotated[
        "str | Suite | Sequence[str | Suite]",
        Option("Suites whose corruptions are compared.", REPEATED, "SUITE", is_argument=True),
    ]
    data: Data
    out: Out
    _: KW_ONLY
    recipe: RecipeName
    only: Annotated[
        Sequence[str] | None, Option("Compare only these corruptions, as in fog,noc-candidates/rain.", WORDS, "NAMES")
    ] = None
    together: Annotated[
        str | Sequence[str],
        Option(
            "Suites on all of whose corruptions one further model is trained: the direct test of coverage.",
            WORDS,
            "SUITES",
        ),
    ] = ()
    seeds: Seeds = 1
    test: Test = None
    classes: Annotated[
        str | None, Option("Class subset: imagenet-100 is every tenth class of ImageNet.", TEXT, "NAME")
    ] = None
    limit: Limit = None
    skip_unreadable: SkipUnreadable = False
    architecture: Architecture = None
    epochs: Epochs = None
    fine_tune: Annotated[
        int | None,
        Option("Fine-tune the models of corruptions from the standard model for this many epochs.", WHOLE, "EPOCHS"),
    ] = None
    standard_from: Annotated[MaybeOut, STANDARD_FROM] = None


overlap = as_function(OverlapStudy)
