"""How a model fares on a stream of corrupted images, as it is and as methods of test-time adaptation change it."""

import math
import os
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from scuff.options import SCHEMES, TEXT, WHOLE, Kind, Option
from scuff.studies.base import Plan, Study, as_function, check_folder, complete_settings, join, open_engine_of, study
from scuff.vocabulary import Data, Mean, Out, Seed, Std

if TYPE_CHECKING:
    import pandas as pd

    from scuff.adaptation.run import Job
    from scuff.engine import Run
    from scuff.engine.cost import StudyCost

MODEL = "A torch network: torchvision:NAME, timm:NAME, FILE.safetensors, FILE.pt, package.module:object."
STREAM = "Stream: continual, gradual, mixed_domains, ccc-easy, ... (see scuff stream list), or FILE.yaml."
IMAGES = "Clean images: cifar10:DIR, folder:DIR, npz:FILE, ...; or published files: cifar10-c:DIR, imagenet-c:DIR."
METHODS = "source, bn, bn-prior, bn-ema, tent, eta, eata, cotta, rdumb, or FILE.py:CLASS; source is always among them."
BATCH = "Images of a batch. Default: as the stream has it."
RATIO = "Let the stream flow on while a method takes so many times as long as a prediction; or measured."
COST_BATCHES = 20  # batches of a stream that are made to see what they cost


def _ratio(text: str, flag: str) -> "float | str":
    try:
        return text if text == "measured" else float(text)
    except ValueError as error:
        raise ValueError(f"{flag} takes a number, as in 3, or measured; got {text!r}") from error


NUMBER_OR_MEASURED = Kind(str, _ratio)


@study
class AdaptationStudy(Study["pd.DataFrame"]):
    """Run a model over a stream, as it is and with methods that adapt it on the way.

    Returns rows with a line per method and position: `scuff.metrics.adaptation_scores` and its neighbours make scores
    of them. A prediction is the one that was made when its batch came by.
    """

    name = question = "adaptation"
    command = "adapt"
    planner, reader = "scuff.studies.adaptation:plan_adaptation", "scuff.studies.adaptation:read_adaptation"

    model: Annotated[Any, Option(MODEL, TEXT, "MODEL", is_argument=True)]
    stream: Annotated[Any, Option(STREAM, TEXT, "RECIPE")]
    data: Annotated[Data, Option(IMAGES, TEXT, "SOURCE")]
    out: Out
    _: KW_ONLY
    methods: Annotated[Any, Option(METHODS, SCHEMES, "NAMES", resume="joins")] = ("bn", "tent")
    batch_size: Annotated[int | None, Option(BATCH, WHOLE, "N")] = None
    ratio: Annotated["float | str | None", Option(RATIO, NUMBER_OR_MEASURED, "NUMBER")] = None
    seed: Seed = 0
    mean: Mean = None
    std: Std = None


adapt = as_function(AdaptationStudy, "adapt")


def plan_adaptation(study: AdaptationStudy) -> "Plan[pd.DataFrame]":
    """Open the model and the stream, and find out which methods are left."""
    from scuff.adaptation import ask_methods
    from scuff.adaptation.run import MEASURED, Job
    from scuff.data import open_source
    from scuff.evaluation.choices import open_models
    from scuff.store import Store
    from scuff.streams import load_recipe

    if study.ratio not in (None, MEASURED) and (isinstance(study.ratio, str) or not 0 < study.ratio < math.inf):
        raise ValueError(f"ratio must be a number above 0, or {MEASURED!r}; got {study.ratio!r}")
    given = [study.methods] if isinstance(study.methods, str) or callable(study.methods) else list(study.methods)
    methods = ask_methods(given if "source" in given else ["source", *given])
    engine, device = open_engine_of(study)
    models = open_models(study.model, study.mean, study.std)
    if len(models) > 1:
        raise ValueError(f"expected one model, got {', '.join(models)}")
    classifier, store = next(iter(models.values())), Store(study.out)
    source, recipe = open_source(study.data), load_recipe(study.stream)
    job = Job(classifier, source, recipe, methods, store, str(device), study.seed, study.batch_size, study.ratio)
    stream = job.stream
    asked = {"stream": recipe.to_dict(), "suite": stream.suite.to_dict(), "batch_size": job.size, "ratio": study.ratio}
    named = {"model_name": classifier.name, "data": stream.pixels.example.name, "images": len(stream)}
    prints = {"model": classifier.fingerprint(), "stream_fingerprint": stream.fingerprint, "seed": study.seed}
    told = {"methods": list(methods), "options_of": job.benchmark}
    settings = complete_settings(study, {**named, **asked, **prints, **told}, device)
    before = check_folder(study, store, settings)
    if before is not None:
        settings["methods"] = join(before["methods"], list(methods))
        job.check_code()
    return Plan(study, settings, AdaptationWork(job), store, engine)


@dataclass(frozen=True, eq=False)
class AdaptationWork:
    """The methods that are left, each a pass through the stream."""

    job: "Job"

    def run(self, run: "Run") -> None:
        """Run the methods that are left; the rows of each are saved when it is through, and its state on the way."""
        import torch

        from scuff.engine import needs_of

        missing, needs = self.job.missing(), needs_of(torch.device(self.job.device), cpus=None)
        run.expect("adapt", len(self.job.methods), len(self.job.methods) - len(missing))
        self.job.store.write("segments.csv", self.job.stream.segment_table().to_csv(index=False).encode())
        for _ in run.cells("adapt", self.job, missing, needs=needs):
            pass

    def collect(self) -> "pd.DataFrame":
        """All rows; their scores, errors by segment and errors in windows are written as tables."""
        import pandas as pd

        from scuff.metrics import adaptation_scores, segment_errors, window_errors
        from scuff.metrics.adaptation import by_method

        rows, tables = read_adaptation(self.job.store.root), {}
        for table, measure in (("errors", segment_errors), ("windows", window_errors)):
            tables[table] = pd.concat([measure(its).assign(method=name) for name, its in by_method(rows).items()])
        for table, frame in (tables | {"scores": adaptation_scores(rows)}).items():
            self.job.store.write(f"{table}.csv", frame.to_csv(index=False, float_format="%.6g").encode())
        return rows

    def cost(self) -> "StudyCost":
        """A pass through the stream for every method that is left, by one batch of each."""
        import torch

        from scuff.engine.cost import Estimate

        estimate, job = Estimate(torch.device(self.job.device)), self.job
        size = _bytes(job)
        for name in job.missing():
            estimate.add("adapt", partial(_seconds, estimate, job, name), size, name)
        return estimate.total()

    def describe(self) -> Iterator[str]:
        """Stream, model and methods."""
        from scuff.words import count, grouped

        stream, job, done = self.job.stream, self.job, len(self.job.methods) - len(self.job.missing())
        segments, batches = count(len(stream.segments), "segment"), len(stream.grid(job.batch_size))
        images = f"{grouped(len(stream))} images of {stream.pixels.example.name}"
        yield f"Stream: {stream.recipe.name}, {images} in {segments}"
        yield f"Batches: {grouped(batches)} of up to {job.size}"
        yield f"Model: {job.classifier.name}, on {job.device}"
        yield f"Methods: {', '.join(job.methods)}, {done} of them there already"


def read_adaptation(directory: str | os.PathLike[str]) -> "pd.DataFrame":
    """The rows that the folder of a study holds, method after method."""
    from scuff.adaptation import file_name
    from scuff.store import open_results, read_rows, read_settings

    store = open_results(directory, AdaptationStudy.file, "scuff adapt")
    there = store.names("rows", ".parquet")
    names = [f"rows/{file_name(method)}.parquet" for method in read_settings(store, AdaptationStudy.file)["methods"]]
    return read_rows(store, [name for name in names if name in there])


def read_segments(directory: str | os.PathLike[str]) -> "pd.DataFrame":
    """What came when: the segments of the stream, a line each."""
    import io

    import pandas as pd

    from scuff.store import open_results

    store = open_results(directory, AdaptationStudy.file, "scuff adapt")
    return pd.read_csv(io.BytesIO(store.read("segments.csv")), dtype={"severity": str}, keep_default_na=False)


def _seconds(estimate: Any, job: "Job", name: str) -> float:
    """Seconds of a method, from those of its first batch, and of making batches."""
    from itertools import islice

    batches = len(job.stream.grid(job.batch_size))
    made = min(COST_BATCHES, batches)
    each = estimate.time("images", lambda: lambda: sum(1 for _ in islice(job.stream.batches(job.size), made))) / made

    def prepare() -> Any:
        images = next(job.stream.batches(job.size)).images
        method, _ = job.open(name)
        return lambda: method.adapt(images)

    return batches * (each + estimate.time(name, prepare))


def _bytes(job: "Job") -> float:
    """Bytes of the rows of a method: those of a few, made in memory."""
    import numpy as np

    from scuff.engine.cost import size_in_memory
    from scuff.store import write_rows

    facts = job.stream.table(0, min(len(job.stream), 10_000))
    columns: dict[str, Any] = {key: facts[key].to_numpy() for key in facts}
    columns |= {"prediction": columns["label"], "confidence": np.random.default_rng(0).random(len(facts), np.float32)}
    constant = {"model": job.classifier.name, "source": job.stream.pixels.example.name, "suite": "", "method": "tent"}
    size = size_in_memory("rows.parquet", lambda store, name: write_rows(store, name, constant, columns))
    return size * len(job.stream) / len(facts)
