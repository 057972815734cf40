"""How severe a corruption may become before a model fails: the first failure of every image.

The model sees all images at every level, and then halves the step in which each of them fails first: four times, which
finds the failure to a sixteenth of a level. All severities share their draws, so that an image changes along the way
and its scene does not.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from scuff.options import TEXT, WORDS, Option
from scuff.studies.base import Plan, as_function, check_folder, complete_settings, open_engine_of, study
from scuff.studies.one_model import OneModelStudy
from scuff.vocabulary import Data, Only, Out

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import torch

    from scuff.engine import Advance, Run
    from scuff.engine.cost import StudyCost
    from scuff.store import Settings, Store
    from scuff.studies.calibration.bench import Bench, ClosedBench
    from scuff.suites import Suite

MODEL = "torchvision:NAME, timm:NAME, onnx:FILE, FILE.safetensors, FILE.pt, package.module:object."
SUITE = "Suite of corruptions with levels: its name (see scuff list), or its file."
IMAGES = "Clean images: fashion, cifar10:DIR, folder:DIR, npz:FILE, hf:DIR, ..."
ENTRIES = "Search only these corruptions, as in fog,snow; more of them may join later. Default: the benchmark."
PATH = "levels, through all of them, or monotone, through those that lead away from the image."
HALVINGS = 4  # of a step between levels
OF_A_MODEL = ("model", "model_name", "data", "limit", "only")  # settings in which those may differ that are compared


@study
class SurvivalStudy(OneModelStudy["pd.DataFrame"]):
    """Find the first severity at which a model fails, for every image and corruption.

    Returns rows with a line per image and corruption: `failure` is the severity, 0 if the model is wrong about the
    clean image and infinite if it is right up to the `highest`; `flips_back` says whether it is right again at a later
    level. `scuff.metrics.survival` and its neighbours make curves and scores of them.
    """

    name = question = command = "survival"
    planner, reader = "scuff.studies.survival:plan_survival", "scuff.studies.survival:read_survival"

    model: Annotated[Any, Option(MODEL, TEXT, "MODEL", is_argument=True)]
    suite: Annotated["Suite | str | os.PathLike[str]", Option(SUITE, TEXT, "SUITE")]
    data: Annotated[Data, Option(IMAGES, TEXT, "SOURCE")]
    out: Out
    _: KW_ONLY
    only: Annotated[Only, Option(ENTRIES, WORDS, "NAMES", resume="joins")] = None
    path: Annotated[str, Option(PATH, TEXT, "NAME")] = "levels"


survival = as_function(SurvivalStudy)


def plan_survival(study: SurvivalStudy) -> "Plan[pd.DataFrame]":
    """Open the model and the images, and find out which corruptions are left."""
    from scuff.door import resolve_still
    from scuff.store import Store
    from scuff.suites import Suite, load_suite

    suite = study.suite if isinstance(study.suite, Suite) else load_suite(study.suite)
    entries = list(suite.choose(study.only))
    for entry in entries:
        if not suite.listed_levels(entry):
            raise ValueError(f"{suite.name}/{entry} has no levels, so there is no severity to search")
        resolve_still(entry, 0.5, suite=suite, path=study.path)
    engine, device = open_engine_of(study)
    bench = study.plan_bench(device)
    asked = {"suite": suite.to_dict(), "path": study.path, "limit": study.limit, "seed": study.seed}
    named = {"model_name": bench.classifier.name, "data": bench.source.name}
    settings = complete_settings(study, {**asked, **named, **bench.settings(), "only": entries}, device)
    store = Store(study.out)
    before = check_folder(study, store, settings)
    if before is not None:
        _join(settings, before["only"], suite)
    return Plan(study, settings, SurvivalWork(study, store, bench, suite, entries), store, engine)


def _join(settings: "Settings", before: list[str], suite: "Suite") -> None:
    """Corruptions of before and now, in the order of the suite; the benchmark need not be named."""
    every = [entry for entry in suite.entries if entry in (*before, *settings["only"])]
    settings["only"] = settings["options"]["only"] = every
    if every == list(suite.choose()):
        del settings["options"]["only"]


@dataclass(frozen=True, eq=False)
class SurvivalWork:
    """The searches that are left, one for each corruption."""

    study: SurvivalStudy
    store: "Store"
    bench: "ClosedBench"
    suite: "Suite"
    entries: list[str]

    def missing(self) -> list[str]:
        there = self.store.names("rows", ".parquet")
        return [entry for entry in self.entries if _rows_of(entry) not in there]

    def run(self, run: "Run") -> None:
        """Search the corruptions that are left; each is saved when it is finished."""
        import torch

        from scuff.engine import needs_of
        from scuff.store import write_rows

        self.bench.decoding = partial(run.progress, "decoding")
        missing, needs = self.missing(), needs_of(torch.device(self.bench.device), cpus=None)
        run.expect("search", len(self.entries), len(self.entries) - len(missing))
        search = partial(_search, self.bench, self.suite, self.study.path, self.study.seed)
        for entry, columns in run.cells("search", search, missing, needs=needs):
            named = (self.bench.classifier.name, self.bench.source.name, self.suite.name, entry)
            constant = dict(zip(("model", "source", "suite", "corruption"), named, strict=True))
            write_rows(self.store, _rows_of(entry), constant, columns)

    def collect(self) -> "pd.DataFrame":
        """All rows; their scores are written as a table."""
        from scuff.metrics import survival_scores

        rows = read_survival(self.store.root)
        self.store.write("scores.csv", survival_scores(rows).to_csv(index=False).encode())
        return rows

    def cost(self) -> "StudyCost":
        """A pass over the images for every level and every halving that is left."""
        import torch

        from scuff.engine.cost import IN_MEMORY, Estimate
        from scuff.evaluation import plan_evaluation
        from scuff.evaluation.cost import Tests, rows_size

        estimate, missing, bench = Estimate(torch.device(self.bench.device)), self.missing(), self.bench
        if not missing:
            return estimate.total()
        cut: dict[str, Any] = {"resize": bench.cut.resize, "crop": bench.cut.crop} if bench.cut else {}
        model = bench.classifier.name
        plan = plan_evaluation({model: bench.classifier}, self.suite, bench.source, IN_MEMORY, only=missing, **cut)
        tests = Tests(plan, estimate)
        for cell in plan.cells:
            passes = len(self.suite.listed_levels(cell.entry)) + HALVINGS if cell.entry in missing else 0
            if cell.severity == 1:
                seconds = partial(lambda cell, passes: passes * tests.seconds(cell, [model]), cell, passes)
                estimate.add("search", seconds, rows_size(plan, cell), cell.entry)
        return estimate.total()

    def describe(self) -> Iterator[str]:
        """Entries, data and model."""
        done = len(self.entries) - len(self.missing())
        yield f"Corruptions: {len(self.entries)} of {self.suite.name}, {done} searched already"
        yield f"Data: {len(self.bench.source)} images of {self.bench.source.name}"
        yield f"Model: {self.bench.classifier.name}, on {self.bench.device}"


def read_survival(directory: str | os.PathLike[str]) -> "pd.DataFrame":
    """The rows that the folder of a study holds."""
    from scuff.store import open_results, read_rows, read_settings

    store = open_results(directory, SurvivalStudy.file, "scuff survival")
    settings = read_settings(store, SurvivalStudy.file)
    there = store.names("rows", ".parquet")
    return read_rows(store, [_rows_of(entry) for entry in settings["only"] if _rows_of(entry) in there])


def read_other(directory: str | os.PathLike[str], settings: "Settings") -> "pd.DataFrame":
    """The rows of another model, if it was asked the same about the same images as one with these settings."""
    from scuff.store import Store, check_settings
    from scuff.studies.base import ALWAYS_NOTED

    check_settings(Store(directory), SurvivalStudy.file, settings, (*ALWAYS_NOTED, *OF_A_MODEL))
    return read_survival(directory)


def _rows_of(entry: str) -> str:
    return f"rows/{entry}.parquet"


# --- what workers do --------------------------------------------------------------------------------------------------


def _search(
    closed: "ClosedBench", suite: "Suite", path: str, seed: int, entry: str, advance: "Advance"
) -> "dict[str, np.ndarray]":
    """The columns of one corruption: levels first, then halvings of the step in which an image fails."""
    import numpy as np

    bench, levels = closed.open(), suite.listed_levels(entry)
    is_right = partial(_is_right, bench, suite, entry, path, seed)
    failure, flips_back = first_failures(bench.clean, levels, is_right, advance)
    ids, labels = bench.source.ids, bench.source.labels
    found: dict[str, Any] = {"failure": failure, "highest": np.float32(levels[-1]), "flips_back": flips_back}
    return {"image_id": ids, "label": labels, **found}


def first_failures(
    clean: "np.ndarray",
    levels: Sequence[int],
    is_right: "Callable[[np.ndarray], np.ndarray]",
    advance: "Advance" = lambda done, of: None,
) -> "tuple[np.ndarray, np.ndarray]":
    """The severity at which each image fails first, and whether it is right again at a later level.

    `clean` says which images are right as they are; `is_right` takes a severity for each image, or NaN where it need
    not look. A failure is 0 where the clean image is wrong already, and infinite where there is none.
    """
    import numpy as np

    passes, highest = len(levels) + HALVINGS, levels[-1]
    right = [clean]
    for level in levels:
        advance(len(right) - 1, passes)
        right.append(is_right(np.full(len(clean), float(level))))
    alive = np.logical_and.accumulate(right)  # (levels + 1, N)
    low = alive.sum(0) - 1.0  # the last level before the first failure; -1 if there is none
    flips_back = np.asarray((np.asarray(right) & ~alive).any(0))
    between = (low >= 0) & (low < highest)
    high = low + 1.0
    for step in range(HALVINGS):
        advance(len(levels) + step, passes)
        middle = np.where(between, (low + high) / 2, np.nan)
        survives = is_right(middle)
        low, high = np.where(between & survives, middle, low), np.where(between & ~survives, middle, high)
    return np.where(low < 0, 0.0, np.where(between, high, np.inf)), flips_back


def _is_right(
    bench: "Bench", suite: "Suite", entry: str, path: str, seed: int, severities: "np.ndarray"
) -> "np.ndarray":
    """Whether the model is right about each image at a severity of its own; False where that is NaN, without a look.

    Images of one severity go through the corruption together.
    """
    import numpy as np
    import torch

    from scuff.door import corrupt, each_its_way
    from scuff.evaluation.predict import predict

    asked = np.unique(severities[~np.isnan(severities)])
    ways = [
        partial(corrupt, name=entry, severity=s, suite=suite, seed=seed, path=path, draws="shared", check=False)
        for s in asked.tolist()
    ]
    looked = torch.from_numpy(np.flatnonzero(~np.isnan(severities))).to(bench.ids.device)
    order = bench.ids.argsort()
    chosen = torch.from_numpy(np.searchsorted(asked, severities)).to(bench.ids.device)

    def distort(images: "torch.Tensor", ids: "torch.Tensor") -> "list[torch.Tensor]":
        places = order[torch.searchsorted(bench.ids[order], ids)]
        return [each_its_way(images, ids, chosen[places], ways)]

    def batches() -> "Iterator[tuple[Any, torch.Tensor]]":
        for where, images in bench.pixels.batches(bench.limit.size):
            inside = looked[(looked >= where.start) & (looked < where.start + len(images))]
            if len(inside):
                yield inside, images[inside - where.start]

    right = np.zeros(len(severities), bool)
    if len(looked):
        model = bench.classifier
        columns = predict(batches(), bench.ids, distort, {model.name: model}, bench.source, bench.limit, bench.clock)
        bad = int(np.isnan(columns[model.name]["confidence"]).sum())
        if bad:
            raise ValueError(f"{model.name} gave NaN for {bad} predictions")
        places = looked.cpu().numpy()
        right[places] = columns[model.name]["prediction"] == bench.source.labels[places]
    return right
