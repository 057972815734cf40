"""Is what is claimed of a model true? A claim holds, fails or is undecided, with its error rate under control."""

import os
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any

from scuff.options import TEXT, WHOLE, Option
from scuff.studies.base import Study, as_function, study
from scuff.vocabulary import Crop, Limit, Mean, Out, Resize, Seed, SkipUnreadable, Std

if TYPE_CHECKING:
    from scuff.studies.claims.results import Checked  # noqa: F401  (of the base class)

Place = str | os.PathLike[str]

CLAIMS = "File of claims (YAML)."
MODEL = "Model, as scuff evaluate takes them. Leave it out with --rows."
ROWS = "Folder of a finished evaluation, whose rows decide in place of a model."
WHICH = "Model of that folder. Default: the only one."


@study
class ClaimsStudy(Study["Checked"]):
    """Decide claims about a model: each holds, fails or is undecided, and is tried no longer than it needs.

    Whatever the data, a claim that is false is said to hold with probability 1 - confidence at most, and the other way
    round. Looking early or often does not change that.
    """

    name = question = "claims"
    command = "check"
    planner = "scuff.studies.claims.plan:plan_claims"
    reader = "scuff.studies.claims.results:read_claims_study"
    has_cells = False

    claims: Annotated[Place, Option(CLAIMS, TEXT, "CLAIMS", is_argument=True)]
    model: Annotated[Any, Option(MODEL, TEXT, "MODEL", is_argument=True)] = None
    _: KW_ONLY
    data: Annotated[Any, Option("Images, as scuff evaluate takes them.", TEXT, "SOURCE", resume="noted")] = None
    rows: Annotated[Place | None, Option(ROWS, TEXT, "DIR")] = None
    of_model: Annotated[str | None, Option(WHICH, TEXT, "NAME", flag="--of")] = None
    out: Out
    limit: Limit = None
    skip_unreadable: SkipUnreadable = False
    resize: Resize = None
    crop: Crop = None
    seed: Seed = 0
    precision: Annotated[str, Option("Precision of the model.", TEXT, "float32|bfloat16|float16")] = "float32"
    mean: Mean = None
    std: Std = None
    batch_size: Annotated[int | None, Option("Batch size.", WHOLE, "N", resume="noted")] = None


check = as_function(ClaimsStudy, "check")
