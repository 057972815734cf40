"""A method on a stream, batch by batch: what it predicts, and a checkpoint from which a run goes on that was cut."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import safetensors
import torch
from torch import Tensor

from scuff import kernels
from scuff.adaptation.method import Network
from scuff.adaptation.methods import Adapts, AskedMethod, similar_benchmark
from scuff.engine import Advance
from scuff.engine.cost import time_once
from scuff.models import Classifier, close_model
from scuff.options import describe
from scuff.store import Store, write_rows
from scuff.streams import Recipe, Stream
from scuff.tensors import read_tensors, write_tensors

SAVED_EVERY = 60.0  # seconds
CLEAN_IMAGES = 2000  # that a method may look at first, as EATA does
WARM_CALLS = 10
TOLD = 100_000  # positions of whose truth is asked at once
MEASURED = "measured"
STATE = "state."


@dataclass
class Job:
    """Runs methods over one stream, and leaves their rows in a store. It can be sent to other processes.

    `batch_size` None: as the recipe has it. `ratio`: how much longer than a prediction a method takes, or "measured",
    if the stream does not wait for it; None: as the recipe has it.
    """

    classifier: Classifier
    source: Any
    recipe: Recipe
    methods: Mapping[str, AskedMethod]
    store: Store
    device: str
    seed: int = 0
    batch_size: int | None = None
    ratio: float | str | None = None
    _stream: Stream | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "classifier": close_model(self.classifier), "_stream": None}

    @property
    def stream(self) -> Stream:
        if self._stream is None:
            self._stream = Stream(self.source, self.recipe, seed=self.seed, device=self.device)
        return self._stream

    @property
    def size(self) -> int:
        """Images of a batch."""
        return self.stream.grid(self.batch_size).size

    @property
    def benchmark(self) -> str:
        """The published benchmark whose options methods have."""
        return similar_benchmark(min(self.stream.pixels.shape[1:]), self.stream.classes)

    def rows_name(self, method: str) -> str:
        return f"rows/{self.methods[method].file_name}.parquet"

    def run_name(self, method: str) -> str:
        return f"runs/{self.methods[method].file_name}.json"

    def partial_name(self, method: str) -> str:
        return f"partial/{self.methods[method].file_name}.safetensors"

    def missing(self) -> list[str]:
        """The methods that have no rows yet."""
        there = self.store.names("rows", ".parquet")
        return [name for name in self.methods if self.rows_name(name) not in there]

    def check_code(self) -> None:
        """Refuse to take rows for those of a class that has been changed since."""
        for name in self.methods.keys() - self.missing():
            code = self.methods[name].code
            if code and json.loads(self.store.read(self.run_name(name)))["code"] != code:
                again = f"delete {self.store.address(self.rows_name(name))}, or take another folder, to run it again"
                raise ValueError(f"the code of {name} is not what it was when its rows were made; {again}")

    def open(self, name: str) -> tuple[Adapts, Network]:
        """A method and the network that it adapts, both new."""
        classes = self.stream.pixels.example.classes
        classifier = self.classifier.on(self.device)
        network = Network(classifier, None if classes is None else classes.outputs)
        method = self.methods[name].open(network, self.benchmark, self.seed)
        if hasattr(method, "prepare"):
            method.prepare(clean_batches(self.stream, self.size))
        return method, network

    def __call__(self, name: str, advance: Advance) -> None:
        """Run a method over the whole stream, from where an earlier run was cut."""
        stream, size = self.stream, self.size
        grid = stream.grid(size)
        method, network = self.open(name)
        way = Partial(self, name)
        way.resume(method)
        if not way.period:
            way.period, way.ratio = self.find_period(name)
        begins = np.array([segment.start for segment in stream.segments if segment.reset], np.int64)
        start = grid[way.batches][0] if way.batches < len(grid) else len(stream)
        for batch in stream.batches(size, start=start):
            first, last = int(batch.positions[0]), int(batch.positions[-1])
            if np.searchsorted(begins, first) < np.searchsorted(begins, last, side="right"):
                method.reset()
            way.add(_predict(method, network, batch.images, way.batches % way.period == 0))
            advance(last + 1, len(stream))
            if time.monotonic() - way.saved >= SAVED_EVERY:
                way.save(method)
        way.finish(np.concatenate([np.arange(*grid[number]) for number in range(len(grid))]))

    def find_period(self, name: str) -> tuple[int, float | None]:
        """Batches 0, C, 2 C, ... are adapted to: C, and how much longer than a prediction the method takes.

        C is 1 where the stream waits for the method.
        """
        recipe = self.recipe
        if self.ratio is not None:
            known = None if self.ratio == MEASURED else self.ratio
            recipe = recipe.replace(eta=recipe.eta or 1.0, speed_ratio=known)
        if not recipe.eta:
            return 1, None
        ratio = recipe.speed_ratio or self.measure_ratio(name)
        return recipe.period(ratio), ratio

    def measure_ratio(self, name: str) -> float:
        """The time of the method on the first batch, in units of that of a prediction: medians of ten warm calls."""
        images, device = next(self.stream.batches(self.size)).images, torch.device(self.device)
        method, network = self.open(name)
        seconds = {}
        for adapts in (True, False):
            call = partial(_predict, method, network, images, adapts)
            seconds[adapts] = median([time_once(call, device) for _ in range(2 * WARM_CALLS)][WARM_CALLS:])
        return seconds[True] / seconds[False]

    def write(self, name: str, positions: np.ndarray, outputs: Tensor) -> None:
        """Write the rows of a method: its outputs, and the truth about the stream."""
        stream, classes = self.stream, self.stream.pixels.example.classes
        facts = pd.concat([stream.table(at, min(at + TOLD, len(stream))) for at in range(0, len(stream), TOLD)])
        facts = facts if len(positions) == len(facts) else facts.iloc[positions]
        best, confidence = outputs.T.numpy()
        prediction = best.astype(np.int32)
        if classes is not None:
            prediction = np.asarray(classes.classes, np.int32)[prediction]
        columns: dict[str, Any] = {key: facts[key].to_numpy() for key in facts}
        whole = all(label.isdecimal() for label in facts["severity"].unique())
        columns["severity"] = columns["severity"].astype(np.int16) if whole else columns["severity"]
        columns["prediction"] = np.where(np.isnan(confidence), np.int32(-1), prediction)  # a network that broke down
        columns["confidence"] = confidence.astype(np.float32)
        constant = {"model": self.classifier.name, "source": stream.pixels.example.name, "suite": stream.suite.name}
        write_rows(self.store, self.rows_name(name), {**constant, "method": name}, columns)


class Partial:
    """A method on its way through the stream: what it has predicted, and a file from which it can go on.

    The file is written between two batches, whole or not at all, and holds all that later batches depend on.
    """

    def __init__(self, job: Job, name: str) -> None:
        self.job, self.name, asked = job, name, job.methods[name]
        self.file = job.store.address(job.partial_name(name))
        asks = {"stream": job.stream.fingerprint, "model": job.classifier.fingerprint(), "batch_size": job.size}
        options = describe(asked.options(job.benchmark, job.seed))
        self.origin = {**asks, "options": options, "code": asked.code, "ratio": job.ratio, "seed": job.seed}
        self.outputs: list[Tensor] = []  # (N, 2) each: the best class and its probability
        self.batches = self.period = 0
        self.ratio: float | None = None
        self.seconds, self.saved = 0.0, time.monotonic()

    def add(self, outputs: Tensor) -> None:
        self.outputs.append(outputs)
        self.batches += 1

    def save(self, method: Adapts) -> None:
        """Write the file, if the method can say what it remembers."""
        now = time.monotonic()
        self.seconds, self.saved = self.seconds + now - self.saved, now
        if hasattr(method, "state_dict") and hasattr(method, "load_state_dict"):
            state = {STATE + key: value for key, value in method.state_dict().items()}
            if not all(isinstance(value, Tensor) for value in state.values()):
                raise ValueError(f"state_dict() of the method {self.name} must be tensors by name, and nothing else")
            at = {key: getattr(self, key) for key in ("batches", "period", "ratio", "seconds", "origin")}
            write_tensors(self.file, {**state, "outputs": self._gather()}, {"at": json.dumps(at, sort_keys=True)})

    def resume(self, method: Any) -> None:
        """Go on where the file says, if it is of the same method on the same stream."""
        try:
            state, metadata = read_tensors(self.file)
            at = json.loads(metadata["at"])
        except (FileNotFoundError, safetensors.SafetensorError, KeyError, ValueError):
            return  # not there, or damaged: begin at the beginning
        if at.pop("origin") == json.loads(json.dumps(self.origin)):
            self.__dict__ |= at
            self.outputs = [state.pop("outputs")]
            method.load_state_dict({key.removeprefix(STATE): value for key, value in state.items()})

    def finish(self, positions: np.ndarray) -> None:
        """Write the rows, and how they came about; the file is no longer needed."""
        seconds = self.seconds + time.monotonic() - self.saved
        adapted = math.ceil(self.batches / self.period)
        how = {"method": self.name, **self.origin, "batches": self.batches, "adapted": adapted, "seconds": seconds}
        how |= {"measured_ratio": self.ratio, "period": self.period}
        self.job.store.write(self.job.run_name(self.name), (json.dumps(how, indent=2) + "\n").encode())
        self.job.write(self.name, positions, self._gather())
        self.job.store.remove(self.job.partial_name(self.name))

    def _gather(self) -> Tensor:
        self.outputs = [torch.cat([part.cpu() for part in self.outputs])] if self.outputs else [torch.zeros(0, 2)]
        return self.outputs[0]


def clean_batches(stream: Stream, size: int, count: int = CLEAN_IMAGES) -> Iterator[Tensor]:
    """Clean images of the data of a stream, drawn by its seed, in batches."""
    if stream.pixels.published is not None:
        raise ValueError(f"{stream.pixels.example.name} has no clean images, which this method must see first")
    chosen = np.random.default_rng(stream.seed).permutation(len(stream.labels))[:count]
    for start in range(0, len(chosen), size):
        part = chosen[start : start + size]
        yield kernels.bytes_to_unit(stream.pixels.make(part, part, (), stream.suite, stream.device))


def _predict(method: Adapts, network: Network, images: Tensor, adapts: bool) -> Tensor:
    """The best class of each image and its probability, with adaptation or by the network as it now is: (N, 2)."""
    if adapts:
        logits = method.adapt(images).detach()
    else:
        with torch.no_grad():
            logits = network(images)
    if logits.ndim != 2 or len(logits) != len(images):
        raise ValueError(f"adapt must return logits ({len(images)}, K), got {tuple(logits.shape)}")
    confidence, best = logits.softmax(1).max(1)
    return torch.stack([best.float(), confidence.float()], 1)
