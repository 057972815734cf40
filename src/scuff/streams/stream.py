"""`scuff.stream`: the images of a recipe, at any position, corrupted on the device."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from scuff import kernels
from scuff.data import CorruptedSource, Source, open_source
from scuff.environment import find_device
from scuff.streams.batches import Grid, LoaderDataset, StreamLoader
from scuff.streams.orders import SHARED, make_order
from scuff.streams.pixels import StreamPixels, send
from scuff.streams.recipe import Recipe, load_recipe
from scuff.streams.segments import Segment, Steps, corruption_label, plan_segments, severity_label
from scuff.streams.walk import Matrix, plan_walk, read_matrix
from scuff.suites import Suite, load_suite

if TYPE_CHECKING:
    import pandas as pd

# Values of images that are corrupted by one call, at least, if there are as many of a kind: several batches are made at
# once until there are. And bytes of the images that wait, at most.
CALL = {"cpu": 1 << 20, "cuda": 80_000_000}
WAITING = {"cpu": 1 << 28, "cuda": 1 << 31}
KEPT_ORDERS = 16
SMALL = 64  # pixels: up to here batches have 200 images by default


class StreamBatch(NamedTuple):
    """float32 images (N, C, H, W) in [0, 1] and int64 labels on the device; the rest, int64 (N,), on the CPU.

    `domains` says which of the corruptions of its segment an image has, 0 where they are not mixed.
    """

    images: Tensor
    labels: Tensor
    positions: Tensor
    segments: Tensor
    domains: Tensor
    ids: Tensor


class Moment(NamedTuple):
    """What is at a position: `place` is its number in the source, `steps` are pairs (entry, level)."""

    position: int
    segment: int
    place: int
    id: int
    label: int
    steps: Steps


class StreamImage(NamedTuple):
    """What is at a position, and its image: float32 (C, H, W) in [0, 1], on the device."""

    image: Tensor
    label: int
    position: int
    segment: int
    place: int
    id: int
    steps: Steps


class Facts(NamedTuple):
    """The same for many positions: int64 arrays. `domains` says which steps of its segment an image goes through."""

    positions: np.ndarray
    segments: np.ndarray
    domains: np.ndarray
    indices: np.ndarray


def stream(source: Any, recipe: Any, *, seed: int = 0, device: Any = None, suite: Suite | str | None = None) -> Stream:
    """Open a stream.

    Parameters
    ----------
    source
        Clean images, as `scuff.open_source` takes them; or published files, as `cifar10-c:DIR`, that are then read
        and not made.
    recipe
        The name of a recipe (`scuff.streams.list_recipes()`), with changes if need be: "gradual:order=chunks"; a YAML
        file, its content, or a `Recipe`.
    seed
        Position i is a pure function of recipe, source, seed and i.
    device
        Where images are corrupted and returned: by default the GPU if there is one.
    suite
        In place of the recipe's.

    Examples
    --------
    >>> s = stream("fashion", "continual:limit=100", device="cpu")
    >>> len(s), s.segments[4].corruption, s.at(450).steps
    (1500, 'glass_blur', (('glass_blur', 5),))
    """
    return Stream(source, load_recipe(recipe), seed=seed, device=device, suite=suite)


class Stream:
    """Corrupted images in an order. Make it with `scuff.stream`.

    `len(stream)` images in `stream.segments`; `stream[i]` is one of them, `stream.at(i)` what is known of it without
    making it; `for batch in stream` runs over all of them in batches of the recipe's size.
    """

    def __init__(self, source: Any, recipe: Recipe, *, seed: int = 0, device: Any = None, suite: Any = None) -> None:
        opened = source if isinstance(source, (Source, CorruptedSource)) else open_source(source)
        self.recipe, self.seed, self.device = recipe, seed, find_device(device)
        self.pixels = StreamPixels(opened, recipe, seed)
        named = suite if suite is not None else recipe.suite
        named = self.pixels.default_suite() if named is None else named
        self.suite = named if isinstance(named, Suite) else load_suite(named)
        clean = self.pixels.example
        self.labels = clean.labels
        self.classes = max(len(clean.class_names), int(clean.labels.max(initial=0)) + 1)
        self.segments: list[Segment]
        self.matrix: Matrix
        if recipe.walk is None:
            self.segments = plan_segments(recipe, self.suite, len(clean), self.classes, seed)
        else:
            self.matrix = read_matrix(recipe.walk.matrix, self.suite)
            self.segments = plan_walk(recipe, self.suite, self.matrix, len(clean), seed)
        self.pixels.check(self.suite, dict.fromkeys(steps for s in self.segments for steps in s.domains))
        self._starts = np.array([segment.start for segment in self.segments])
        self._order = lru_cache(KEPT_ORDERS)(self._make_order)

    def __repr__(self) -> str:
        return f"<Stream {self.recipe.name}: {len(self)} images of {self.pixels.example.name} under {self.suite.name}>"

    def __len__(self) -> int:
        return self.segments[-1].stop

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that determines the images; what a stream is called, or where a file lies, does not."""
        recipe = {key: value for key, value in self.recipe.to_dict().items() if key not in ("stream", "about", "suite")}
        if self.recipe.walk is not None:
            recipe["walk"]["matrix"] = self.matrix.digest()
        content = [recipe, self.suite.fingerprint(), self.pixels.view, self.pixels.fingerprint(), self.seed]
        return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()

    # --- what is where --------------------------------------------------------------------------------------------

    def _make_order(self, number: int) -> np.ndarray:
        segment, recipe = self.segments[number], self.recipe
        labels = self.labels if len(segment.domains) == 1 else np.tile(self.labels, len(segment.domains))
        length = segment.length if recipe.order == "imbalance" or segment.length != len(labels) else None
        options = {"concentration": recipe.concentration, "ratio": recipe.ratio}
        return make_order(recipe.order, labels, self.classes, number, self.seed, length, **options)

    def facts(self, positions: Any) -> Facts:
        """What is known of positions without making images."""
        positions = np.asarray(positions, np.int64).reshape(-1)
        if len(positions) and not 0 <= positions.min() <= positions.max() < len(self):
            raise IndexError(f"positions go from 0 to {len(self) - 1}, got {positions.min()} to {positions.max()}")
        segments = np.searchsorted(self._starts, positions, side="right") - 1
        places = np.empty_like(positions)
        for number in np.unique(segments):
            inside = segments == number
            places[inside] = self._order(self._order_of(number))[positions[inside] - self._starts[number]]
        domains, indices = np.divmod(places, len(self.labels))
        return Facts(positions, segments, domains, indices)

    def _order_of(self, number: int) -> int:
        """The segment whose order this one has: orders that all share are made once."""
        shared = self.recipe.order in ("file", *SHARED) and self.recipe.walk is None
        return 0 if shared else int(number)

    def at(self, position: int) -> Moment:
        """What is at a position."""
        facts = self.facts([position])
        segment, index = int(facts.segments[0]), int(facts.indices[0])
        steps = self.segments[segment].domains[facts.domains[0]]
        example = self.pixels.example
        place = int(self.pixels.places[index])
        return Moment(int(position), segment, place, int(example.ids[index]), int(example.labels[index]), steps)

    def __getitem__(self, position: int) -> StreamImage:
        position = position + len(self) if position < 0 else position
        moment = self.at(position)
        image = self._images(self.facts([position]))[0]
        facts = (moment.label, moment.position, moment.segment, moment.place, moment.id, moment.steps)
        return StreamImage(kernels.bytes_to_unit(image[None])[0], *facts)

    def table(self, start: int = 0, stop: int | None = None) -> pd.DataFrame:
        """The truth about positions, for drift detectors and the like: a row for each, without its image."""
        import pandas as pd

        facts = self.facts(np.arange(start, len(self) if stop is None else stop))
        example = self.pixels.example
        corruptions, severities = np.empty(len(facts.positions), object), np.empty(len(facts.positions), object)
        for steps, unit, places in self._groups(facts):
            corruptions[places], severities[places] = corruption_label(steps), severity_label(steps, unit)
        return pd.DataFrame(
            {
                "position": facts.positions,
                "segment": facts.segments,
                "corruption": corruptions,
                "severity": severities,
                "image_id": example.ids[facts.indices],
                "label": example.labels[facts.indices],
            }
        )

    def segment_table(self) -> pd.DataFrame:
        """The segments as a table: the truth about changes, for drift detectors."""
        import pandas as pd

        names = ("number", "start", "stop", "length", "run", "visit", "corruption", "severity", "reset", "expected")
        return pd.DataFrame({name: [getattr(segment, name) for segment in self.segments] for name in names})

    def _groups(self, facts: Facts) -> Iterator[tuple[Steps, float, np.ndarray]]:
        """The places that go through the same steps."""
        kinds: dict[Steps, list[np.ndarray]] = {}
        unit = self.segments[0].severity_unit
        for number in np.unique(facts.segments):
            inside = np.flatnonzero(facts.segments == number)
            domains = self.segments[number].domains
            for domain in [0] if len(domains) == 1 else np.unique(facts.domains[inside]):
                places = inside if len(domains) == 1 else inside[facts.domains[inside] == domain]
                kinds.setdefault(domains[domain], []).append(places)
        return ((steps, unit, np.concatenate(places)) for steps, places in kinds.items())

    # --- images ---------------------------------------------------------------------------------------------------

    def _images(self, facts: Facts) -> Tensor:
        """uint8 (N, C, H, W) on the device; images of the same steps are corrupted together."""
        made = [(places, self._group(facts, steps, places)) for steps, _, places in self._groups(facts)]
        if len(made) == 1:
            return made[0][1]
        out = torch.empty((len(facts.positions), *made[0][1].shape[1:]), dtype=torch.uint8, device=self.device)
        for places, images in made:
            first, count = int(places[0]), len(places)
            if places[-1] - first == count - 1:
                out[first : first + count] = images
            else:
                out[send(places, self.device)] = images
        return out

    def _group(self, facts: Facts, steps: Steps, places: np.ndarray) -> Tensor:
        return self.pixels.make(facts.positions[places], facts.indices[places], steps, self.suite, self.device)

    def grid(self, size: int | None = None, across: bool | None = None) -> Grid:
        """The batches of a size: `grid[b]` is where batch b starts and stops."""
        if size is None:
            size = self.recipe.batch or (200 if min(self.pixels.shape[1:]) <= SMALL else 64)
        across = self.recipe.across if across is None else across
        return Grid([0] if across else self._starts.tolist(), len(self), size, self.recipe.least)

    def batches(
        self, size: int | None = None, start: int = 0, stop: int | None = None, across: bool | None = None
    ) -> Iterator[StreamBatch]:
        """Batches of the positions from `start` on, before `stop`.

        Where batches begin does not depend on `start`: batch b is always the same, and only the first and the last one
        are cut short by `start` and `stop`. With `across`, batches go on over the borders of segments.
        """
        stop = len(self) if stop is None else min(stop, len(self))
        grid = self.grid(size, across)
        first, last = grid.find(start), grid.find(max(stop - 1, 0))
        whole = (grid[number] for number in range(first, min(last + 1, len(grid))))
        cut = ((max(a, start), min(b, stop)) for a, b in whole)
        return self.make(((a, b) for a, b in cut if a < b), keep=True)

    def __iter__(self) -> Iterator[StreamBatch]:
        return self.batches()

    def steps(self, batch: StreamBatch) -> list[Steps]:
        """What each image of a batch went through."""
        places = zip(batch.segments.tolist(), batch.domains.tolist(), strict=True)
        return [self.segments[segment].domains[domain] for segment, domain in places]

    def pairs(self, batch_size: int | None = None) -> Iterator[tuple[Tensor, Tensor]]:
        """Plain (images, labels), as training loops take them."""
        return ((batch.images, batch.labels) for batch in self.batches(batch_size))

    def loader(self, batch_size: int | None = None, workers: int = 0, rank: int = 0, ranks: int = 1) -> DataLoader:
        """A torch DataLoader of `StreamBatch`, in the order of the stream; of several ranks each has every so many.

        Workers make images on the CPU, and that is where batches are; without workers they are on the device.
        """
        made = self if workers == 0 else self._on("cpu")
        return StreamLoader(LoaderDataset(made, self.grid(batch_size).size, rank, ranks), workers)

    def _on(self, device: str) -> Stream:
        return self if self.device.type == device else _open(*self._made_of(), device)

    def _made_of(self) -> tuple[Any, Recipe, int, Suite]:
        return self.pixels.source, self.recipe, self.seed, self.suite

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process, which opens it anew."""
        return _open, (*self._made_of(), str(self.device))

    def make(self, ranges: Iterable[tuple[int, int]], keep: bool = False) -> Iterator[StreamBatch]:
        """Batches of given positions, several made at a time: a batch may mix kinds of which it has few images each."""
        ranges = iter(ranges)
        if keep:
            self.pixels.keep(self.device)
        values = int(np.prod(self.pixels.shape))
        kinds = max(len(segment.domains) for segment in self.segments)
        wanted = min(kinds * CALL[self.device.type] // values, WAITING[self.device.type] // values)
        while first := next(ranges, None):
            ahead = max(0, wanted // max(1, first[1] - first[0]) - 1)
            yield from self._block([first, *islice(ranges, ahead)])

    def _block(self, ranges: list[tuple[int, int]]) -> Iterator[StreamBatch]:
        facts = self.facts(np.concatenate([np.arange(*span) for span in ranges]))
        images, example = self._images(facts), self.pixels.example
        labels = send(example.labels[facts.indices], self.device)
        known = (facts.positions, facts.segments, facts.domains, example.ids[facts.indices])
        at = 0
        for start, stop in ranges:
            here = slice(at, at + stop - start)
            unit = kernels.bytes_to_unit(images[here])
            yield StreamBatch(unit, labels[here].clone(), *(torch.from_numpy(each[here].copy()) for each in known))
            at = here.stop


def _open(source: Any, recipe: Recipe, seed: int, suite: Suite, device: str) -> Stream:
    return Stream(source, recipe, seed=seed, device=device, suite=suite)
